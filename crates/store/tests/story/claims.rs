//! Claims of organisations to domains: written together or not at all, with their events and their next checks.

use crate::world::{ONE, Place, TWO, add, later, name, now, scan};
use jiff::Timestamp;
use model::event::{EventKind, EventQuery};
use model::ids::OrgId;
use model::ownership::{Claim, ClaimPolicy, Method, Nonce, Outcome, Standing, decide};
use store::{ClaimWrite, Error, Job, JobKind, Store, StoredClaim};

fn new_claim(org: OrgId, name: &str, id: &str, n: u8) -> StoredClaim {
    StoredClaim {
        id: id.into(),
        org,
        name: name.into(),
        claim: Claim::new(name, Nonce::new([n; 20]), Method::Txt, now(), &ClaimPolicy::default()),
        round: None,
        created_at: now(),
        reviewed_at: now(),
        version: 0,
    }
}

async fn write(s: &dyn Store, claims: &[StoredClaim]) -> store::Result<()> {
    let writes: Vec<_> = claims.iter().map(|c| ClaimWrite { claim: c.clone(), changes: vec![] }).collect();
    s.write_claims(&writes, now()).await
}

/// Judges a round as the monitor does and writes what follows.
async fn round(s: &dyn Store, id: &str, outcome: Outcome, at: Timestamp) {
    let name = s.claim_of_id(id).await.unwrap().unwrap().name;
    let claims = s.claims_to(&name).await.unwrap();
    let own = claims.iter().position(|c| c.id == id).unwrap();
    let states: Vec<_> = claims.iter().map(|c| c.claim.clone()).collect();
    let decided = decide(&states, own, outcome, at, &ClaimPolicy::default(), &mut || Nonce::new([9; 20]));
    let writes: Vec<_> = decided
        .into_iter()
        .map(|d| {
            let changes = d.event.map(|e| e.change(&name, &d.claim)).into_iter().collect();
            ClaimWrite { claim: StoredClaim { claim: d.claim, ..claims[d.index].clone() }, changes }
        })
        .collect();
    s.write_claims(&writes, at).await.unwrap();
}

async fn kinds(s: &dyn Store, org: OrgId) -> Vec<EventKind> {
    let query = EventQuery { page: 1, per_page: 50, ..EventQuery::default() };
    let mut kinds: Vec<_> =
        s.events(org, &query).await.unwrap().events.iter().map(|e| e.change.kind).collect();
    kinds.reverse();
    kinds
}

pub async fn a_claim_is_written_with_its_events_and_its_next_check(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    add(&*s, ONE, &["a.example"]).await;
    write(&*s, &[new_claim(ONE, "shop.a.example", "c1", 1)]).await.unwrap();
    assert!(matches!(
        write(&*other, &[new_claim(ONE, "shop.a.example", "c2", 2)]).await,
        Err(Error::Conflict)
    ));
    let stored = other.claim_of_id("c1").await.unwrap().unwrap();
    assert_eq!((stored.version, stored.domain().as_str()), (1, "a.example"));
    assert_eq!(other.pending_claims(ONE).await.unwrap(), 1);
    let job = s.lease(JobKind::Claim, "w", 5, later(1)).await.unwrap().remove(0);
    assert_eq!(job.job, Job::Claim("c1".into()));
    assert!(other.lease(JobKind::Claim, "v", 5, later(1)).await.unwrap().is_empty());

    round(&*s, "c1", Outcome::Proven, later(1)).await;
    // What was judged from an older version changes nothing.
    assert!(matches!(write(&*other, &[stored]).await, Err(Error::Conflict)));
    let now_stored = other.claims(ONE, 10).await.unwrap().remove(0);
    assert_eq!((now_stored.version, now_stored.claim.standing()), (2, Standing::Verified));
    assert_eq!(kinds(&*s, ONE).await, [EventKind::OwnershipVerified]);
    assert_eq!(s.pending_claims(ONE).await.unwrap(), 0);
    // The job comes back with the next check of a verified claim, and not before.
    s.complete(&job, now_stored.claim.next_check_at, None, later(1)).await.unwrap();
    assert!(s.lease(JobKind::Claim, "w", 5, later(60)).await.unwrap().is_empty());
    assert_eq!(s.lease(JobKind::Claim, "w", 5, later(24 * 60 + 2)).await.unwrap().len(), 1);
    assert!(
        s.lease(JobKind::Scan, "w", 5, later(1)).await.unwrap().len() == 1,
        "scans are a queue of their own"
    );
}

