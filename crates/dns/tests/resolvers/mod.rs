//! The lab with its recursive resolvers, an engine and a comparer in front of it, and a clock that moves their caches.

#[path = "../support/mod.rs"]
mod support;

use async_trait::async_trait;
use dns::Engine;
use dns::compare::{Clock, Comparer};
use dns::recursive::{Patience, Recursive};
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use model::compare::{Comparison, Judged};
use model::names::Fqdn;
use model::resolvers::PublicResolver;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub const NOW: &str = "2026-11-20T14:05:00Z";

/// A clock that waits by moving the lab's caches, and does something on the way when told so.
pub struct LabClock {
    lab: Arc<Lab>,
    now: Mutex<Timestamp>,
    /// Commands given to the lab once this time is reached.
    pub plan: Mutex<Vec<(Timestamp, String)>>,
    /// Every wait, in seconds.
    pub waits: Mutex<Vec<i64>>,
}

#[async_trait]
impl Clock for LabClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let seconds = at.as_second() - self.now().as_second();
        if seconds <= 0 {
            return;
        }
        self.waits.lock().unwrap().push(seconds);
        self.lab.apply(format!("advance {seconds}s").parse().unwrap()).await.unwrap();
        *self.now.lock().unwrap() = at;
        let due: Vec<String> = {
            let mut plan = self.plan.lock().unwrap();
            let (due, later) = plan.drain(..).partition(|(t, _)| *t <= at);
            *plan = later;
            due.into_iter().map(|(_, c)| c).collect()
        };
        for command in due {
            self.lab.apply(command.parse().unwrap()).await.unwrap();
        }
    }
}

/// Names through the engine, as in a closed network.
struct Names(Engine);

#[async_trait]
impl net::Resolve for Names {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

pub struct World {
    pub lab: Arc<Lab>,
    pub engine: Engine,
    pub recursive: Recursive,
    pub rows: Vec<PublicResolver>,
    pub clock: Arc<LabClock>,
    _dir: TempDir,
}

pub async fn world(scenario: &str) -> World {
    let dir = TempDir::new().unwrap();
    let options = Options::new(Scenario::named(scenario).unwrap(), dir.path(), NOW.parse().unwrap());
    let lab = Arc::new(Lab::start(options).await.unwrap());
    let at = lab.endpoints();
    let settings = support::settings(&lab);
    let engine = Engine::new(settings.clone());
    let dialer = net::Dialer::new(net::Settings {
        resolver: Arc::new(Names(engine.clone())),
        allow_private: true,
        extra_ca: Some(std::fs::read(&at.extra_ca).unwrap()),
        address_map: settings.address_map.clone(),
        ..net::Settings::default()
    })
    .unwrap();
    let patience = Patience {
        https: Duration::from_secs(3),
        tls: Duration::from_secs(3),
        plain: Duration::from_millis(800),
    };
    let recursive = Recursive::new(dialer, &settings).with_patience(patience);
    let rows = model::resolvers::parse(&std::fs::read_to_string(&at.resolvers).unwrap()).unwrap();
    let clock = Arc::new(LabClock {
        lab: lab.clone(),
        now: Mutex::new(NOW.parse().unwrap()),
        plan: Mutex::default(),
        waits: Mutex::default(),
    });
    World { lab, engine, recursive, rows, clock, _dir: dir }
}

impl World {
    pub fn comparer(&self) -> Comparer {
        Comparer::new(self.engine.clone(), self.recursive.clone(), self.rows.clone(), self.clock.clone())
    }

    pub async fn command(&self, command: &str) {
        self.lab.apply(command.parse().unwrap()).await.unwrap();
    }

    pub fn row(&self, id: &str) -> PublicResolver {
        self.rows.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("no resolver {id}")).clone()
    }
}

pub fn of<'a>(comparison: &'a Comparison, id: &str) -> &'a Judged {
    comparison.answers.iter().find(|j| j.resolver.id == id).unwrap_or_else(|| panic!("no resolver {id}"))
}
