//! The interval of a domain's checks and the days of its reminders: what its holders say, else their organisations, else
//! the server. An observation is shared, so the shortest interval of all holders counts.

use crate::Scanner;
use model::checks::Checks;
use model::ids::OrgId;
use model::item::Item;
use model::names::DomainName;
use std::collections::{BTreeMap, BTreeSet};

/// What organisations say, as far as it was read.
pub(crate) type OfOrgs = BTreeMap<OrgId, Checks>;

/// What a scan does for the holders of a domain.
pub(crate) struct Plan {
    /// Seconds to the next scheduled scan.
    pub(crate) interval_s: i64,
    /// The holders, each with the days of its reminders.
    pub(crate) holders: Vec<(Item, Vec<i64>)>,
}

impl Scanner {
    /// The plan of some holdings. What their organisations say and is not `known` is read in one query and added.
    pub(crate) async fn plan(&self, items: Vec<Item>, known: &mut OfOrgs) -> Result<Plan, store::Error> {
        let says_all = |item: &Item| item.checks.interval_s.is_some() && item.checks.expiry_days.is_some();
        let asked: BTreeSet<OrgId> = items.iter().filter(|i| !says_all(i)).map(|i| i.org).collect();
        let unknown: Vec<OrgId> = asked.into_iter().filter(|org| !known.contains_key(org)).collect();
        if !unknown.is_empty() {
            let mut found = self.store.checks_of(&unknown).await?;
            known.extend(unknown.into_iter().map(|org| (org, found.remove(&org).unwrap_or_default())));
        }
        let (mut interval_s, mut holders) = (None, Vec::with_capacity(items.len()));
        for item in items {
            let said = item.checks.clone().or(known.get(&item.org).cloned().unwrap_or_default());
            let own = said.interval_s.unwrap_or(self.policy.interval_s);
            interval_s = Some(interval_s.map_or(own, |i: i64| i.min(own)));
            let days = said.expiry_days.unwrap_or_else(|| self.policy.reminder_days.clone());
            holders.push((item, days));
        }
        Ok(Plan { interval_s: interval_s.unwrap_or(self.policy.interval_s), holders })
    }

    /// Seconds between two scheduled scans of a domain.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn interval_of(&self, name: &DomainName) -> Result<i64, store::Error> {
        Ok(self.plan(self.store.holders(name).await?, &mut OfOrgs::new()).await?.interval_s)
    }
}
