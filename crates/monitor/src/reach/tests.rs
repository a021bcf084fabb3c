//! Scripted scans of operators that fail alone and together.

use super::*;
use model::dns::AnswerKind;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
}

fn server(name: &str, address: &str, dead: bool) -> ServerState {
    ServerState {
        name: name.into(),
        address: Some(address.parse().unwrap()),
        in_parent: true,
        in_child: true,
        health: if dead { ServerHealth::Dead } else { ServerHealth::Authoritative },
        kind: AnswerKind::Answer,
        serial: None,
        latency_ms: None,
        tcp: None,
        recursion: None,
        nsid: None,
        problems: vec![],
        notes: vec![],
    }
}

fn delegation(servers: Vec<ServerState>) -> Delegation {
    Delegation {
        zone: "q7.example".into(),
        parent: "example".into(),
        delegated: true,
        parent_ns: vec![],
        child_ns: vec![],
        ds: vec![],
        servers,
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: model::latency::LatencyHistory::default(),
        notes: vec![],
    }
}

fn begin() -> Instant {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *BEGIN.get_or_init(Instant::now)
}

/// The time that runs whatever the clock is set to.
fn passed(minute: i64) -> Instant {
    begin() + Duration::from_secs(60 * u64::try_from(minute).unwrap())
}

fn silent(servers: &[ServerState]) -> Vec<String> {
    servers.iter().filter(|s| s.health == ServerHealth::Dead).map(ServerState::field).collect()
}

/// A scan of a zone with these servers, those that are silent having answered before.
fn scan_zone(reach: &mut Reach, zone: &str, servers: Vec<ServerState>, minute: i64) -> bool {
    scan_by(reach, (zone, 3_600), servers, minute)
}

/// The same of a zone that is scanned so often.
fn scan_by(
    reach: &mut Reach,
    (zone, interval_s): (&str, i64),
    servers: Vec<ServerState>,
    minute: i64,
) -> bool {
    let ceased = silent(&servers);
    let seen = Delegation { zone: zone.into(), ..delegation(servers) };
    reach.note(&seen, &ceased, interval_s, at(minute));
    reach.counted = None;
    reach.fault(passed(minute)).is_some()
}

/// The servers of this operator, in two networks; `down`: the IPv4, the IPv6 one.
fn servers_of(operator: u8, down: (bool, bool)) -> Vec<ServerState> {
    let name = format!("ns1.operator{operator}.example");
    vec![
        server(&name, &format!("192.0.{operator}.1"), down.0),
        server(&name, &format!("2001:db8:{operator}::1"), down.1),
    ]
}

/// A scan of a domain of this operator.
fn scan(reach: &mut Reach, operator: u8, down: (bool, bool), minute: i64) -> bool {
    scan_zone(reach, &format!("d{operator}.example"), servers_of(operator, down), minute)
}

#[test]
fn many_networks_that_cease_at_once_are_a_fault_of_ours_until_they_answer() {
    let mut reach = Reach::default();
    for operator in 1..=10 {
        assert!(!scan(&mut reach, operator, (false, false), operator.into()));
    }
    // IPv6 leads nowhere: half of the networks.
    let said: Vec<bool> = (1..=10).map(|o| scan(&mut reach, o, (false, true), 60 + i64::from(o))).collect();
    assert_eq!(said[..5], [false, false, false, true, true]);
    assert!(said[5..].iter().all(|s| *s) && reach.fault(passed(70)).unwrap().0 == at(64));
    // One after the other answers again; a single one that stays silent is its own fault.
    let said: Vec<bool> = (1..=9).map(|o| scan(&mut reach, o, (false, false), 120 + i64::from(o))).collect();
    assert!(said[0] && !said[8], "{said:?}");
    assert!(!scan(&mut reach, 10, (false, true), 130));
}

