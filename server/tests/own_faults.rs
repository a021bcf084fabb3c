//! Faults of the installation itself, with the lab underneath: each is shown as ours, and there is no event about a domain.

#[path = "own_faults/places.rs"]
mod places;
#[path = "own_faults/world.rs"]
mod world;

use jiff::SignedDuration;
use model::confirm::is_silence;
use model::event::{EventKind, EventQuery, Severity};
use model::health::FaultKind;
use model::ids::OrgId;
use model::names::DomainName;
use model::status::StatusKind;
use monitor::Hub;
use server::settings::EngineArgs;
use world::World;

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_ours_are_shown_as_ours_and_are_no_events() {
    let w = World::start().await;
    assert_eq!(w.scan(&w.args, 2).await, []);
    let (before, shown) = (w.events().await, w.shown().await);
    assert!(shown[1].contains("Secure") && shown.iter().all(|s| s.ends_with("true")), "{shown:?}");

    // A trust anchor that is not the root's.
    let anchor = ". 3600 IN DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\n";
    let stale = EngineArgs { trust_anchor: w.file("stale.key", anchor), ..w.args.clone() };
    assert_eq!(w.scan(&stale, 2).await, [FaultKind::RootInvalid]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "a stale anchor");

    // A clock that is more than a year slow.
    w.set_clock(-SignedDuration::from_hours(400 * 24));
    assert_eq!(w.scan(&w.args, 2).await, [FaultKind::RootInvalid, FaultKind::ClockWrong]);
    w.set_clock(SignedDuration::from_hours(400 * 24));
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "a slow clock");

    // No name server answers: nothing listens on this port.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let down = EngineArgs { dns_port: Some(closed), ..w.args.clone() };
    let faults = w.scan(&down, 2).await;
    assert!(faults.contains(&FaultKind::NetworkDown), "{faults:?}");
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "no network");

    // The registry is out of order, by RDAP and WHOIS.
    let bootstrap = r#"{"version":"1.0","publication":"2026-01-01T00:00:00Z","services":[[["example"],["https://127.0.0.1:9/"]]]}"#;
    let out = EngineArgs {
        rdap_bootstrap: w.file("dns.json", bootstrap).map(|p| p.to_string_lossy().into_owned()),
        whois_server: Some("127.0.0.1:9".into()),
        ..w.args.clone()
    };
    assert_eq!(w.scan(&out, 2).await, [FaultKind::RegistryDown]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "no registry");

    // All is well again: no fault, and still no event.
    assert_eq!(w.scan(&w.args, 2).await, []);
    assert_eq!((w.events().await, w.shown().await), (before, shown));
}

