//! Two organisations and one domain, in the lab: who gets it, who keeps it, and what does not count as proof.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lab::{Command, Fault, Lab, Options, Scenario};
use model::detail::RawAnswer;
use model::event::{EventKind, EventQuery};
use model::ids::OrgId;
use model::item::Ownership;
use model::names::{DomainName, Fqdn};
use model::observation::Part;
use model::ownership::claim::ContestReason;
use model::ownership::scope::covering;
use model::ownership::{
    Challenge, Claim, ClaimState, ExpectedRecord, Method, NearMiss, Observed, Outcome, ServerVerdict,
    Standing,
};
use model::registration::{Registration, RegistrationState};
use monitor::claims::nonce;
use monitor::observer::Progress;
use monitor::{Checked, Clock, DnsParts, Hub, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{ClaimWrite, JobKind, NewItem, StoredClaim};

const NOW: &str = "2026-11-20T12:00:00Z";
const DOMAIN: &str = "plain.example";
const A: OrgId = OrgId(1);
const B: OrgId = OrgId(2);

/// The lab's servers, a registry that says what the test wants, and a clock that the test moves.
struct World {
    engine: dns::Engine,
    registration: Mutex<Registration>,
    now: Mutex<Timestamp>,
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let state = RegistrationState::Registered(Box::new(self.registration.lock().unwrap().clone()));
        (Part::good(state, now, "RDAP rdap.nic.example"), vec![])
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }

    async fn ownership(
        &self,
        challenge: &Challenge,
        _: Method,
        expected: &ExpectedRecord,
        now: Timestamp,
    ) -> Result<Observed, String> {
        self.engine.ownership(challenge, expected, now).await.map_err(|e| e.to_string())
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

struct Stage {
    lab: Lab,
    world: Arc<World>,
    scanner: Scanner,
    _folders: [tempfile::TempDir; 2],
}

impl Stage {
    async fn new() -> Stage {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let now: Timestamp = NOW.parse().unwrap();
        let scenario = Scenario::named("small").unwrap();
        let lab = Lab::start(Options::new(scenario, folders[0].path(), now)).await.unwrap();
        let at = lab.endpoints();
        let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
        let map = at.address_map.as_ref().map(|p| dns::AddressMap::read(p).unwrap());
        let settings = dns::Settings {
            root_hints: dns::RootHints::parse(&read(&at.root_hints)).unwrap(),
            trust_anchors: dns::TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
            port: at.dns_port,
            allow_private: true,
            address_map: map.unwrap_or_default(),
            timeout: Duration::from_millis(1500),
            ..dns::Settings::default()
        };
        let world = Arc::new(World {
            engine: dns::Engine::new(settings),
            registration: Mutex::default(),
            now: Mutex::new(now),
        });
        let scanner = Scanner {
            store: store::open(&folders[1].path().to_string_lossy()).await.unwrap(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy { claim_suffix: Some("verify.one.example".into()), ..Policy::default() },
        };
        let stage = Stage { lab, world, scanner, _folders: folders };
        for (org, domain) in [(A, DOMAIN), (B, DOMAIN), (A, "signed.example"), (A, "broken.example")] {
            stage.hold(org, domain).await;
        }
        stage
    }

    async fn hold(&self, org: OrgId, domain: &str) {
        let name = DomainName::trusted(domain);
        let item = NewItem {
            unicode: name.unicode(),
            name,
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        self.scanner.store.add(org, &[item], self.world.now()).await.unwrap();
    }

    async fn claim_by(&self, org: OrgId, name: &str, method: Method) -> String {
        let (now, id) = (self.world.now(), nonce().as_str().to_string());
        let known = self.scanner.store.claims_among(org, &[name.to_string()]).await.unwrap().pop();
        let claim = StoredClaim {
            id: id.clone(),
            org,
            name: name.into(),
            claim: Claim::new(name, nonce(), method, now, &self.scanner.policy.claims),
            round: None,
            created_at: now,
            reviewed_at: now,
            version: known.map_or(0, |c| c.version),
        };
        self.scanner.store.write_claims(&[ClaimWrite { claim, changes: vec![] }], now).await.unwrap();
        id
    }

    async fn claim(&self, org: OrgId) -> String {
        self.claim_by(org, DOMAIN, Method::Txt).await
    }

    async fn stored(&self, id: &str) -> StoredClaim {
        self.scanner.store.claim_of_id(id).await.unwrap().unwrap()
    }

    async fn standing(&self, id: &str) -> Standing {
        self.stored(id).await.claim.standing()
    }

    async fn check(&self, id: &str) -> StoredClaim {
        match self.scanner.check_claim(id).await.unwrap() {
            Checked::Stands(claim) => *claim,
            Checked::Gone => panic!("the claim is gone"),
        }
    }

    async fn outcome(&self, id: &str) -> Outcome {
        self.check(id).await.round.unwrap().outcome
    }

    async fn apply(&self, command: Command) {
        self.lab.apply(command).await.unwrap();
    }

    async fn add(&self, name: &str, rtype: &str, data: String) {
        let (name, rtype) = (name.into(), rtype.into());
        self.apply(Command::AddRecord { name, rtype, ttl: 300, data }).await;
    }

    async fn remove(&self, name: &str, rtype: &str) {
        self.apply(Command::RemoveRecord { name: name.into(), rtype: rtype.into(), data: None }).await;
    }

    async fn fault(&self, target: &str, fault: Option<&str>) {
        let fault = fault.map(|f| f.parse::<Fault>().unwrap());
        self.apply(Command::SetFault { target: target.parse().unwrap(), fault }).await;
    }

    /// Publishes what the claim expects now.
    async fn publish(&self, id: &str) {
        let stored = self.stored(id).await;
        let suffix = self.scanner.policy.claim_suffix.as_deref();
        let expected = stored.claim.challenge.expected(stored.claim.method, suffix, id).unwrap();
        let data = if expected.rtype == "TXT" {
            format!("\"{}\"", expected.value)
        } else {
            format!("{}.", expected.value)
        };
        self.add(&expected.name, &expected.rtype, data).await;
    }

    fn later(&self, hours: i64) {
        let mut now = self.world.now.lock().unwrap();
        *now += SignedDuration::from_hours(hours) + SignedDuration::from_secs(1);
    }

    async fn verified(&self, org: OrgId) -> String {
        let id = self.claim(org).await;
        self.publish(&id).await;
        self.check(&id).await;
        assert_eq!(self.standing(&id).await, Standing::Verified);
        id
    }

    async fn sentences(&self, org: OrgId) -> Vec<String> {
        let query = EventQuery { page: 1, per_page: 100, ..EventQuery::default() };
        let events = self.scanner.store.events(org, &query).await.unwrap().events;
        events.iter().map(|e| e.change.sentence()).collect()
    }
}

const CHALLENGE: &str = "_domainscope-challenge.plain.example";
const WEEK: i64 = 7 * 24;

#[tokio::test]
async fn each_method_proves_and_the_result_lists_every_server() {
    let s = Stage::new().await;
    for method in [Method::Txt, Method::TxtApex, Method::Cname] {
        let id = s.claim_by(A, DOMAIN, method).await;
        assert_eq!(s.outcome(&id).await, Outcome::Denied, "{method:?}");
        s.publish(&id).await;
        let stored = s.check(&id).await;
        let round = stored.round.unwrap();
        assert_eq!(round.outcome, Outcome::Proven, "{method:?} {round:#?}");
        let servers: Vec<_> = round.servers.iter().map(|(a, v)| (a.nameserver.as_str(), v.clone())).collect();
        let holds = |name| (name, ServerVerdict::Holds);
        assert_eq!(servers, [holds("ns1.one.example"), holds("ns2.one.example")]);
        assert!(round.servers.iter().all(|(a, _)| a.serial.is_some() && a.address.is_some()));
        assert_eq!(stored.claim.standing(), Standing::Verified);
        s.remove(CHALLENGE, "TXT").await;
    }
}

#[tokio::test]
async fn squatting_blocks_nobody() {
    let s = Stage::new().await;
    let squatter = s.claim(B).await;
    s.check(&squatter).await;
    let owner = s.verified(A).await;
    assert_eq!(s.standing(&squatter).await, Standing::Pending);
    assert!(s.stored(&owner).await.claim.counts());
    assert!(s.sentences(B).await.is_empty(), "a squatter learns nothing of the owner's claim");
}

#[tokio::test]
async fn the_rightful_owner_takes_over_after_a_challenge_that_the_old_holder_fails() {
    let s = Stage::new().await;
    let old = s.verified(A).await;
    let new = s.claim(B).await;
    s.publish(&new).await;
    s.check(&new).await;
    assert_eq!((s.standing(&new).await, s.standing(&old).await), (Standing::Waiting, Standing::Contested));
    assert!(s.stored(&old).await.claim.counts(), "until the time is up the holder keeps the name");
    s.later(WEEK - 1);
    s.check(&old).await;
    assert_eq!(s.standing(&old).await, Standing::Contested);
    s.later(2);
    // A leftover record alone: the value of the first proof is still published.
    s.check(&old).await;
    assert_eq!(s.standing(&old).await, Standing::Lapsed);
    s.check(&new).await;
    assert_eq!(s.standing(&new).await, Standing::Verified);
}

#[tokio::test]
async fn a_holder_that_answers_keeps_the_name_and_neither_learns_who_the_other_is() {
    let s = Stage::new().await;
    let old = s.verified(A).await;
    let new = s.claim(B).await;
    s.publish(&new).await;
    s.check(&new).await;
    s.publish(&old).await;
    s.later(1);
    s.check(&old).await;
    assert_eq!((s.standing(&old).await, s.standing(&new).await), (Standing::Verified, Standing::Refused));
    let (a, b) = (s.stored(&old).await, s.stored(&new).await);
    // What is published is public, the other's value too; who published it is not.
    let seen_by_a = format!("{:?} {a:?}", s.sentences(A).await);
    let seen_by_b = format!("{:?} {b:?}", s.sentences(B).await);
    assert!(!seen_by_a.contains(&b.id) && !seen_by_a.contains("OrgId(2)"), "{seen_by_a}");
    assert!(!seen_by_b.contains(&a.id) && !seen_by_b.contains("OrgId(1)"), "{seen_by_b}");
    assert!(s.scanner.store.claims(A, 9).await.unwrap().iter().all(|c| c.org == A));
}

#[tokio::test]
async fn one_failed_read_evicts_nobody_and_two_denials_begin_the_grace_period() {
    let s = Stage::new().await;
    let id = s.verified(A).await;
    s.fault("ns1.one.example", Some("servfail")).await;
    s.fault("ns2.one.example", Some("servfail")).await;
    s.later(24);
    assert_eq!(s.outcome(&id).await, Outcome::NoAnswer);
    assert_eq!(s.standing(&id).await, Standing::Verified);
    s.apply(Command::ClearFaults).await;
    s.remove(CHALLENGE, "TXT").await;
    assert_eq!(s.outcome(&id).await, Outcome::Denied);
    assert_eq!(s.standing(&id).await, Standing::Verified, "one denial is not enough");
    s.later(1);
    s.check(&id).await;
    assert_eq!(s.standing(&id).await, Standing::Lapsing);
    s.publish(&id).await;
    s.check(&id).await;
    assert_eq!(s.standing(&id).await, Standing::Verified);
    s.remove(CHALLENGE, "TXT").await;
    s.check(&id).await;
    s.later(1);
    s.check(&id).await;
    s.later(WEEK);
    s.check(&id).await;
    assert_eq!(s.standing(&id).await, Standing::Lapsed);
    let kinds: Vec<_> = {
        let query = EventQuery { page: 1, per_page: 9, ..EventQuery::default() };
        s.scanner.store.events(A, &query).await.unwrap().events.iter().map(|e| e.change.kind).collect()
    };
    use EventKind::{OwnershipAtRisk, OwnershipLost, OwnershipVerified};
    assert_eq!(
        kinds,
        [OwnershipLost, OwnershipAtRisk, OwnershipVerified, OwnershipAtRisk, OwnershipVerified]
    );
}

#[tokio::test]
async fn an_expired_challenge_proves_nothing() {
    let s = Stage::new().await;
    let id = s.claim(A).await;
    s.publish(&id).await;
    s.later(31 * 24);
    s.check(&id).await;
    assert_eq!(s.standing(&id).await, Standing::Expired);
}

#[tokio::test]
async fn with_one_of_two_name_servers_silenced_a_proof_takes_three_rounds_over_an_hour() {
    let s = Stage::new().await;
    let id = s.claim(A).await;
    s.publish(&id).await;
    s.fault("ns2.one.example", Some("dead")).await;
    for _ in 0..3 {
        assert_eq!(s.outcome(&id).await, Outcome::ProvenByFew);
        assert_eq!(s.standing(&id).await, Standing::Pending);
    }
    s.later(1);
    s.check(&id).await;
    assert_eq!(s.standing(&id).await, Standing::Verified);
}

#[tokio::test]
async fn a_proof_on_a_lame_server_only_does_not_count() {
    let s = Stage::new().await;
    let id = s.claim(A).await;
    s.publish(&id).await;
    s.fault("ns1.one.example", Some("not-aa")).await;
    s.fault("ns2.one.example", Some("refused")).await;
    let round = s.check(&id).await.round.unwrap();
    assert_eq!(round.outcome, Outcome::NoAnswer, "{round:#?}");
    assert_eq!(s.standing(&id).await, Standing::Pending);
}

#[tokio::test]
async fn a_poisoned_resolver_is_not_asked() {
    let s = Stage::new().await;
    let id = s.claim(A).await;
    let value = s.stored(&id).await.claim.challenge.nonce.to_string();
    for resolver in ["first", "second", "guard"] {
        let act = lab::Act::Cache(format!("{CHALLENGE} 3600 TXT \"{value}\""));
        s.apply(Command::Resolver { resolver: resolver.into(), act }).await;
    }
    let before = s.lab.query_log().per_resolver.values().sum::<u64>();
    assert_eq!(s.outcome(&id).await, Outcome::Denied);
    assert_eq!(s.lab.query_log().per_resolver.values().sum::<u64>(), before);
}

#[tokio::test]
async fn a_proof_below_does_not_give_the_domain_and_one_above_covers_what_is_below() {
    let s = Stage::new().await;
    let below = s.claim_by(A, "shop.plain.example", Method::Txt).await;
    s.publish(&below).await;
    let round = s.check(&below).await.round.unwrap();
    assert_eq!(round.outcome, Outcome::Proven, "{round:#?}");
    let apex = s.claim(A).await;
    assert_eq!(s.outcome(&apex).await, Outcome::Denied);
    let proven = vec![("shop.plain.example".to_string(), Method::Txt)];
    assert_eq!(covering(&proven, DOMAIN), None);
    assert_eq!(covering(&proven, "eu.shop.plain.example"), Some("shop.plain.example"));
    // Another organisation's proof of the domain touches neither.
    let other = s.verified(B).await;
    assert!(s.stored(&below).await.claim.counts() && s.stored(&other).await.claim.counts());
    assert_eq!(Fqdn::trusted("shop.plain.example").registrable().unwrap().as_str(), DOMAIN);
}

#[tokio::test]
async fn another_registrar_or_creation_date_asks_for_a_new_proof() {
    let s = Stage::new().await;
    let name = DomainName::trusted(DOMAIN);
    let state = |registrar: &str, created: &str| Registration {
        name: Some(DOMAIN.into()),
        registrar: model::registration::Registrar { name: Some(registrar.into()), ..Default::default() },
        created: Some(created.parse().unwrap()),
        ..Registration::default()
    };
    *s.world.registration.lock().unwrap() = state("Plain Registrar", "2020-01-01T00:00:00Z");
    s.scanner.scan(&name, true).await.unwrap();
    let id = s.verified(A).await;
    while let Some(job) = s.scanner.store.lease(JobKind::Claim, "t", 9, s.world.now()).await.unwrap().pop() {
        s.scanner
            .store
            .complete(&job, s.stored(&id).await.claim.next_check_at, None, s.world.now())
            .await
            .unwrap();
    }
    for (registrar, created, reason) in [
        ("Other Registrar", "2020-01-01T00:00:00Z", ContestReason::RegistrarChanged),
        ("Other Registrar", "2026-11-20T12:30:00Z", ContestReason::CreationChanged),
    ] {
        s.later(1);
        *s.world.registration.lock().unwrap() = state(registrar, created);
        // One answer may be out of date: a second one confirms it.
        s.scanner.scan(&name, true).await.unwrap();
        *s.world.now.lock().unwrap() += SignedDuration::from_mins(6);
        s.scanner.scan(&name, true).await.unwrap();
        let due = s.scanner.store.queue_stats(JobKind::Claim, s.world.now()).await.unwrap().due;
        assert_eq!(due, 1, "the change makes the check due at once");
        let stored = s.check(&id).await;
        let ClaimState::Contested { reason: why, .. } = &stored.claim.state else { panic!("{stored:?}") };
        assert_eq!(*why, reason);
        assert_eq!(s.outcome(&id).await, Outcome::Denied, "the leftover record proves nothing");
        s.publish(&id).await;
        s.check(&id).await;
        assert_eq!(s.standing(&id).await, Standing::Verified);
        let job = s.scanner.store.lease(JobKind::Claim, "t", 9, s.world.now()).await.unwrap().remove(0);
        s.scanner
            .store
            .complete(&job, s.stored(&id).await.claim.next_check_at, None, s.world.now())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_domain_that_left_the_inventory_takes_its_claim_along() {
    let s = Stage::new().await;
    let id = s.verified(A).await;
    s.scanner.store.remove(A, &[DomainName::trusted(DOMAIN)], s.world.now()).await.unwrap();
    assert_eq!(s.scanner.check_claim(&id).await.unwrap(), Checked::Gone);
    assert!(s.scanner.store.claims_to(DOMAIN).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_signed_zone_must_validate() {
    let s = Stage::new().await;
    let good = s.claim_by(A, "signed.example", Method::Txt).await;
    assert_eq!(s.outcome(&good).await, Outcome::Denied, "a proven denial is one");
    s.publish(&good).await;
    let round = s.check(&good).await.round.unwrap();
    assert_eq!(round.outcome, Outcome::Proven, "{round:#?}");
    let bad = s.claim_by(A, "broken.example", Method::Txt).await;
    s.publish(&bad).await;
    assert_eq!(s.outcome(&bad).await, Outcome::Bogus);
    assert_eq!(s.standing(&bad).await, Standing::Pending);
}

#[tokio::test]
async fn near_misses_are_found_where_people_put_the_record() {
    let s = Stage::new().await;
    let id = s.claim(A).await;
    let value = s.stored(&id).await.claim.challenge.nonce.to_string();
    let misses = async || s.check(&id).await.round.unwrap().near_misses;
    assert_eq!(misses().await, [NearMiss::NotFound { name: CHALLENGE.into() }]);
    let twice = format!("{CHALLENGE}.{DOMAIN}");
    s.add(&twice, "TXT", format!("\"{value}\"")).await;
    let host = "_domainscope-challenge".to_string();
    assert_eq!(misses().await, [NearMiss::ZoneAppendedTwice { found_at: twice.clone(), host }]);
    s.remove(&twice, "TXT").await;
    s.add(CHALLENGE, "CNAME", format!("{value}.verify.one.example.")).await;
    let wrong = NearMiss::WrongType { found: "CNAME".into(), expected: "TXT".into() };
    assert_eq!(misses().await, [wrong]);
    s.remove(CHALLENGE, "CNAME").await;
    s.add(CHALLENGE, "TXT", format!("\"{}\"", &value[..20])).await;
    assert!(matches!(misses().await[..], [NearMiss::Truncated { missing: 12, .. }]));
    let round = s.stored(&id).await.round.unwrap();
    assert!(round.wait_s.is_none() || round.wait_s > Some(0));
}
