//! Servers of one zone that do not have the same records: each look reads another one first.

mod stage;
#[path = "../support/mod.rs"]
mod support;

use model::dns::ServerHealth;
use stage::{FIELD, Server, Stage, State, steady};

/// Two primaries with different sets, a random one first in each look, for thirty days: one finding, and no event after the
/// first.
#[tokio::test]
async fn primaries_that_disagree_are_one_finding() {
    let sets: [(&[&str], &[&str]); 3] = [
        (&["198.51.100.1"], &["198.51.100.2"]),
        (&["198.51.100.1", "198.51.100.2"], &["198.51.100.1"]),
        (&["198.51.100.1"], &[]),
    ];
    for (seed, (a, b)) in (1..).zip(sets) {
        let s = Stage::new(seed, &[steady(a), steady(b)]).await;
        s.hours(24).await;
        let first_day = s.events().await;
        assert!(first_day.len() <= 1, "{first_day:?}");
        for _ in 0..29 {
            s.hours(24).await;
            assert_eq!(s.events().await, first_day, "{a:?} {b:?}");
            let (data, findings) = s.stored().await;
            assert_eq!(findings.len(), 1, "{findings:?}");
            let mut union: Vec<&str> = a.iter().chain(b).copied().collect();
            union.sort_unstable();
            union.dedup();
            assert_eq!(data, union);
        }
        let (_, findings) = s.stored().await;
        let words = findings[0].words();
        let lacking = a.iter().find(|d| !b.contains(d)).unwrap();
        assert!(words.contains(&format!("ns1.q7.io/192.0.2.1 lacks {lacking}")), "{words}");
        // They agree again: the finding ends, and what is gone is one event.
        s.serve(&[steady(a), steady(a)]);
        s.hours(2).await;
        let shrinks = usize::from(!b.iter().all(|d| a.contains(d)));
        assert_eq!(s.events().await.len(), first_day.len() + shrinks);
        assert!(s.stored().await.1.is_empty());
    }
}

/// A scan in which nothing differs asks no further server; a change is read from all of them and told once.
#[tokio::test]
async fn a_quiet_scan_asks_one_server() {
    let s = Stage::new(9, &[steady(&["198.51.100.1"]), steady(&["198.51.100.1"])]).await;
    s.hours(48).await;
    assert_eq!((s.compared(), s.events().await.len()), (0, 0));
    s.serve(&[steady(&["198.51.100.7"]), steady(&["198.51.100.7"])]);
    s.hours(48).await;
    let events = s.events().await;
    assert!(events.len() == 1 && events[0].contains("from 198.51.100.1 to 198.51.100.7"), "{events:?}");
    assert_eq!(s.compared(), 2, "the look that saw it, and the one that confirmed it");
}

/// Serials that differ say at the first look that the servers may not agree: there is no event at all.
#[tokio::test]
async fn other_serials_are_a_reason_to_ask_all() {
    let newer = Server { serial: 2, ..steady(&["198.51.100.2"]) };
    let s = Stage::new(5, &[steady(&["198.51.100.1"]), newer]).await;
    s.hours(72).await;
    assert!(s.events().await.is_empty(), "{:?}", s.events().await);
    assert_eq!(s.stored().await.1.len(), 1);
}

/// One of two primaries that disagree falls silent: its records are not known to be gone.
#[tokio::test]
async fn a_server_that_is_silent_takes_nothing_away() {
    let (a, b) = (steady(&["198.51.100.1"]), steady(&["198.51.100.2"]));
    let s = Stage::new(3, &[a.clone(), b.clone()]).await;
    s.hours(24).await;
    let records = |events: Vec<String>| events.into_iter().filter(|e| e.starts_with(FIELD)).count();
    let before = records(s.events().await);
    s.serve(&[a, b.silent()]);
    s.hours(24).await;
    assert_eq!(records(s.events().await), before, "{:?}", s.events().await);
    let (data, findings) = s.stored().await;
    assert_eq!((data.len(), findings.len()), (2, 1));
    // A set that is new is a change nevertheless.
    s.serve(&[steady(&["198.51.100.9"]), steady(&[]).silent()]);
    s.hours(2).await;
    assert_eq!(records(s.events().await), before + 1, "{:?}", s.events().await);
}

/// A server that was not asked (by IPv6, where there is none) or that never had the records keeps no disagreement open.
#[tokio::test]
async fn a_disagreement_ends_although_some_address_is_not_asked() {
    let (a, b) = (steady(&["198.51.100.1"]), steady(&["198.51.100.2"]));
    for health in [ServerHealth::NotAsked, ServerHealth::Unresolvable] {
        let other = Server { health, ..b.clone() };
        let s = Stage::new(13, &[a.clone(), b.clone(), other.clone()]).await;
        s.hours(24).await;
        assert_eq!(s.stored().await.1.len(), 1);
        s.serve(&[a.clone(), a.clone(), other]);
        s.hours(2).await;
        assert!(s.stored().await.1.is_empty(), "{health:?}: {:?}", s.stored().await);
    }
}

