//! The lab's servers, two organisations that hold the same domain, and a clock that the test moves.

use crate::lab_dns;
use crate::support;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lab::{Command, Fault, Lab, Options, Scenario};
use model::detail::RawAnswer;
use model::event::EventQuery;
use model::ids::OrgId;
use model::names::DomainName;
use model::observation::Part;
use model::ownership::{Challenge, Claim, ExpectedRecord, Method, Observed, Outcome, Standing};
use model::registration::{Registration, RegistrationState};
use monitor::claims::nonce;
use monitor::observer::Progress;
use monitor::{Checked, Clock, DnsParts, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};
use store::{ClaimWrite, StoredClaim};

pub const NOW: &str = "2026-11-20T12:00:00Z";
pub const DOMAIN: &str = "plain.example";
pub const A: OrgId = OrgId(1);
pub const B: OrgId = OrgId(2);

/// The lab's servers, a registry that says what the test wants, and a clock that the test moves.
pub struct World {
    pub engine: dns::Engine,
    pub registration: Mutex<Registration>,
    pub now: Mutex<Timestamp>,
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

pub struct Stage {
    pub lab: Lab,
    pub world: Arc<World>,
    pub scanner: Scanner,
    _folders: [tempfile::TempDir; 2],
}

impl Stage {
    pub async fn new() -> Stage {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let now: Timestamp = NOW.parse().unwrap();
        let scenario = Scenario::named("small").unwrap();
        let lab = Lab::start(Options::new(scenario, folders[0].path(), now)).await.unwrap();
        let world = Arc::new(World {
            engine: dns::Engine::new(lab_dns::settings(&lab)),
            registration: Mutex::default(),
            now: Mutex::new(now),
        });
        let policy = Policy { claim_suffix: Some("verify.one.example".into()), ..Policy::default() };
        let scanner = support::scanner(&folders[1], world.clone(), world.clone(), policy).await;
        let stage = Stage { lab, world, scanner, _folders: folders };
        for (org, domain) in [(A, DOMAIN), (B, DOMAIN), (A, "signed.example"), (A, "broken.example")] {
            stage.hold(org, domain).await;
        }
        stage
    }

    pub async fn hold(&self, org: OrgId, domain: &str) {
        support::own(&self.scanner, org, &[DomainName::trusted(domain)]).await;
    }

    pub async fn claim_by(&self, org: OrgId, name: &str, method: Method) -> String {
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

    pub async fn claim(&self, org: OrgId) -> String {
        self.claim_by(org, DOMAIN, Method::Txt).await
    }

    pub async fn stored(&self, id: &str) -> StoredClaim {
        self.scanner.store.claim_of_id(id).await.unwrap().unwrap()
    }

    pub async fn standing(&self, id: &str) -> Standing {
        self.stored(id).await.claim.standing()
    }

    pub async fn check(&self, id: &str) -> StoredClaim {
        match self.scanner.check_claim(id).await.unwrap() {
            Checked::Stands(claim) => *claim,
            Checked::Gone => panic!("the claim is gone"),
        }
    }

    pub async fn outcome(&self, id: &str) -> Outcome {
        self.check(id).await.round.unwrap().outcome
    }

    pub async fn apply(&self, command: Command) {
        self.lab.apply(command).await.unwrap();
    }

    pub async fn add(&self, name: &str, rtype: &str, data: String) {
        let (name, rtype) = (name.into(), rtype.into());
        self.apply(Command::AddRecord { name, rtype, ttl: 300, data }).await;
    }

    pub async fn remove(&self, name: &str, rtype: &str) {
        self.apply(Command::RemoveRecord { name: name.into(), rtype: rtype.into(), data: None }).await;
    }

    pub async fn fault(&self, target: &str, fault: Option<&str>) {
        let fault = fault.map(|f| f.parse::<Fault>().unwrap());
        self.apply(Command::SetFault { target: target.parse().unwrap(), fault }).await;
    }

    /// Publishes what the claim expects now.
    pub async fn publish(&self, id: &str) {
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

    pub fn later(&self, hours: i64) {
        let mut now = self.world.now.lock().unwrap();
        *now += SignedDuration::from_hours(hours) + SignedDuration::from_secs(1);
    }

    pub async fn verified(&self, org: OrgId) -> String {
        let id = self.claim(org).await;
        self.publish(&id).await;
        self.check(&id).await;
        assert_eq!(self.standing(&id).await, Standing::Verified);
        id
    }

    pub async fn sentences(&self, org: OrgId) -> Vec<String> {
        let query = EventQuery { page: 1, per_page: 100, ..EventQuery::default() };
        let events = self.scanner.store.events(org, &query).await.unwrap().events;
        events.iter().map(|e| e.change.sentence()).collect()
    }
}
