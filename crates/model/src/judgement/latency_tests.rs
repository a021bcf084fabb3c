//! The judgement of latency, case by case.

use super::*;
use crate::dns::latency::{MAX_LOOKS, MIN_LOOKS, ServerNetwork, anycast, merge_latency};
use crate::dns::place_latency::PlaceLatency;
use crate::finding::{Finding, Level};
use jiff::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn server(zone: &str, name: &str, ip: &str, ms: &[f32]) -> ChainServer {
    ChainServer {
        zone: zone.into(),
        server: name.into(),
        address: ip.parse().unwrap(),
        ms: ms.iter().map(|m| Some(*m)).collect(),
        network: None,
        ids: Vec::new(),
    }
}

fn placed(mut s: ChainServer, prefix: &str, asn: u32) -> ChainServer {
    s.network =
        Some(ServerNetwork { address: s.address, asns: vec![asn], prefix: Some(prefix.into()), id: None });
    s
}

fn chain(servers: Vec<ChainServer>) -> LatencyHistory {
    let looks = servers.iter().map(|s| s.ms.len()).max().unwrap_or(0);
    LatencyHistory { looks: (0..looks as i64).map(at).collect(), servers, places: vec![] }
}

fn one_place(ms: &[f32]) -> LatencyHistory {
    chain(vec![
        server("example", "a.nic.example", "192.0.2.53", &vec![9.0; ms.len()]),
        placed(
            server("a.example", "ns1.a.example", "198.51.100.1", &vec![20.0; ms.len()]),
            "198.51.100.0/24",
            64500,
        ),
        placed(server("a.example", "ns2.a.example", "198.51.100.2", ms), "198.51.100.0/24", 64500),
    ])
}

#[test]
fn the_numbers_are_those_of_the_answers() {
    let s = server("z", "n", "192.0.2.1", &[10.0, 40.0, 20.0, 30.0]);
    let stats = s.stats().unwrap();
    assert_eq!((stats.looks, stats.min, stats.median, stats.p95, stats.last), (4, 10.0, 20.0, 40.0, 30.0));
    let mut silent = s;
    silent.ms = vec![None; 30];
    assert_eq!(silent.stats(), None);
}

#[test]
fn few_looks_say_nothing_and_enough_say_it_with_numbers() {
    assert_eq!(one_place(&[180.0; MIN_LOOKS - 1]).findings("a.example"), Vec::new());
    let found = one_place(&[180.0; 24]).findings("a.example");
    assert_eq!(found.len(), 1, "{found:?}");
    let f = &found[0];
    assert_eq!(
        (f.tag.as_str(), f.level, f.test_case.as_str()),
        (SLOW_UNICAST, Level::Warning, "Domainscope")
    );
    for part in ["ns2.a.example/198.51.100.2", "180 ms", "24 samples", "198.51.100.0/24, AS64500"] {
        assert!(f.message.contains(part), "{part}: {}", f.message);
    }
    assert_eq!(f.args["median"], 180.0);
    // Answers that did not come are no looks.
    let mut gaps = one_place(&[180.0; 24]);
    gaps.servers[2].ms[..13].fill(None);
    assert_eq!(gaps.findings("a.example"), Vec::new());
}

#[test]
fn fast_servers_and_anycast_ones_are_left_alone() {
    assert_eq!(one_place(&[99.0; 40]).findings("a.example"), Vec::new());
    let mut c = one_place(&[180.0; 40]);
    c.servers[2].ids = vec!["fra1".into(), "ams2".into()];
    assert_eq!(c.findings("a.example"), Vec::new());
}

#[test]
fn a_slow_anycast_server_does_not_hide_a_slow_one_that_is_not() {
    let mut c = one_place(&[180.0; 40]);
    c.servers[1].ms = vec![Some(300.0); 40];
    c.servers[1].ids = vec!["fra1".into(), "ams2".into()];
    let found = c.findings("a.example");
    assert_eq!(
        (found.len(), found[0].args["ns"].as_str()),
        (1, Some("ns2.a.example/198.51.100.2")),
        "{found:?}"
    );
}

