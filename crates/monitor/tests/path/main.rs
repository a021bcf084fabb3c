//! The path with a scripted world: what is recorded when the world changes, fails, and comes back.

mod stage;
mod stops;
#[path = "../support/mod.rs"]
mod support;
mod turns;

use model::event::{EventKind, EventQuery};
use model::ids::{LogPosition, OrgId, Vantage};
use model::observation::Observation;
use model::registration::Registration;
use model::status::StatusKind;
use monitor::{Clock, ScanError};
use stage::{Stage, registration};

#[tokio::test]
async fn a_baseline_a_change_a_failure_and_its_end() {
    let s = Stage::new().await;
    let first = s.scanner.scan(&s.name, true).await.unwrap();
    assert!(first.sentence.starts_with("Baseline saved") && s.events().await.is_empty());

    s.later(7);
    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    let second = s.scanner.scan(&s.name, false).await.unwrap();
    assert_eq!(second.changes.len(), 1, "{second:?}");
    assert_eq!(s.events().await, [EventKind::Renewed]);
    let (item, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(item.last_change_at, Some(s.world.now()));
    assert!(row.changed_recently(s.world.now()));

    s.later(7);
    s.world_is(Err("rdap.nic.io did not answer"));
    let third = s.scanner.scan(&s.name, false).await.unwrap();
    assert!(third.failed && third.changes.is_empty() && third.sentence.contains("did not answer"));
    assert_eq!(s.events().await.len(), 1, "a failure is no change");
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Normal, "data of hours ago still counts");
    assert_eq!(row.error.as_deref(), Some("rdap.nic.io did not answer"));
    assert_eq!(s.raw().await, ["2030-07-06T13:58:57Z"], "the good answer is kept, not the garbage");

    // Time alone: after three days without good data the status is judged again, without a scan.
    s.later(24 * 3);
    assert_eq!(s.scanner.judge_due().await.unwrap(), 1);
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Unknown, "{:?}", row.status);

    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    s.scanner.scan(&s.name, false).await.unwrap();
    assert_eq!(s.events().await.len(), 1, "the same data come back is no change");
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Normal);
}

/// The registrar fails just after the renewal: its date of before is kept, and not followed.
#[tokio::test]
async fn a_renewed_domain_does_not_expire_by_what_its_registrar_stated_before() {
    let s = Stage::new().await;
    let (old, new) = ("2026-11-24T10:00:00Z", "2027-11-24T10:00:00Z");
    let stated = |registry: &str, registrar: Option<&str>| {
        let registrar_expires = registrar.map(|date| date.parse().unwrap());
        Ok(Registration { registrar_expires, ..registration(registry) })
    };
    let row = async || s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap().1;
    s.world_is(stated(old, Some(old)));
    s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!(row().await.status.kind, StatusKind::Critical, "four days are left");

    for hours in [6, 48] {
        s.later(hours);
        s.world_is(stated(new, None));
        s.scanner.scan(&s.name, true).await.unwrap();
        let now = row().await;
        assert_eq!((now.status.kind, now.expires), (StatusKind::Normal, Some(new.parse().unwrap())));
        let told = s.events().await;
        assert!(!told.contains(&EventKind::Renewed) && !told.contains(&EventKind::Expired), "{told:?}");
    }
    s.later(6);
    s.world_is(stated(new, Some(new)));
    let last = s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!(last.changes.len(), 1, "{last:?}");
    assert_eq!(s.events().await.iter().filter(|k| **k == EventKind::Renewed).count(), 1);
}

#[tokio::test]
async fn two_workers_that_see_the_same_change_record_it_once() {
    let s = Stage::new().await;
    s.scanner.scan(&s.name, true).await.unwrap();
    s.later(7);
    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    let (a, b) = futures::join!(s.scanner.scan(&s.name, false), s.scanner.scan(&s.name, false));
    assert_eq!(a.unwrap().changes.len() + b.unwrap().changes.len(), 1);
    assert_eq!(s.events().await, [EventKind::Renewed]);
}

#[tokio::test]
async fn registration_data_is_not_asked_for_twice_in_a_minute() {
    let s = Stage::new().await;
    s.scanner.scan(&s.name, true).await.unwrap();
    s.world_is(Err("must not be asked"));
    let again = s.scanner.scan(&s.name, true).await.unwrap();
    assert!(!again.failed, "{again:?}");
    s.later(1);
    assert!(
        s.scanner.scan(&s.name, true).await.unwrap().failed,
        "an hour later a person gets a fresh answer"
    );
    let stored = s.scanner.store.observation(&s.name, &Vantage::local()).await.unwrap().unwrap().observation;
    assert!(stored.registration.is_stale());
}

#[tokio::test]
async fn a_name_nobody_holds_any_more_is_not_recorded() {
    let s = Stage::new().await;
    s.scanner.store.remove(OrgId::BUILT_IN, std::slice::from_ref(&s.name), s.world.now()).await.unwrap();
    let head = s.scanner.store.head().await.unwrap();
    assert!(matches!(s.scanner.scan(&s.name, true).await, Err(ScanError::NotHeld)));
    assert!(head > LogPosition(0) && s.scanner.store.head().await.unwrap() == head);
}

#[tokio::test]
async fn what_was_observed_carries_the_installation_it_came_from() {
    let s = Stage::new().await;
    let store = &s.scanner.store;
    let claimed = async |name: &str, value: &str, expected| {
        let write = store::ClusterClaimWrite {
            name: name.into(),
            expected,
            metadata: "{}".into(),
            value: value.into(),
            dry_run: false,
        };
        let by = model::account::Actor::system();
        store.write_cluster_claim(&by, &write, s.world.now()).await.unwrap().unwrap().rv
    };
    let rv = claimed("id.k8s.io", "alder-main", None).await;
    s.scanner.scan(&s.name, true).await.unwrap();
    let stored =
        || async { store.observation(&s.name, &Vantage::local()).await.unwrap().unwrap().observation };
    assert_eq!(stored().await.cluster.as_deref(), Some("alder-main"));
    let newest = store.snapshots(OrgId::BUILT_IN, &s.name, 1).await.unwrap()[0].id;
    let kept = store.snapshot(OrgId::BUILT_IN, &s.name, newest).await.unwrap();
    let origin = |o: &Observation| (o.cluster.clone(), o.clusterset.clone());
    assert_eq!(origin(&kept.observation), (Some("alder-main".into()), None));
    // Another name of the installation is no change of the domain.
    claimed("id.k8s.io", "alder-west", Some(rv)).await;
    s.later(7);
    s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!((stored().await.cluster.as_deref(), s.events().await), (Some("alder-west"), vec![]));
    // Nor is that it becomes a member of a set; what is seen from then on carries it, too.
    claimed("clusterset.k8s.io", "alder-fleet", None).await;
    s.later(7);
    s.world_is(Ok(registration("2031-07-06T13:58:57Z")));
    s.scanner.scan(&s.name, true).await.unwrap();
    let both = (Some("alder-west".to_string()), Some("alder-fleet".to_string()));
    assert_eq!(origin(&stored().await), both);
    let events = store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    assert!(!events.is_empty() && events.iter().all(|e| (e.cluster.clone(), e.clusterset.clone()) == both));
}