/// A look that could not read the zone knows as much of a disagreement as the one before.
#[tokio::test]
async fn a_zone_that_could_not_be_read_keeps_the_finding() {
    let s = Stage::new(17, &[steady(&["198.51.100.1"]), steady(&["198.51.100.2"])]).await;
    s.hours(24).await;
    s.world.0.lock().unwrap().zone_fails = true;
    s.hours(2).await;
    let (data, findings) = s.stored().await;
    assert_eq!((data.len(), findings.len()), (2, 1));
}

/// Servers that each count their own serials are compared when a serial moves, not in every scan.
#[tokio::test]
async fn serials_that_always_differ_are_asked_about_when_they_move() {
    let other = |serial| Server { serial, ..steady(&["198.51.100.1"]) };
    let s = Stage::new(19, &[other(7), other(9)]).await;
    s.hours(48).await;
    assert_eq!((s.compared(), s.events().await.len()), (1, 0));
    s.serve(&[other(7), other(10)]);
    s.hours(48).await;
    assert_eq!((s.compared(), s.events().await.len()), (2, 0));
}

/// Two servers that each give one of the same two addresses by chance.
#[tokio::test]
async fn two_servers_that_rotate_over_two_records_do_not_disagree() {
    let rotating = Server { sets: vec![vec!["198.51.100.1"], vec!["198.51.100.2"]], ..steady(&[]) };
    let mut found = 0;
    for seed in 0..4 {
        let s = Stage::new(seed, &[rotating.clone(), rotating.clone()]).await;
        for _ in 0..50 {
            s.hours(1).await;
            found += s.stored().await.1.len();
        }
        assert!(s.events().await.len() <= 3, "{:?}", s.events().await);
    }
    assert!(found <= 8, "{found} of 200 looks were taken for a disagreement");
}

/// A load balancer that gives another address each time is no disagreement: nothing is united.
#[tokio::test]
async fn a_set_that_rotates_is_not_united() {
    let pool: Vec<Vec<&'static str>> = [
        "198.51.100.1",
        "198.51.100.2",
        "198.51.100.3",
        "198.51.100.4",
        "198.51.100.5",
        "198.51.100.6",
        "198.51.100.7",
        "198.51.100.8",
    ]
    .map(|a| vec![a])
    .to_vec();
    let rotating = Server { sets: pool, ..steady(&[]) };
    let s = Stage::new(7, &[rotating.clone(), rotating.clone(), rotating]).await;
    let mut found = 0;
    for _ in 0..200 {
        s.hours(1).await;
        found += s.stored().await.1.len();
    }
    assert!(found <= 5, "{found} of 200 looks were taken for a disagreement");
    assert!(s.events().await.len() <= 3, "{:?}", s.events().await);
}

/// Any servers, each with any of the records, whose sets change now and then and which fall silent now and then: each time
/// their union changes is one event at most, and while it stays there is none.
#[tokio::test]
async fn whatever_servers_have_each_union_is_told_once() {
    const RECORDS: [&str; 3] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];
    let mut told = 0;
    for seed in 0..10 {
        let mut dice = State::of(seed, vec![]);
        let count = 2 + dice.random(3);
        let mut servers = vec![steady(&[RECORDS[0]]); count];
        let s = Stage::new(seed, &servers).await;
        s.hours(3).await;
        let (mut said, mut known) = (s.events().await, s.stored().await.0);
        for phase in 1..=8 {
            let history = format!("seed {seed}, phase {phase}: {known:?} to {servers:?}");
            for server in &mut servers {
                server.sets = vec![RECORDS.into_iter().filter(|_| dice.random(2) == 0).collect()];
                // Their serials say at times that they differ, and say nothing at others.
                server.serial = phase * 2 + u32::from(dice.random(3) == 0);
            }
            let now = union_of(&servers);
            s.serve(&servers);
            s.hours(8).await;
            let (data, findings) = s.stored().await;
            let at_once = s.events().await;
            let is_read = data == now;
            assert!(is_read || data == known, "{history}: {data:?}");
            let new = usize::from(data != known);
            assert_eq!(at_once.len(), said.len() + new, "{history} to {servers:?}: {at_once:#?}");
            let agree = servers.iter().all(|x| x.sets == servers[0].sets);
            assert!(!agree || findings.is_empty(), "{history}: {findings:?}");
            if is_read {
                told += new;
                // Some are silent, one answers.
                let up = dice.random(count);
                let quiet = |(i, server): (usize, &Server)| match i == up || dice.random(2) == 0 {
                    true => server.clone(),
                    false => server.clone().silent(),
                };
                let quiet: Vec<Server> = servers.iter().enumerate().map(quiet).collect();
                s.serve(&quiet);
                s.hours(4).await;
                s.serve(&servers);
                s.hours(8).await;
                let of_records = |all: &[String]| all.iter().filter(|e| e.starts_with(FIELD)).count();
                let after = s.events().await;
                assert_eq!(
                    of_records(&after),
                    of_records(&at_once),
                    "{history}: silent {quiet:?}: {after:#?}"
                );
                assert_eq!(s.stored().await.0, now, "{history}");
            }
            (said, known) = (s.events().await, s.stored().await.0);
        }
    }
    assert!(told > 25, "{told}");
}

fn union_of(servers: &[Server]) -> Vec<&'static str> {
    let all: std::collections::BTreeSet<_> = servers.iter().flat_map(|s| s.sets[0].iter().copied()).collect();
    all.into_iter().collect()
}