/// Domains that are scanned once a day find it in the course of hours; how often other domains are scanned says nothing
/// about them.
#[test]
fn a_network_counts_for_as_long_as_the_interval_of_the_domain_that_found_it() {
    for (interval_s, is_fault) in [(3_600, false), (86_400, true)] {
        let mut reach = Reach::default();
        for operator in 1..=4 {
            let zone = format!("d{operator}.example");
            assert!(!scan_by(&mut reach, (&zone, interval_s), servers_of(operator, (false, false)), 0));
        }
        let mut found = false;
        for operator in 1..=4 {
            let zone = format!("d{operator}.example");
            let minute = 600 + 100 * i64::from(operator);
            found = scan_by(&mut reach, (&zone, interval_s), servers_of(operator, (false, true)), minute);
        }
        assert_eq!(found, is_fault, "scans every {interval_s} s");
        // Another domain, which is scanned every quarter of an hour.
        let other = servers_of(5, (false, false));
        assert_eq!(scan_by(&mut reach, ("often.example", 900), other, 1_001), is_fault, "{interval_s} s");
    }
}

#[test]
fn few_servers_and_a_single_operator_are_not() {
    let mut reach = Reach::default();
    for operator in 1..=20 {
        scan(&mut reach, operator, (false, false), 0);
    }
    for operator in 1..=20 {
        let down = operator <= 3;
        assert!(!scan(&mut reach, operator, (down, false), 60), "three of forty");
    }
    // One operator with servers in six networks, all of which fail.
    let mut reach = Reach::default();
    let servers: Vec<_> = (1..=6).map(|n| server("ns.one.example", &format!("192.0.{n}.1"), true)).collect();
    for zone in ["a.example", "b.example", "c.example"] {
        assert!(!scan_zone(&mut reach, zone, servers.clone(), 0));
    }
}

#[test]
fn few_domains_are_no_evidence_however_many_servers_and_names_they_have() {
    // Two domains with servers in eight networks each, of two operators.
    let mut reach = Reach::default();
    let many = |operator: u8| -> Vec<_> {
        let name = format!("ns.operator{operator}.example");
        (1..=8).map(|n| server(&name, &format!("10.{operator}.{n}.1"), true)).collect()
    };
    for minute in 0..3 {
        assert!(!scan_zone(&mut reach, "one.example", many(1), minute));
        assert!(!scan_zone(&mut reach, "two.example", many(2), minute));
    }
    // One of three domains' servers in a network answers, and another one does not.
    let mut reach = Reach::default();
    for zone in 1..=6_u8 {
        let name = format!("ns.operator{zone}.example");
        let both = ["1", "2"].map(|n| server(&name, &format!("192.0.{zone}.{n}"), n == "2"));
        assert!(!scan_zone(&mut reach, &format!("d{zone}.example"), both.to_vec(), 0));
    }
    // Servers of one owner, with names below two domains.
    let mut reach = Reach::default();
    let own = || -> Vec<_> {
        let names = ["ns1.foo.com", "ns1.foo.com", "ns2.foo.net", "ns2.foo.net"];
        let networks = ["192.0.2.1", "2001:db8:1::1", "198.51.100.1", "2001:db8:2::1"];
        names.into_iter().zip(networks).map(|(name, address)| server(name, address, true)).collect()
    };
    for zone in ["foo.com", "foo.net", "foo.org", "foo.info"] {
        assert!(!scan_zone(&mut reach, zone, own(), 0), "{zone}");
    }
    // Known providers tell servers apart.
    let mut reach = Reach::default();
    let mut known = own();
    for (i, s) in known.iter_mut().enumerate() {
        s.name = [
            "ns1.digitalocean.com",
            "ns1.digitalocean.com",
            "ada.ns.cloudflare.com",
            "ada.ns.cloudflare.com",
        ][i]
            .into();
    }
    let said = ["a.com", "b.com", "c.com"].map(|zone| scan_zone(&mut reach, zone, known.clone(), 1));
    assert_eq!(said, [false, false, true]);
}

