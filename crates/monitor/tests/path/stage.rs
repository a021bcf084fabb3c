//! A registry that answers what a test says, a domain that is scanned, and a clock that the test moves.

use crate::support;
use async_trait::async_trait;
use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::event::{EventKind, EventQuery};
use model::ids::OrgId;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::{Party, Protocol, Registration, RegistrationState};
use monitor::observer::{InTurn, Progress};
use monitor::{Clock, DnsParts, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};

/// What the registry answers now, and what time it is.
pub struct World {
    pub answer: Mutex<Result<Registration, &'static str>>,
    /// The registry has no room for the schedule until then, by our own limits.
    pub no_room: Mutex<Option<Timestamp>>,
    /// How often the DNS and the registry were looked at.
    pub looks: Mutex<(u32, u32)>,
    pub now: Mutex<Timestamp>,
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        self.looks.lock().unwrap().1 += 1;
        let raw = |body: &str| RawAnswer {
            protocol: Protocol::Rdap,
            party: Party::Registry,
            server: "rdap.nic.io".into(),
            at: now,
            body: body.into(),
        };
        match self.answer.lock().unwrap().clone() {
            Ok(r) => {
                let body = r.expires.map(|e| e.to_string()).unwrap_or_default();
                let state = RegistrationState::Registered(Box::new(r));
                (Part::good(state, now, "RDAP rdap.nic.io"), vec![raw(&body)])
            }
            Err(sentence) => {
                let error = PartError { label: "timeout".into(), sentence: sentence.into(), retry_at: None };
                let part = Part { attempted_at: Some(now), error: Some(error), ..Part::default() };
                (part, vec![raw("garbage")])
            }
        }
    }

    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        let no_room = *self.no_room.lock().unwrap();
        if let Some(at) = no_room.filter(|at| *at > now) {
            let error =
                PartError { label: "throttled".into(), sentence: "our own limit".into(), retry_at: Some(at) };
            let part = Part { attempted_at: Some(now), error: Some(error), ..Part::default() };
            return InTurn { part, raw: vec![], later: true };
        }
        let (part, raw) = self.registration(name, now, progress).await;
        InTurn { part, raw, later: false }
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        self.looks.lock().unwrap().0 += 1;
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

pub struct Stage {
    pub world: Arc<World>,
    pub scanner: Scanner,
    pub name: DomainName,
    _folder: tempfile::TempDir,
}

pub fn registration(expires: &str) -> Registration {
    Registration {
        name: Some("q7.io".into()),
        expires: Some(expires.parse().unwrap()),
        statuses: Some(["clientTransferProhibited".into()].into()),
        ..Registration::default()
    }
}

impl Stage {
    pub async fn new() -> Stage {
        let world = Arc::new(World {
            answer: Mutex::new(Ok(registration("2029-07-06T13:58:57Z"))),
            no_room: Mutex::new(None),
            looks: Mutex::default(),
            now: Mutex::new("2026-11-20T14:05:00Z".parse().unwrap()),
        });
        let folder = tempfile::tempdir().unwrap();
        let scanner = support::scanner(&folder, world.clone(), world.clone(), Policy::default()).await;
        let stage = Stage { world, scanner, name: DomainName::trusted("q7.io"), _folder: folder };
        support::own(&stage.scanner, OrgId::BUILT_IN, std::slice::from_ref(&stage.name)).await;
        stage
    }

    pub fn later(&self, hours: i64) {
        let mut now = self.world.now.lock().unwrap();
        *now += hours.hours();
    }

    pub fn world_is(&self, answer: Result<Registration, &'static str>) {
        *self.world.answer.lock().unwrap() = answer;
    }

    pub async fn events(&self) -> Vec<EventKind> {
        let query = EventQuery { page: 1, per_page: 50, ..EventQuery::default() };
        let page = self.scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        page.events.iter().map(|e| e.change.kind).collect()
    }

    pub async fn raw(&self) -> Vec<String> {
        let newest = self.scanner.store.snapshots(OrgId::BUILT_IN, &self.name, 1).await.unwrap()[0].id;
        let raw = self.scanner.store.raw(OrgId::BUILT_IN, &self.name, newest).await.unwrap();
        raw.into_iter().map(|r| r.body).collect()
    }
}