#[test]
fn one_voice_speaks_of_a_slow_server() {
    let once = |ns: &str| Finding {
        broken: false,
        tag: SLOW_ONCE.into(),
        level: Level::Notice,
        message: String::new(),
        fix: String::new(),
        args: serde_json::Map::from_iter([("ns".to_string(), ns.into())]),
        test_case: "Domainscope".into(),
        zone: "a.example".into(),
    };
    let said = |c: &LatencyHistory, ns: &str| {
        let mut findings = vec![once(ns)];
        c.speak("a.example", &mut findings);
        c.speak("a.example", &mut findings);
        findings.into_iter().map(|f| f.tag).collect::<Vec<_>>()
    };
    let slow = "ns2.a.example/198.51.100.2";
    assert_eq!(said(&one_place(&[180.0; MIN_LOOKS - 1]), slow), [SLOW_ONCE]);
    assert_eq!(said(&one_place(&[180.0; MIN_LOOKS]), slow), [SLOW_UNICAST]);
    assert_eq!(said(&one_place(&[20.0; MIN_LOOKS]), slow), [""; 0], "slow once, quick as a rule");
    let mut anycast = one_place(&[180.0; 2]);
    anycast.servers[2].ids = vec!["fra1".into(), "ams2".into()];
    assert_eq!(said(&anycast, slow), [""; 0]);
    assert_eq!(said(&one_place(&[180.0; 40]), "new.a.example/198.51.100.9"), [SLOW_ONCE, SLOW_UNICAST]);
}

#[test]
fn servers_in_several_systems_weigh_less_and_unknown_places_are_said_to_be_unknown() {
    let mut c = one_place(&[180.0; 24]);
    c.servers[1] = placed(c.servers[1].clone(), "203.0.113.0/24", 64501);
    let f = &c.findings("a.example")[0];
    assert_eq!(f.level, Level::Notice);
    assert!(f.message.contains("AS64500, AS64501"), "{}", f.message);
    c.servers[1].network = None;
    assert_eq!(c.spread("a.example"), Spread::Unknown);
    c.servers[1] = placed(c.servers[1].clone(), "203.0.113.0/24", 64500);
    assert_eq!(c.spread("a.example"), Spread::OneSystem { asn: 64500 });
    assert_eq!(c.spread("nothing.example"), Spread::Unknown);
}

/// The same chain with the median of each place for ns2, after so many looks, and what the server calls itself there.
fn with_places(mut c: LatencyHistory, places: &[(&str, f32, &str)], looks: usize) -> LatencyHistory {
    let place = |(id, ms, nsid): &(&str, f32, &str)| {
        let mut one = server("a.example", "ns2.a.example", "198.51.100.2", &vec![*ms; looks]);
        one.ids.extend((!nsid.is_empty()).then(|| (*nsid).to_string()));
        PlaceLatency { id: (*id).into(), region: "eu".into(), seen: chain(vec![one]) }
    };
    c.places = places.iter().map(place).collect();
    c
}

#[test]
fn a_slow_server_is_told_with_the_figure_of_each_place() {
    let places = [("fra-1", 12.34, "m1"), ("sin-1", 412.0, "m1")];
    let found = with_places(one_place(&[180.0; 24]), &places, 1).findings("a.example");
    let f = &found[0];
    assert_eq!((found.len(), f.level), (1, Level::Warning));
    assert_eq!(f.args["places"], serde_json::json!({ "fra-1": 12.3, "sin-1": 412.0 }));
    assert_eq!((f.args["routing"].as_str(), f.args["nsid"].as_str()), (Some("unicast"), Some("m1")));
    for part in ["unicast, as it is m1 at all 2 places that gave an identifier", "sin-1 412 ms, fra-1 12 ms"]
    {
        assert!(f.message.contains(part), "{part}: {}", f.message);
    }
    // Without identifiers it is not known.
    let silent = [("fra-1", 12.0, ""), ("sin-1", 412.0, "")];
    let f = &with_places(one_place(&[180.0; 24]), &silent, 1).findings("a.example")[0];
    assert_eq!((f.args["routing"].as_str(), f.args.get("nsid")), (Some("unknown"), None));
    assert!(f.message.contains("no sign of anycast"), "{}", f.message);
    // Without places nothing is said of them.
    let f = &one_place(&[180.0; 24]).findings("a.example")[0];
    assert!(!f.args.contains_key("places") && !f.message.contains("presence"), "{f:?}");
}

#[test]
fn identifiers_that_differ_between_places_are_anycast_and_no_finding() {
    let places = [("fra-1", 12.0, "m1"), ("sin-1", 412.0, "m2")];
    assert_eq!(with_places(one_place(&[180.0; 24]), &places, 9).findings("a.example"), Vec::new());
}