pub async fn a_holding_notes_since_when_its_claim_counts(place: &Place) {
    const DAY: i64 = 24 * 60;
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let object = async || s.domain_object(ONE, &name("a.example")).await.unwrap().unwrap();
    let noted = async || object().await.row.transitions.verified;
    write(&*s, &[new_claim(ONE, "a.example", "c1", 1), new_claim(ONE, "shop.a.example", "c2", 2)])
        .await
        .unwrap();
    assert_eq!(noted().await, None);
    // A claim to a name below says nothing about the holding.
    round(&*s, "c2", Outcome::Proven, later(1)).await;
    assert_eq!(noted().await, None);
    let before = object().await.rv;
    round(&*s, "c1", Outcome::Proven, later(2)).await;
    assert_eq!(noted().await, Some(later(2)));
    assert!(object().await.rv > before, "a watch reports it");
    // It stays through scans, checks, and the days that the proof may be gone.
    s.record(&scan(&*s, "a.example", &[], later(3)).await).await.unwrap();
    round(&*s, "c1", Outcome::Proven, later(4)).await;
    for at in [5, 66] {
        round(&*s, "c1", Outcome::Denied, later(at)).await;
    }
    let standing = async || s.claims_to("a.example").await.unwrap()[0].claim.standing();
    assert_eq!((standing().await, noted().await), (Standing::Lapsing, Some(later(2))));
    round(&*s, "c1", Outcome::Denied, later(8 * DAY)).await;
    assert_eq!((standing().await, noted().await), (Standing::Lapsed, Some(later(8 * DAY))));
    // Withdrawn while it counts.
    assert!(s.remove_claim(ONE, "a.example", later(9 * DAY)).await.unwrap());
    assert_eq!(noted().await, Some(later(8 * DAY)), "it did not count");
    write(&*s, &[new_claim(ONE, "a.example", "c3", 3)]).await.unwrap();
    round(&*s, "c3", Outcome::Proven, later(10 * DAY)).await;
    assert!(s.remove_claim(ONE, "a.example", later(11 * DAY)).await.unwrap());
    assert_eq!(noted().await, Some(later(11 * DAY)));
}

pub async fn claims_of_rivals_change_together_and_each_sees_its_own(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    add(&*s, TWO, &["a.example"]).await;
    write(&*s, &[new_claim(ONE, "a.example", "c1", 1)]).await.unwrap();
    write(&*s, &[new_claim(TWO, "a.example", "c2", 2)]).await.unwrap();
    round(&*s, "c1", Outcome::Proven, later(1)).await;
    round(&*s, "c2", Outcome::Proven, later(2)).await;
    let standing = |list: Vec<StoredClaim>| list.iter().map(|c| c.claim.standing()).collect::<Vec<_>>();
    assert_eq!(standing(s.claims_to("a.example").await.unwrap()), [Standing::Contested, Standing::Waiting]);
    assert_eq!(standing(s.claims(ONE, 9).await.unwrap()), [Standing::Contested]);
    assert_eq!(standing(s.claims_among(TWO, &["a.example".into()]).await.unwrap()), [Standing::Waiting]);
    round(&*s, "c1", Outcome::Proven, later(3)).await;
    assert_eq!(standing(s.claims_to("a.example").await.unwrap()), [Standing::Verified, Standing::Refused]);
    let one = [EventKind::OwnershipVerified, EventKind::OwnershipAtRisk, EventKind::OwnershipVerified];
    assert_eq!(kinds(&*s, ONE).await, one);
    assert_eq!(kinds(&*s, TWO).await, [EventKind::OwnershipNotProven]);

    // Of two writes one of which is outdated, neither happens.
    let mut both = s.claims_to("a.example").await.unwrap();
    both[1].version -= 1;
    both[0].reviewed_at = later(99);
    assert!(matches!(write(&*s, &both).await, Err(Error::Conflict)));
    assert_eq!(s.claims_to("a.example").await.unwrap()[0].reviewed_at, now());

    assert!(s.remove_claim(TWO, "a.example", later(4)).await.unwrap());
    assert!(!s.remove_claim(TWO, "a.example", later(4)).await.unwrap());
    assert_eq!(s.claims_to("a.example").await.unwrap().len(), 1);
}