/// One domain is enough to see that the network is down, and is not judged by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_down_shows_with_one_domain() {
    let w = World::start_with("", &["plain.example"]).await;
    let hub = Hub::default();
    assert_eq!(w.scan_as(&hub, &w.args, 2, None).await, []);
    let (before, shown, status) = (w.events().await, w.shown().await, w.status("plain.example").await);

    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let down = EngineArgs { dns_port: Some(closed), ..w.args.clone() };
    assert_eq!(w.scan_as(&hub, &down, 1, None).await, [FaultKind::NetworkDown]);
    let fault = hub.faults().remove(0);
    assert!(fault.sentence.contains("root") && !fault.sentence.contains("Several"), "{}", fault.sentence);
    assert_eq!(w.scan_as(&hub, &down, 2, None).await, [FaultKind::NetworkDown]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()));
    assert_eq!(w.status("plain.example").await, status);

    // It is back: the fault ends with the next scan.
    assert_eq!(w.scan_as(&hub, &w.args, 1, None).await, []);
    assert_eq!((w.events().await, w.shown().await), (before, shown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_a_month_fast_is_a_fault_of_ours_and_reminds_of_nothing() {
    let domain = |name: &str, expires: &str| {
        format!(
            "[[domain]]\nname = \"{name}\"\nprovider = \"one\"\nregistrar = \"reg\"\ncreated = \"-5y\"\n\
             expires = \"{expires}\"\nstatuses = [\"clientTransferProhibited\"]\n"
        )
    };
    let more = domain("forty.example", "+40d") + &domain("twenty.example", "+20d");
    let mut w = World::start_with(&more, &["signed.example", "forty.example", "plain.example"]).await;
    assert_eq!(w.scan(&w.args, 2).await, []);
    let (before, shown) = (w.events().await, w.shown().await);
    assert_eq!(w.status("forty.example").await, StatusKind::Normal);

    // By this clock ten days are left of the one, and the other has ended.
    let month = SignedDuration::from_hours(30 * 24);
    w.set_clock(month);
    w.add("twenty.example").await;
    let faults = w.scan(&w.args, 3).await;
    assert!(faults.contains(&FaultKind::ClockWrong), "{faults:?}");
    assert_eq!(w.events().await, before, "no event about a domain");
    assert_eq!(w.shown().await[..3], shown, "DNSSEC among it");
    assert_eq!(w.status("forty.example").await, StatusKind::Normal);
    assert_eq!(w.status("twenty.example").await, StatusKind::Warning, "by the time that servers agree on");

    // Right again: what is due comes, and nothing else.
    w.set_clock(-month);
    assert_eq!(w.scan(&w.args, 2).await, []);
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap();
    assert_eq!(events.total, before + 1, "{:?}", events.events);
    let newest = &events.events[0];
    assert_eq!((newest.domain.as_str(), newest.change.kind), ("twenty.example", EventKind::ExpiresSoon));
}

/// Six operators, each with a domain and two servers in networks of their own.
const OPERATORS: [&str; 6] =
    ["d1.example", "d2.example", "d3.example", "d4.example", "d5.example", "d6.example"];

#[tokio::test(flavor = "multi_thread")]
async fn half_of_the_network_out_of_reach_is_a_fault_of_ours_and_no_event() {
    half_of_the_network("example", "", "No answer").await;
}

/// The names of the servers are below another TLD, so that the delegation brings no addresses of them: those are out of reach too.
#[tokio::test(flavor = "multi_thread")]
async fn servers_whose_names_cannot_be_resolved_from_here_are_no_event_either() {
    let tld = "[[tld]]\nname = \"other\"\nregistry = \"Other Registry\"\ndnssec = \"nsec\"\n";
    half_of_the_network("other", tld, "Not resolved").await;
}

/// `word`: how events call servers that are out of reach.
async fn half_of_the_network(tld: &str, more: &str, word: &str) {
    let mut more = more.to_string();
    for i in 1..=6 {
        let server = |n: i32| format!("{{ name = \"ns{n}.p{i}.{tld}\", address = \"127.60.{i}{n}.1\" }}");
        more += &format!(
            "[[provider]]\nid = \"p{i}\"\nname = \"P{i}\"\nservers = [{}, {}]\n\
             [[domain]]\nname = \"p{i}.{tld}\"\nprovider = \"p{i}\"\nregistrar = \"reg\"\nlisted = false\n\
             [[domain]]\nname = \"d{i}.example\"\nprovider = \"p{i}\"\nregistrar = \"reg\"\ncreated = \"-5y\"\n\
             expires = \"+200d\"\nrecords = [\"@ 300 A 192.0.2.10\"]\n",
            server(1),
            server(2)
        );
    }
    let w = World::start_with(&more, &OPERATORS).await;
    let hub = Hub::default();
    assert_eq!(w.scan_as(&hub, &w.args, 2, None).await, []);
    let before = w.events().await;
    let address = |i: u8, n: u8| std::net::IpAddr::from([127, 60, 10 * i + n, 1]);

    // Of three operators no server answers from here.
    let lost: Vec<_> = (1..=3).flat_map(|i| [address(i, 1), address(i, 2)]).collect();
    let faults = w.scan_as(&hub, &w.without(&lost), 4, None).await;
    assert!(faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    assert_eq!(w.events().await, before, "no event about a domain");
    assert_ne!(w.status("d1.example").await, StatusKind::Critical);

    // The process ends, and the next one begins with one of the domains: it still holds back what the other did, and shows it.
    w.scanner(&hub, &w.args, None).share_faults().await.unwrap();
    let next = Hub::default();
    let scanner = w.scanner(&next, &w.without(&lost), None);
    assert!(next.faults().is_empty());
    scanner.share_faults().await.unwrap();
    assert_eq!(next.faults(), hub.faults());
    for _ in 0..2 {
        scanner.scan(&DomainName::trusted("d1.example"), true).await.unwrap();
        w.pass(SignedDuration::from_mins(6));
    }
    assert_eq!(w.events().await, before, "no event about a domain");

    // All answer again but one operator's: its silence is its own.
    let faults = w.scan_as(&hub, &w.without(&lost[..2]), 2, None).await;
    assert!(!faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    let about: Vec<_> = events.iter().take(events.len() - usize::try_from(before).unwrap()).collect();
    assert_eq!(about.len(), 2, "{about:?}");
    for event in about {
        assert_eq!((event.domain.as_str(), event.change.new.as_deref()), ("d1.example", Some(word)));
        let is_said = event.change.note.starts_with("No name server answers");
        assert_eq!((event.change.severity, is_said), (Severity::Critical, true), "as its status is");
    }
    assert_eq!(w.status("d1.example").await, StatusKind::Critical);

    // It answers again; and all do.
    assert_eq!(w.scan_as(&hub, &w.args, 3, None).await, []);
    assert_eq!(w.events().await, before + 4);

    // Three operators fail for good: that is reported after six hours.
    let cut = w.without(&lost);
    let faults = w.scan_as(&hub, &cut, 3, None).await;
    assert!(faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    assert_eq!(w.events().await, before + 4);
    w.pass(SignedDuration::from_hours(6));
    let faults = w.scan_as(&hub, &cut, 2, None).await;
    assert!(!faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap();
    assert_eq!(events.total, before + 10, "two servers of each");
    let newest = &events.events[0].change;
    let note = newest.note.strip_prefix("No name server answers. ");
    assert!(note.is_some_and(|n| n.starts_with("Held back since ")) && is_silence(newest), "{newest:?}");
    assert_eq!(w.status("d3.example").await, StatusKind::Critical);
}
