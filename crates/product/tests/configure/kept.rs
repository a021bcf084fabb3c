//! A service that is kept: the schedule looks at it, and says when it is ready, drifts and recovers.

use crate::support;
use crate::world::{World, now, spec};
use model::Timestamp;
use model::configure::StoredService;
use model::configure::{ServiceKind, ServiceState};
use model::ids::OrgId;
use model::names::DomainName;
use monitor::{Policy, Scanner, SystemClock};
use product::configure::Inspector;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A scanner, and a service of one of its domains whose records are missing.
async fn kept(w: &World, folder: &TempDir) -> (Scanner, store::VersionedService) {
    let (observer, clock) = (Arc::new(support::NoNetwork), Arc::new(SystemClock));
    let scanner = support::scans::scanner(folder, observer, clock, Policy::default()).await;
    support::scans::own(&scanner, OrgId::BUILT_IN, &[DomainName::trusted("shop.example")]).await;
    let caa = spec(ServiceKind::Caa, &[("issuers", "letsencrypt.org")]);
    let service = StoredService::new("s1".into(), "shop.example", caa, now());
    scanner.store.add_service(OrgId::BUILT_IN, &service, now()).await.unwrap();
    let found = scanner.store.service("s1").await.unwrap().unwrap();
    assert_eq!(w.look("shop.example", &found.service.spec).await.state, ServiceState::NotSetUp);
    (scanner, found)
}

#[tokio::test]
async fn a_kept_service_is_ready_drifts_and_recovers_on_the_schedule() {
    let (w, folder) = (World::start().await, TempDir::new().unwrap());
    let (scanner, service) = kept(&w, &folder).await;
    let id = service.service.id.clone();
    w.tell(r#"add shop.example 300 CAA 0 issue "letsencrypt.org""#).await;
    let due = [(store::Job::Service(id.clone()), Timestamp::now())];
    scanner.store.enqueue(&due, store::Priority::Scheduled).await.unwrap();
    let inspector = Arc::new(Inspector::new(w.engine.clone()));
    let worker = monitor::Worker::new(scanner.clone(), "test").with_services(inspector);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let kinds = || async {
        let query = model::event::EventQuery { page: 1, per_page: 50, ..Default::default() };
        let page = scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        let mut kinds: Vec<&str> = page.events.iter().map(|e| e.change.kind.as_str()).collect();
        kinds.reverse();
        kinds
    };
    let until = |wanted: &'static [&'static str]| async move {
        for _ in 0..300 {
            if kinds().await == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{wanted:?} is not {:?}", kinds().await);
    };
    let ask = || async {
        let due = [(store::Job::Service(id.clone()), Timestamp::now())];
        scanner.store.enqueue(&due, store::Priority::Scheduled).await.unwrap();
    };
    until(&["service_ready"]).await;
    w.tell("remove shop.example CAA").await;
    // The first look that misses the record is confirmed by a second one.
    ask().await;
    for _ in 0..300 {
        if scanner.store.service(&id).await.unwrap().unwrap().service.misses == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    until(&["service_ready"]).await;
    ask().await;
    until(&["service_ready", "service_drifted"]).await;
    w.tell(r#"add shop.example 300 CAA 0 issue "letsencrypt.org""#).await;
    ask().await;
    until(&["service_ready", "service_drifted", "service_recovered"]).await;
    stop.cancel();
    running.await.unwrap();
}
