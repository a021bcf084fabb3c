//! Services of domains: kept by organisation, written once for each look, with their events; links of customer pages.

use crate::world::{ONE, Place, TWO, add, change, later, name, now};
use model::configure::{ConnectLink, ServiceKind, ServiceSpec, ServiceState, StoredService};
use model::event::EventQuery;
use store::Error;

fn service(id: &str, domain: &str) -> StoredService {
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1 \" ' ; --")]).expect("a spec");
    StoredService::new(id.into(), domain, spec, now())
}

pub async fn a_look_is_recorded_once_with_its_event(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    add(&*s, TWO, &["a.example"]).await;
    s.add_service(ONE, &service("one", "a.example"), now()).await.unwrap();
    s.add_service(ONE, &service("two", "a.example"), later(1)).await.unwrap();
    let missing = s.add_service(ONE, &service("three", "b.example"), now()).await;
    assert!(matches!(missing, Err(Error::NotFound)), "{missing:?}");
    let ids = |all: Vec<store::VersionedService>| all.into_iter().map(|s| s.service.id).collect::<Vec<_>>();
    assert_eq!(ids(s.services(ONE, &name("a.example")).await.unwrap()), ["one", "two"]);
    assert!(s.services(TWO, &name("a.example")).await.unwrap().is_empty(), "another organisation's");
    // Two lookers: the second finds that the first has written.
    let before = s.service("one").await.unwrap().unwrap();
    let after =
        StoredService { state: ServiceState::Working, worked_at: Some(now()), ..before.service.clone() };
    let told = change("it works");
    s.record_service(&before, &after, Some(&told), later(2)).await.unwrap();
    let again = s.record_service(&before, &after, Some(&told), later(2)).await;
    assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
    assert_eq!(place.open().await.service("one").await.unwrap().unwrap().service, after);
    let query = EventQuery { page: 1, per_page: 50, ..EventQuery::default() };
    let events = s.events(ONE, &query).await.unwrap();
    assert_eq!((events.total, &events.events[0].change), (1, &told));
    assert_eq!(s.events(TWO, &query).await.unwrap().total, 0);
    let messages = s.lease_notifications(9, later(3)).await.unwrap();
    assert_eq!(messages.iter().map(|m| (m.org, m.events.len())).collect::<Vec<_>>(), [(ONE, 1)]);
    // Only its own organisation removes it, once.
    assert!(!s.remove_service(TWO, &name("a.example"), "one", now()).await.unwrap());
    assert!(s.remove_service(ONE, &name("a.example"), "one", now()).await.unwrap());
    assert!(!s.remove_service(ONE, &name("a.example"), "one", now()).await.unwrap());
    assert!(s.service("one").await.unwrap().is_none());
}

pub async fn links_of_customer_pages_end(place: &Place) {
    let s = place.open().await;
    let link = ConnectLink {
        service: "one".into(),
        domain: "a.example".into(),
        brand: "Northlake".into(),
        accent: "#1f6feb".into(),
        help: String::new(),
        expires_at: later(60),
    };
    s.put_connect_link(ONE, "hash", &link).await.unwrap();
    assert_eq!(s.connect_link("hash").await.unwrap(), Some((ONE, link)));
    assert_eq!(s.connect_link("other").await.unwrap(), None);
    s.prune(later(59), 400).await.unwrap();
    assert!(s.connect_link("hash").await.unwrap().is_some());
    s.prune(later(61), 400).await.unwrap();
    assert_eq!(s.connect_link("hash").await.unwrap(), None);
}
