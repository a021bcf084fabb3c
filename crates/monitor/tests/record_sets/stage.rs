//! A zone whose servers have what a test says, in the order of a seed, and a clock that the test moves.

use crate::support;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use model::detail::RawAnswer;
use model::dns::{
    AnswerKind, Delegation, RrSet, ServerHealth, ServerSet, ServerState, SetAnswer, ZoneSnapshot,
};
use model::event::EventQuery;
use model::finding::Finding;
use model::ids::{OrgId, Vantage};
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};

pub const FIELD: &str = "q7.io A";

/// A server: the sets that it gives in turn (one that does not rotate has one), and how it is found.
#[derive(Clone, Debug)]
pub struct Server {
    pub sets: Vec<Vec<&'static str>>,
    pub health: ServerHealth,
    pub serial: u32,
}

impl Server {
    pub fn answers(&self) -> bool {
        self.health == ServerHealth::Authoritative
    }

    pub fn silent(self) -> Server {
        Server { health: ServerHealth::Dead, ..self }
    }
}

pub fn steady(set: &[&'static str]) -> Server {
    Server { sets: vec![set.to_vec()], health: ServerHealth::Authoritative, serial: 1 }
}

pub struct State {
    pub servers: Vec<Server>,
    pub now: Timestamp,
    /// Of a linear congruential generator: which server answers first, and with which set.
    pub seed: u64,
    /// Calls that asked every server.
    pub compared: u32,
    /// The zone's records cannot be read.
    pub zone_fails: bool,
}

impl State {
    pub fn of(seed: u64, servers: Vec<Server>) -> State {
        let now = "2026-11-01T14:05:00Z".parse().unwrap();
        State { servers, now, seed, compared: 0, zone_fails: false }
    }

    pub fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.seed >> 33).unwrap() % below
    }

    pub fn answer(&mut self, server: usize) -> SetAnswer {
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

pub struct World(pub Mutex<State>);

pub fn delegation(servers: &[Server]) -> Delegation {
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

pub struct Stage {
    pub world: Arc<World>,
    pub scanner: Scanner,
    pub name: DomainName,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub async fn new(seed: u64, servers: &[Server]) -> Stage {
        let world = Arc::new(World(Mutex::new(State::of(seed, servers.to_vec()))));
        let folder = tempfile::tempdir().unwrap();
        let scanner = support::scanner(&folder, world.clone(), world.clone(), Policy::default()).await;
        let name = DomainName::trusted("q7.io");
        support::own(&scanner, OrgId::BUILT_IN, std::slice::from_ref(&name)).await;
        Stage { world, scanner, name, _folder: folder }
    }

    pub fn serve(&self, servers: &[Server]) {
        self.world.0.lock().unwrap().servers = servers.to_vec();
    }

    /// Scans once an hour, and where something waits again after five minutes.
    pub async fn hours(&self, n: usize) {
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

    pub async fn events(&self) -> Vec<String> {
        let query = EventQuery { per_page: 200, ..EventQuery::default() };
        let page = self.scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        page.events.iter().rev().map(|e| e.change.sentence()).collect()
    }

    /// The stored set and the findings about it.
    pub async fn stored(&self) -> (Vec<String>, Vec<Finding>) {
        let o = self.scanner.store.observation(&self.name, &Vantage::local()).await.unwrap().unwrap();
        let zone = o.observation.zone.value.unwrap();
        let data = zone.rrsets.into_iter().flat_map(|set| set.data).collect();
        let ours = |f: &Finding| f.tag == "RECORD_SETS_DIFFER";
        (data, o.observation.findings.into_iter().filter(ours).collect())
    }

    pub fn compared(&self) -> u32 {
        self.world.0.lock().unwrap().compared
    }
}