#[test]
fn a_server_that_is_fast_here_and_slow_at_a_place_is_told_after_three_looks() {
    let near = || one_place(&[20.0; 24]);
    let places = [("fra-1", 12.0, ""), ("sin-1", 412.0, "")];
    assert_eq!(with_places(near(), &places, 2).findings("a.example"), Vec::new());
    let found = with_places(near(), &places, 3).findings("a.example");
    assert_eq!((found.len(), found[0].tag.as_str(), found[0].level), (1, SLOW_UNICAST, Level::Notice));
    assert!(
        found[0].message.starts_with("ns2.a.example/198.51.100.2 takes 412 ms from sin-1"),
        "{}",
        found[0].message
    );
    assert_eq!(
        (found[0].args["median"].as_f64(), found[0].args["places"]["sin-1"].as_f64()),
        (Some(20.0), Some(412.0))
    );
    let fast = [("fra-1", 12.0, ""), ("sin-1", 199.0, "")];
    assert_eq!(with_places(near(), &fast, 9).findings("a.example"), Vec::new());
}

#[test]
fn a_scan_keeps_what_places_said_and_drops_it_after_a_week() {
    let before = with_places(one_place(&[20.0]), &[("fra-1", 12.0, "")], 1);
    let later = |s: i64| LatencyHistory { looks: vec![at(s)], ..one_place(&[20.0]) };
    let merged = merge_latency(Some(&before), later(3600));
    assert_eq!(merged.places, before.places);
    assert_eq!(merge_latency(Some(&merged), later(8 * 86_400)).places, []);
}

#[test]
fn a_slow_parent_is_information() {
    let mut c = one_place(&[30.0; 24]);
    c.servers[0].ms = vec![Some(250.0); 24];
    let found = c.findings("a.example");
    assert_eq!((found.len(), found[0].tag.as_str(), found[0].level), (1, SLOW_PARENT, Level::Info));
    assert_eq!(c.slowest().unwrap().0.server, "a.nic.example");
}

#[test]
fn looks_are_laid_one_after_the_other_and_bounded() {
    let one = |i: i64, ms: f32| LatencyHistory {
        looks: vec![at(i)],
        ..chain(vec![server("z", "n", "192.0.2.1", &[ms])])
    };
    let mut all = one(0, 0.0);
    for i in 1..150 {
        all = merge_latency(Some(&all), one(i, i as f32));
    }
    assert_eq!((all.looks.len(), all.servers[0].ms.len()), (MAX_LOOKS, MAX_LOOKS));
    assert_eq!((all.servers[0].ms[0], all.looks[0]), (Some(54.0), at(54)));
    // Written again, nothing changes.
    assert_eq!(merge_latency(Some(&all), one(149, 149.0)), all);
    // A new server has no past; one that left is gone.
    let mut next = one(150, 1.0);
    next.servers[0].server = "other".into();
    let merged = merge_latency(Some(&all), next);
    assert_eq!((merged.servers.len(), merged.servers[0].stats().unwrap().looks), (1, 1));
}

#[test]
fn what_a_look_does_not_tell_is_kept_and_identifiers_gather() {
    let look = |i: i64, id: &str| {
        let mut c =
            LatencyHistory { looks: vec![at(i)], ..chain(vec![server("z", "n", "192.0.2.1", &[5.0])]) };
        c.add_networks(&[ServerNetwork {
            address: "192.0.2.1".parse().unwrap(),
            asns: if i == 0 { vec![64500] } else { vec![] },
            prefix: (i == 0).then(|| "192.0.2.0/24".into()),
            id: Some(id.into()),
        }]);
        c
    };
    let merged = merge_latency(Some(&look(0, "a")), look(1, "b"));
    let s = &merged.servers[0];
    assert_eq!(s.ids, ["a", "b"]);
    assert!(s.is_anycast() && s.network.as_ref().unwrap().asns == [64500]);
    let same = merge_latency(Some(&look(0, "a")), look(1, "a"));
    assert!(!same.servers[0].is_anycast());
    assert!(anycast(&[&look(0, "a"), &look(0, "b")], s.address) && !anycast(&[&look(0, "a")], s.address));
}

#[test]
fn a_stored_chain_reads_back() {
    let c = one_place(&[180.5; 3]);
    let text = serde_json::to_string(&c).unwrap();
    assert_eq!(serde_json::from_str::<LatencyHistory>(&text).unwrap(), c);
    assert_eq!(serde_json::from_str::<LatencyHistory>("{}").unwrap(), LatencyHistory::default());
}
