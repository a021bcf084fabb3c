//! Recursive resolvers: public ones of invented operators, each with a cache and habits of its own.
//! In: questions over UDP, TCP, TLS and HTTPS, and [`Act`]s. Out: what this resolver believes at this moment.

mod act;
mod answer;
mod cache;
mod doh;
mod json;
mod perform;
pub(crate) mod serve;
mod trust;
mod walk;

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

pub use act::Act;
pub(crate) use act::{read, seconds};
pub(crate) use doh::answer as doh_answer;
use hickory_proto::rr::Record;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    Error, names,
    scenario::{self, Failing, FilterMode},
    world::{Clock, World},
};

/// What can change about a resolver.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub filter: BTreeMap<String, FilterMode>,
    pub failing: Option<Failing>,
    pub geo: Vec<Record>,
    pub clamp: cache::Clamp,
    pub delay: u32,
    pub cache: cache::Cache,
}

/// One resolver.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub about: scenario::Resolver,
    pub ip: Ipv4Addr,
    state: Mutex<State>,
}

impl Resolver {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn failing(&self) -> Option<Failing> {
        self.state().failing
    }

    pub(crate) fn offers(&self, transport: scenario::Transport) -> bool {
        self.about.transports.contains(&transport)
    }
}

/// All of them, and the clock of their caches.
#[derive(Debug)]
pub(crate) struct Resolvers {
    /// In the order of the scenario.
    list: Vec<Resolver>,
    of_host: BTreeMap<String, usize>,
    clock: Clock,
    /// Seconds by which the caches are ahead of the lab.
    ahead: AtomicI64,
}

impl Resolvers {
    pub(crate) fn new(scenario: &scenario::Scenario, world: &World) -> Self {
        let resolver = |about: &scenario::Resolver| {
            let state = State {
                filter: about.filter.clone(),
                failing: about.failing,
                clamp: cache::Clamp {
                    min: about.min_ttl,
                    max: about.max_ttl,
                    max_negative: about.max_negative_ttl,
                },
                delay: about.delay,
                ..State::default()
            };
            let ip = world.ip(&about.host).unwrap_or(Ipv4Addr::LOCALHOST);
            Resolver { about: about.clone(), ip, state: Mutex::new(state) }
        };
        Self {
            list: scenario.resolver.iter().map(resolver).collect(),
            of_host: scenario.resolver.iter().enumerate().map(|(i, r)| (r.host.clone(), i)).collect(),
            clock: world.clock,
            ahead: AtomicI64::new(0),
        }
    }

    pub(crate) fn of_host(&self, host: &str) -> Option<&Resolver> {
        self.of_host.get(host).and_then(|i| self.list.get(*i))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Resolver> {
        self.list.iter()
    }

    /// The time of the caches.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        now.checked_add(SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))).unwrap_or(now)
    }

    /// The caches grow older at once.
    pub(crate) fn advance(&self, by: i64) -> Result<String, Error> {
        let total = self.ahead.load(Ordering::Relaxed).checked_add(by).filter(|t| *t < 3_155_760_000);
        let total = total.ok_or_else(|| Error::Command("that is beyond a century".into()))?;
        self.ahead.store(total, Ordering::Relaxed);
        Ok(format!("the resolvers' caches are {by} s older; for them it is {}", self.now()))
    }

    /// Everything that is remembered and set, for people and tests.
    pub(crate) fn show(&self) -> Value {
        let now = self.now();
        let rows = self.all().map(|resolver| {
            let state = resolver.state();
            let cache: Vec<Value> = state
                .cache
                .rows(now)
                .map(|(name, rtype, left, known)| {
                    let data: Vec<String> = match known {
                        cache::Known::Records(all) => all.iter().map(|r| json::data(&r.data)).collect(),
                        cache::Known::Nothing { .. } => Vec::new(),
                    };
                    json!({
                        "name": names::text(name),
                        "type": rtype.map(|t| t.to_string()),
                        "left": left,
                        "data": data,
                        "negative": matches!(known, cache::Known::Nothing { .. }),
                    })
                })
                .collect();
            json!({
                "id": resolver.about.id,
                "name": resolver.about.name,
                "host": resolver.about.host,
                "address": resolver.ip.to_string(),
                "filter": state.filter,
                "failing": state.failing,
                "geo": state.geo.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "min_ttl": state.clamp.min,
                "max_ttl": state.clamp.max,
                "max_negative_ttl": state.clamp.max_negative,
                "delay": state.delay,
                "cache": cache,
            })
        });
        json!({"now": now.to_string(), "resolvers": rows.collect::<Vec<_>>()})
    }
}
