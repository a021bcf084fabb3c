//! The interval of a domain's checks and the days of its reminders: what its holders say, else their organisations, else
//! the server. An observation is shared, so the shortest interval of all holders counts.

use crate::Scanner;
use model::checks::Checks;
use model::ids::OrgId;
use model::item::Item;
use model::names::DomainName;
use std::collections::BTreeSet;

/// What a scan does for the holders of a domain.
pub(crate) struct Plan {
    /// Seconds to the next scheduled scan.
    pub(crate) interval_s: i64,
    /// The holders, each with the days of its reminders.
    pub(crate) holders: Vec<(Item, Vec<i64>)>,
}

impl Scanner {
    /// The plan of some holdings, each with what its organisation says.
    pub(crate) fn plan(&self, holdings: Vec<(Item, Checks)>) -> Plan {
        let (mut interval_s, mut holders) = (None, Vec::with_capacity(holdings.len()));
        for (item, of_org) in holdings {
            let item = Item { org_days: of_org.expiry_days.clone(), ..item };
            let said = item.checks.clone().or(of_org);
            let own = said.interval_s.unwrap_or(self.policy.interval_s);
            interval_s = Some(interval_s.map_or(own, |i: i64| i.min(own)));
            let days = said.expiry_days.unwrap_or_else(|| self.policy.reminder_days.clone());
            holders.push((item, days));
        }
        Plan { interval_s: interval_s.unwrap_or(self.policy.interval_s), holders }
    }

    /// Holdings with what their organisations say, which is read in one query.
    pub(crate) async fn with_checks(&self, items: Vec<Item>) -> Result<Vec<(Item, Checks)>, store::Error> {
        let orgs: BTreeSet<OrgId> = items.iter().map(|i| i.org).collect();
        let said = self.store.checks_of(&orgs.into_iter().collect::<Vec<_>>()).await?;
        let of_org = |item: Item| {
            let of_org = said.get(&item.org).cloned().unwrap_or_default();
            (item, of_org)
        };
        Ok(items.into_iter().map(of_org).collect())
    }

    /// Seconds between two scheduled scans of a domain.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn interval_of(&self, name: &DomainName) -> Result<i64, store::Error> {
        Ok(self.plan(self.store.scan_grounds(name).await?.holdings).interval_s)
    }
}
