//! Servers of one zone that do not have the same records: each look reads another one first.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use model::detail::RawAnswer;
use model::dns::{
    AnswerKind, Delegation, RrSet, ServerHealth, ServerSet, ServerState, SetAnswer, ZoneSnapshot,
};
use model::event::EventQuery;
use model::finding::Finding;
use model::ids::{OrgId, Vantage};
use model::item::Ownership;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Hub, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};
use store::NewItem;

const FIELD: &str = "q7.io A";

/// A server: the sets that it gives in turn (one that does not rotate has one), and how it is found.
#[derive(Clone, Debug)]
struct Server {
    sets: Vec<Vec<&'static str>>,
    health: ServerHealth,
    serial: u32,
}

impl Server {
    fn answers(&self) -> bool {
        self.health == ServerHealth::Authoritative
    }

    fn silent(self) -> Server {
        Server { health: ServerHealth::Dead, ..self }
    }
}

fn steady(set: &[&'static str]) -> Server {
    Server { sets: vec![set.to_vec()], health: ServerHealth::Authoritative, serial: 1 }
}

struct State {
    servers: Vec<Server>,
    now: Timestamp,
    /// Of a linear congruential generator: which server answers first, and with which set.
    seed: u64,
    /// Calls that asked every server.
    compared: u32,
    /// The zone's records cannot be read.
    zone_fails: bool,
}

impl State {
    fn of(seed: u64, servers: Vec<Server>) -> State {
        let now = "2026-11-01T14:05:00Z".parse().unwrap();
        State { servers, now, seed, compared: 0, zone_fails: false }
    }

    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.seed >> 33).unwrap() % below
    }

    fn answer(&mut self, server: usize) -> SetAnswer {
        if !self.servers[server].answers() {
            return SetAnswer::Unanswered;
        }
        let turn = self.random(self.servers[server].sets.len());
        let data: Vec<String> = self.servers[server].sets[turn].iter().map(ToString::to_string).collect();
        if data.is_empty() {
            return SetAnswer::Absent;
        }
        SetAnswer::Set(RrSet { name: "q7.io".into(), rtype: "A".into(), ttl: 300, data })
    }
}

struct World(Mutex<State>);

fn delegation(servers: &[Server]) -> Delegation {
    let state = |(i, s): (usize, &Server)| ServerState {
        name: format!("ns{i}.q7.io"),
        address: Some(format!("192.0.2.{i}").parse().unwrap()),
        in_parent: true,
        in_child: true,
        health: s.health,
        kind: AnswerKind::Answer,
        serial: s.answers().then_some(s.serial),
        latency_ms: Some(3.0),
        tcp: Some(true),
        recursion: Some(false),
        nsid: None,
        problems: vec![],
        notes: vec![],
    };
    Delegation {
        zone: "q7.io".into(),
        parent: "io".into(),
        delegated: true,
        parent_ns: vec![],
        child_ns: vec![],
        ds: vec![],
        servers: servers.iter().enumerate().map(state).collect(),
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: model::latency::LatencyHistory::default(),
        notes: vec![],
    }
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::default(), vec![])
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        let mut state = self.0.lock().unwrap();
        let up: Vec<usize> = (0..state.servers.len()).filter(|i| state.servers[*i].answers()).collect();
        let first = up[state.random(up.len())];
        let rrsets = match state.answer(first) {
            SetAnswer::Set(set) => vec![set],
            _ => vec![],
        };
        let zone = ZoneSnapshot { rrsets, ..ZoneSnapshot::default() };
        let failure = PartError { label: "timeout".into(), sentence: "No answer.".into(), retry_at: None };
        DnsParts {
            delegation: Part::good(delegation(&state.servers), now, "dns"),
            zone: match state.zone_fails {
                true => Part::failed(Part::default(), now, failure),
                false => Part::good(zone, now, "dns"),
            },
            ..DnsParts::default()
        }
    }

    async fn record_sets(&self, _: &DomainName, d: &Delegation, fields: &[String]) -> Vec<ServerSet> {
        let mut state = self.0.lock().unwrap();
        state.compared += 1;
        assert_eq!(fields, [FIELD]);
        let up = (0..d.servers.len()).filter(|i| d.servers[*i].health == ServerHealth::Authoritative);
        up.map(|i| ServerSet {
            server: format!("ns{i}.q7.io/192.0.2.{i}"),
            field: FIELD.into(),
            answer: state.answer(i),
        })
        .collect()
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().now
    }
}

struct Stage {
    world: Arc<World>,
    scanner: Scanner,
    name: DomainName,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new(seed: u64, servers: &[Server]) -> Stage {
        let state = State::of(seed, servers.to_vec());
        let now = state.now;
        let world = Arc::new(World(Mutex::new(state)));
        let folder = tempfile::tempdir().unwrap();
        let scanner = Scanner {
            store: store::open(&folder.path().to_string_lossy()).await.unwrap(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        let name = DomainName::trusted("q7.io");
        let item = NewItem {
            name: name.clone(),
            unicode: name.unicode(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        scanner.store.add(OrgId::BUILT_IN, &[item], now).await.unwrap();
        Stage { world, scanner, name, _folder: folder }
    }

    fn serve(&self, servers: &[Server]) {
        self.world.0.lock().unwrap().servers = servers.to_vec();
    }

    /// Scans once an hour, and where something waits again after five minutes.
    async fn hours(&self, n: usize) {
        for _ in 0..n {
            let scanned = self.scanner.scan_in_turn(&self.name, false).await.unwrap();
            let wait = |minutes| self.world.0.lock().unwrap().now += SignedDuration::from_mins(minutes);
            match scanned.again_at {
                Some(at) => {
                    self.world.0.lock().unwrap().now = at;
                    self.scanner.scan_in_turn(&self.name, false).await.unwrap();
                    wait(55);
                }
                None => wait(60),
            }
        }
    }

    async fn events(&self) -> Vec<String> {
        let query = EventQuery { per_page: 200, ..EventQuery::default() };
        let page = self.scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        page.events.iter().rev().map(|e| e.change.sentence()).collect()
    }

    /// The stored set and the findings about it.
    async fn stored(&self) -> (Vec<String>, Vec<Finding>) {
        let o = self.scanner.store.observation(&self.name, &Vantage::local()).await.unwrap().unwrap();
        let zone = o.observation.zone.value.unwrap();
        let data = zone.rrsets.into_iter().flat_map(|set| set.data).collect();
        let ours = |f: &Finding| f.tag == "RECORD_SETS_DIFFER";
        (data, o.observation.findings.into_iter().filter(ours).collect())
    }

    fn compared(&self) -> u32 {
        self.world.0.lock().unwrap().compared
    }
}

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
