//! Points of presence and the schedule: a second look before a server counts as dead, and how fast servers answer there.

use crate::world::{PointOfPresence, World};
use jiff::SignedDuration;
use model::event::{EventKind, EventQuery};
use model::ids::OrgId;
use model::names::DomainName;
use monitor::{Clock, Hub, Policy, Scanner};
use server::settings::EngineArgs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

#[tokio::test(flavor = "multi_thread")]
async fn a_name_server_out_of_reach_from_here_alone_is_no_event() {
    let w = World::start().await;
    w.scan(&w.args, 2).await;
    let before = w.events().await;
    let name = DomainName::trusted("plain.example");
    let servers = w.observation(&name).await.delegation.value.unwrap().servers;
    let lost = servers.iter().find(|s| s.address.is_some_and(|a| a.is_ipv4())).unwrap().clone();
    let cut = w.without(&[lost.address.unwrap()]);

    let point = PointOfPresence::join(&w).await;
    let second = w.second_look(features::Gates::default());
    for _ in 0..4 {
        point.polls(&w).await;
        w.scan_with(&cut, 1, Some(second.clone())).await;
    }
    assert_eq!(w.events().await, before, "it answers at the other place");
    let field = format!("{} {}", lost.name, lost.address.unwrap());
    let elsewhere = w.observation(&name).await.elsewhere;
    assert_eq!(elsewhere.len(), 1, "{elsewhere:?}");
    assert_eq!((elsewhere[0].server.as_str(), elsewhere[0].place.as_str()), (&*field, "fra-1 (Frankfurt)"));

    // The point of presence is gone: what is seen twice from here is an event again.
    w.pass(SignedDuration::from_mins(5));
    w.scan_with(&cut, 2, Some(second)).await;
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    let about: Vec<_> = events
        .iter()
        .filter(|e| e.domain == name && e.change.kind == EventKind::DelegationHealthChanged)
        .map(|e| (e.change.field.clone(), e.change.new.clone()))
        .collect();
    assert_eq!(about, [(field, Some("No answer".to_string()))]);
    assert!(w.observation(&name).await.elsewhere.is_empty());
}

/// Two servers of one operator that call themselves m1 and m2, with two domains.
const MACHINES: &str = r#"
[[provider]]
id = "two"
name = "Provider Two"
servers = [{ name = "ns1.two.example", address = "127.60.11.1", nsid = "m1" }, { name = "ns2.two.example", address = "127.60.12.1", nsid = "m2" }]
[[domain]]
name = "two.example"
provider = "two"
registrar = "reg"
listed = false
[[domain]]
name = "far.example"
provider = "two"
registrar = "reg"
created = "-5y"
expires = "+200d"
records = ["@ 300 A 192.0.2.10"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_measured_at_each_place_once_a_day_while_there_are_places() {
    let w = World::start_with(MACHINES, &["far.example"]).await;
    let name = DomainName::trusted("far.example");
    let scanner = |gates| {
        let scanner = w.scanner(&Hub::default(), &w.args, Some(w.second_look(gates)));
        // Scanned once a day, so that each scan of another day is followed by a look of the places.
        Scanner { policy: Policy { interval_s: 86_400, ..scanner.policy.clone() }, ..scanner }
    };
    let on = scanner(features::Gates::default());
    assert!(on.scan_in_turn(&name, true).await.unwrap().places_due);
    assert!(!on.sample_places(&name).await.unwrap(), "there are no places");
    let places = async || w.observation(&name).await.delegation.value.unwrap().latency.places;
    assert_eq!(places().await, []);

    // From sin-1 the way to the address of ns1 leads to another machine.
    let port = w.args.dns_port.unwrap_or(53);
    let kept = w.args.address_map.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
    let map = format!("{}\n\"127.60.11.1:{port}\" = \"127.60.12.1:{port}\"", kept.unwrap_or_default());
    let args = EngineArgs { address_map: w.file("sin.toml", &map), ..w.args.clone() };
    let fra = PointOfPresence::join(&w).await;
    let sin = PointOfPresence::join_as(&w, "sin-1", &args).await;

    // The feature is off: nothing is asked, nothing is stored.
    let off = features::Gates::configured(&BTreeMap::from([("fleet-agents".into(), false)]), BTreeSet::new());
    assert!(!scanner(off).sample_places(&name).await.unwrap());
    assert_eq!((fra.asked.load(Ordering::SeqCst), places().await), (0, vec![]));

    // Agents of protocol 1 answer. Each is asked once, and what both say is kept.
    assert!(on.sample_places(&name).await.unwrap());
    assert_eq!((fra.asked.load(Ordering::SeqCst), sin.asked.load(Ordering::SeqCst)), (1, 1));
    let latency = w.observation(&name).await.delegation.value.unwrap().latency;
    let ids: Vec<_> = latency.places.iter().map(|p| (p.id.as_str(), p.region.as_str())).collect();
    assert_eq!(ids, [("fra-1", "Frankfurt"), ("sin-1", "Frankfurt")]);
    for (host, is_anycast, machine) in
        [("ns1.two.example", true, None), ("ns2.two.example", false, Some("m2"))]
    {
        let server = latency.servers.iter().find(|s| s.server == host && s.zone == "far.example").unwrap();
        let figures = latency.figures(server);
        assert_eq!(figures.len(), 2, "{host}: {:?}", latency.places);
        assert_eq!(
            (latency.is_anycast(server), latency.one_machine(server)),
            (is_anycast, machine),
            "{host}"
        );
    }
    assert!(!on.scan_in_turn(&name, true).await.unwrap().places_due, "once a day");

    // A day later sin-1 is revoked: what it said goes, and fra-1 is asked again.
    w.pass(SignedDuration::from_hours(24));
    w.store.revoke_agent(&model::account::Actor::system(), "sin-1", w.clock.now()).await.unwrap();
    fra.polls(&w).await;
    assert!(on.scan_in_turn(&name, true).await.unwrap().places_due);
    assert!(on.sample_places(&name).await.unwrap());
    let left: Vec<_> = places().await.iter().map(|p| (p.id.clone(), p.seen.looks.len())).collect();
    assert_eq!(left, [("fra-1".to_string(), 2)]);

    // An agent that is busy is left out.
    let soon = w.clock.now() + SignedDuration::from_mins(5);
    drop(fra);
    for n in 0..8 {
        w.store.ask_agent("fra-1", &format!("q{n}"), "{}", soon).await.unwrap();
    }
    assert!(!on.sample_places(&name).await.unwrap());
    // No place is left: a week later nothing of them is.
    w.store.revoke_agent(&model::account::Actor::system(), "fra-1", w.clock.now()).await.unwrap();
    w.pass(SignedDuration::from_hours(8 * 24));
    on.scan(&name, true).await.unwrap();
    assert_eq!(places().await, []);
}
