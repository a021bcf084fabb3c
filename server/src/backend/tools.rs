//! The analysis tools behind pages, API and live streams: comparison, watch, FQDN analyzer, and how often a caller may
//! use them. In: a caller and what was typed. Out: the model's types, or a sentence.

use super::{Product, may_write, not_asked, unavailable};
use app::answer::{Answer, Failure};
use dns::compare::{Asking, Comparer};
use dns::fqdn::{Here, Vantage as Place, analyze};
use model::compare::{Comparison, Earlier};
use model::fqdn::FqdnReport;
use model::ids::{Caller, Vantage};
use model::names::Fqdn;
use model::observation::Observation;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Kept states that are read for values a name had before.
const STATES_READ: usize = 10;
/// Comparisons, analyses and checks of one caller at the same time; a watch is one as long as it lasts.
const AT_ONCE: usize = 3;
/// How many of them in [`WINDOW`]: a comparison asks some forty strangers, a check asks each server everything.
const IN_WINDOW: usize = 20;
const WINDOW: Duration = Duration::from_secs(60);
/// Callers that are remembered.
const CALLERS: usize = 10_000;

/// What the tools need beyond the engine. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    /// Compares authoritative servers and resolvers.
    pub comparer: Comparer,
    limits: Arc<Limits>,
}

impl Tools {
    /// With this comparer and fresh limits.
    pub fn new(comparer: Comparer) -> Self {
        Tools { comparer, limits: Arc::default() }
    }

    /// Leave for one of them; given back when dropped.
    ///
    /// # Errors
    /// [`Failure::TooMany`] with the seconds to wait.
    pub fn enter(&self, caller: &Caller) -> Answer<Leave> {
        self.limits.enter(&format!("{}/{}", caller.org, caller.who), Instant::now())
    }
}

#[derive(Debug, Default)]
struct Limits {
    callers: Mutex<HashMap<String, Use>>,
}

#[derive(Debug, Default)]
struct Use {
    running: usize,
    starts: VecDeque<Instant>,
}

/// Leave for one look-up.
#[derive(Debug)]
pub struct Leave {
    limits: Arc<Limits>,
    key: String,
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut callers = self.limits.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(u) = callers.get_mut(&self.key) {
            u.running = u.running.saturating_sub(1);
        }
    }
}

impl Limits {
    fn enter(self: &Arc<Self>, key: &str, now: Instant) -> Answer<Leave> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS {
            callers.retain(|_, u| {
                u.running > 0 || u.starts.back().is_some_and(|t| now.duration_since(*t) < WINDOW)
            });
        }
        let u = callers.entry(key.to_string()).or_default();
        while u.starts.front().is_some_and(|t| now.duration_since(*t) >= WINDOW) {
            u.starts.pop_front();
        }
        if u.running >= AT_ONCE {
            return Err(Failure::TooMany(format!(
                "{AT_ONCE} look-ups of yours are running already. Wait for one of them, or close its page."
            )));
        }
        if u.starts.len() >= IN_WINDOW {
            let wait = u.starts.front().map_or(WINDOW, |t| WINDOW.saturating_sub(now.duration_since(*t)));
            return Err(Failure::TooMany(format!(
                "That was {IN_WINDOW} look-ups within a minute; each asks many servers. Try again in {} s.",
                wait.as_secs() + 1
            )));
        }
        u.running += 1;
        u.starts.push_back(now);
        Ok(Leave { limits: self.clone(), key: key.to_string() })
    }
}

fn invalid(e: &dyn std::fmt::Display) -> Failure {
    Failure::Invalid(e.to_string())
}

impl Product {
    /// What is to be compared, with the values the inventory knows of from before.
    ///
    /// # Errors
    /// [`Failure::Invalid`] for what is no name, [`Failure::Forbidden`], or a store that does not answer.
    pub async fn asking(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> Answer<Asking> {
        may_write(caller)?;
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        let mut asking = Asking::new(name, rtype);
        asking.force = force;
        asking.earlier = self.earlier(caller, &asking).await?;
        Ok(asking)
    }

    /// Values that kept states of the caller's inventory show for the name.
    async fn earlier(&self, caller: &Caller, asking: &Asking) -> Answer<Earlier> {
        let mut earlier = Earlier::default();
        let Some(domain) = asking.name.registrable() else { return Ok(earlier) };
        if self.store().item(caller.org, &domain).await.map_err(unavailable)?.is_none() {
            return Ok(earlier);
        }
        let mut take = |o: &Observation| {
            for set in o.zone.value.iter().flat_map(|z| &z.rrsets) {
                let same = set.name == asking.name.as_str() && set.rtype == asking.rtype;
                if same && !earlier.values.contains(&set.data) {
                    earlier.values.push(set.data.clone());
                }
            }
        };
        if let Some(now) = self.store().observation(&domain, &Vantage::local()).await.map_err(unavailable)? {
            take(&now.observation);
        }
        let kept =
            self.store().snapshots(caller.org, &domain, STATES_READ as u32).await.map_err(unavailable)?;
        for meta in kept {
            take(
                &self.store().snapshot(caller.org, &domain, meta.id).await.map_err(unavailable)?.observation,
            );
        }
        Ok(earlier)
    }

    pub(super) async fn tool_authority(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
    ) -> Answer<Comparison> {
        let asking = self.asking(caller, name, rtype, false).await?;
        self.tools.comparer.start(&asking).await.map_err(|e| not_asked(&e))
    }

    pub(super) async fn tool_compare(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
        force: bool,
    ) -> Answer<Comparison> {
        let asking = self.asking(caller, name, rtype, force).await?;
        let _leave = self.tools.enter(caller)?;
        self.tools.comparer.run(&asking, &mut |_| ()).await.map_err(|e| not_asked(&e))
    }

    pub(super) async fn tool_fqdn(&self, caller: &Caller, name: &str) -> Answer<FqdnReport> {
        may_write(caller)?;
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let _leave = self.tools.enter(caller)?;
        let here: Arc<dyn Place> = Arc::new(Here::new(self.engine.clone()));
        Ok(analyze(&name, &[here], self.now()).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_a_few_at_once_and_a_few_a_minute() {
        let limits = Arc::new(Limits::default());
        let start = Instant::now();
        let held: Vec<_> = (0..AT_ONCE).map(|_| limits.enter("a", start).unwrap()).collect();
        assert!(limits.enter("a", start).unwrap_err().to_string().contains("running already"));
        assert!(limits.enter("b", start).is_ok(), "others are not kept waiting");
        drop(held);
        for _ in AT_ONCE..IN_WINDOW {
            limits.enter("a", start).unwrap();
        }
        let later = start + Duration::from_secs(20);
        let e = limits.enter("a", later).unwrap_err().to_string();
        assert!(e.contains("in 41 s"), "{e}");
        assert!(limits.enter("a", start + WINDOW).is_ok());
    }
}
