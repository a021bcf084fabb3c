//! The analysis tools behind pages, API and live streams: comparison, watch, FQDN analyzer. In: a caller and what was typed. Out: the model's types, or a sentence.

use super::{Bounds, Limits, Product, Work, may_write, not_asked, unavailable};
use app::answer::{Answer, Failure};
use dns::compare::{Asking, Comparer};
use dns::fqdn::{Here, Vantage as Place, analyze};
use model::compare::{Comparison, Earlier};
use model::fqdn::FqdnReport;
use model::ids::{Caller, Vantage};
use model::names::Fqdn;
use model::observation::Observation;
use std::sync::Arc;

/// Kept states that are read for values a name had before.
const STATES_READ: usize = 10;

/// What the tools need beyond the engine. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    /// Compares authoritative servers and resolvers.
    pub comparer: Comparer,
    /// What callers may set in motion.
    pub limits: Limits,
}

impl Tools {
    /// With this comparer and these bounds.
    pub fn new(comparer: Comparer, bounds: Bounds) -> Self {
        Tools { comparer, limits: Limits::new(bounds) }
    }
}

fn invalid(e: &dyn std::fmt::Display) -> Failure {
    Failure::Invalid(e.to_string())
}

impl Product {
    /// What is to be compared, with the values the inventory knows of from before.
    ///
    /// # Errors
    /// [`Failure::Invalid`] for what is no name or no type, [`Failure::Forbidden`], or a store that does not answer.
    pub async fn asking(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> Answer<Asking> {
        may_write(caller)?;
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        dns::known_type(rtype).map_err(|e| not_asked(&e))?;
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
        let _leave = self.tools.limits.enter(caller, Work::Authority).await?;
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
        let _leave = self.tools.limits.enter(caller, Work::Compare).await?;
        self.tools.comparer.run(&asking, &mut |_| ()).await.map_err(|e| not_asked(&e))
    }

    pub(super) async fn tool_fqdn(&self, caller: &Caller, name: &str) -> Answer<FqdnReport> {
        may_write(caller)?;
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let _leave = self.tools.limits.enter(caller, Work::Analysis).await?;
        let here: Arc<dyn Place> = Arc::new(Here::new(self.engine.clone()));
        Ok(analyze(&name, &[here], self.now()).await)
    }
}