#[test]
fn silence_is_held_back_for_six_hours_and_not_once_more() {
    let mut reach = Reach::default();
    // Six operators fail for good, and are found silent each hour, as long as that is not reported.
    let down = (true, true);
    for operator in 1..=6 {
        scan(&mut reach, operator, down, operator.into());
    }
    let since = reach.fault(passed(6)).unwrap().0;
    let six = silent(&servers_of(6, down));
    assert_eq!(reach.hold(&six, at(7), passed(7)), Some(at(3 + 360)));
    assert_eq!((since, reach.hold(&[], at(7), passed(7))), (at(3), None));
    for hour in 1..6 {
        assert!((1..=6).all(|o| scan(&mut reach, o, down, 60 * hour + i64::from(o))), "{hour} h");
    }
    for hour in 6..48 {
        let said: Vec<_> =
            (1..=6).map(|o| scan(&mut reach, o, down, 60 * hour + 10 + i64::from(o))).collect();
        assert_eq!(said, [false; 6], "{hour} h");
        let minute = 60 * hour + 20;
        assert_eq!(reach.hold(&six, at(minute), passed(minute)), None);
    }
    assert_eq!(reach.held_since(&six[..1]), Some(at(3)));
    // Once they answered, a fault may begin again.
    for operator in 1..=6 {
        scan(&mut reach, operator, (false, false), 3_000 + i64::from(operator));
    }
    assert_eq!(reach.held_since(&six[..1]), None);
    let said: Vec<_> = (1..=6).map(|o| scan(&mut reach, o, down, 3_060 + i64::from(o))).collect();
    assert!(said[5], "{said:?}");
}

#[test]
fn networks_are_counted_once_a_second_and_the_oldest_are_forgotten() {
    let mut reach = Reach::default();
    let note = |reach: &mut Reach, operator: u8, now| {
        let servers = servers_of(operator, (true, true));
        let (zone, ceased) = (format!("d{operator}.example"), silent(&servers));
        reach.note(&Delegation { zone, ..delegation(servers) }, &ceased, 3_600, now);
    };
    note(&mut reach, 1, at(0));
    assert!(reach.fault(begin()).is_none());
    for operator in 2..=6 {
        note(&mut reach, operator, at(0));
    }
    assert!(reach.fault(begin() + Duration::from_millis(900)).is_none(), "counted just now");
    assert!(reach.fault(begin() + Duration::from_secs(1)).is_some());
    // More networks than are remembered.
    for n in 0..REMEMBERED {
        let address = format!("10.{}.{}.1", n / 250, n % 250);
        reach.note(&delegation(vec![server("ns.new.example", &address, false)]), &[], 3_600, at(1));
    }
    assert!(reach.networks.len() <= REMEMBERED);
    let is_known = |address: &str| reach.networks.contains_key(&network(address.parse().unwrap()));
    assert!(is_known("10.19.249.1") && !is_known("192.0.1.1"));
}

#[test]
fn what_was_silent_before_counts_for_nothing() {
    let mut reach = Reach::default();
    for operator in 1..=10_u8 {
        let servers = vec![server("ns", &format!("192.0.{operator}.1"), true)];
        let zone = format!("d{operator}.example");
        reach.note(&Delegation { zone, ..delegation(servers) }, &[], 3_600, at(0));
    }
    assert!(reach.fault(begin()).is_none());
}

/// What another process found holds nothing back where nearly all networks answer; until they were asked it does.
#[test]
fn a_fault_of_another_process_counts_where_networks_do_not_answer() {
    let dead = server("ns1.dead.example", "203.0.113.1", true);
    let ceased = [dead.field()];
    let hold = |reach: &mut Reach, minute| {
        let servers = [dead.clone(), server("ns2.dead.example", "198.51.100.1", false)];
        reach.note(&delegation(servers.to_vec()), &ceased, 3_600, at(minute));
        reach.hold(&ceased, at(minute), passed(minute)).is_some()
    };
    let mut reach = Reach { remote: Some((at(0), at(90))), ..Reach::default() };
    assert!(hold(&mut reach, 1), "a process that has just started");
    for operator in 1..=10 {
        scan(&mut reach, operator, (false, false), 2);
    }
    assert!(!hold(&mut reach, 3));
    // IPv6 is out of reach here too.
    for operator in 1..=10 {
        scan(&mut reach, operator, (false, operator < 4), 4);
    }
    assert!(hold(&mut reach, 5));
}
