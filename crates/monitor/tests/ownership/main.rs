//! Two organisations and one domain, in the lab: who gets it, who keeps it, and what does not count as proof.

#[path = "../../../dns/tests/support/mod.rs"]
mod lab_dns;
mod stage;
#[path = "../support/mod.rs"]
mod support;

use jiff::SignedDuration;
use lab::Command;
use model::event::{EventKind, EventQuery};
use model::names::{DomainName, Fqdn};
use model::ownership::claim::ContestReason;
use model::ownership::scope::covering;
use model::ownership::{ClaimState, Method, NearMiss, Outcome, ServerVerdict, Standing};
use model::registration::Registration;
use monitor::{Checked, Clock};
use stage::{A, B, DOMAIN, Stage};
use store::JobKind;

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
