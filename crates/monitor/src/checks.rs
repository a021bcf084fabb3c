//! The interval of a domain's checks and the days of its reminders: what its holders say, else their organisations, else
//! the server. An observation is shared, so the shortest interval of all holders counts.

use crate::Scanner;
use model::checks::Checks;
use model::item::Item;
use model::names::DomainName;

/// What a scan does for the holders of a domain.
pub(crate) struct Plan {
    /// Seconds to the next scheduled scan.
    pub(crate) interval_s: i64,
    /// The holders, each with the days of its reminders.
    pub(crate) holders: Vec<(Item, Vec<i64>)>,
}

impl Scanner {
    /// Settings of a holding, its own or of its organisation.
    async fn said(&self, item: &Item) -> Result<Checks, store::Error> {
        if item.checks.interval_s.is_some() && item.checks.expiry_days.is_some() {
            return Ok(item.checks.clone());
        }
        Ok(item.checks.clone().or(self.store.checks(item.org).await?))
    }

    pub(crate) async fn plan(&self, items: Vec<Item>) -> Result<Plan, store::Error> {
        let (mut interval_s, mut holders) = (None, Vec::with_capacity(items.len()));
        for item in items {
            let said = self.said(&item).await?;
            let own = said.interval_s.unwrap_or(self.policy.interval_s);
            interval_s = Some(interval_s.map_or(own, |i: i64| i.min(own)));
            let days = self.days(said);
            holders.push((item, days));
        }
        Ok(Plan { interval_s: interval_s.unwrap_or(self.policy.interval_s), holders })
    }

    fn days(&self, said: Checks) -> Vec<i64> {
        said.expiry_days.unwrap_or_else(|| self.policy.reminder_days.clone())
    }

    /// Days of the reminders of a holding.
    pub(crate) async fn reminder_days(&self, item: &Item) -> Result<Vec<i64>, store::Error> {
        Ok(self.days(self.said(item).await?))
    }

    /// Seconds between two scheduled scans of a domain.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn interval_of(&self, name: &DomainName) -> Result<i64, store::Error> {
        Ok(self.plan(self.store.holders(name).await?).await?.interval_s)
    }
}
