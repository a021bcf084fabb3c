//! What replicas share through the store when they query registries: one rate-limit budget for each host, one copy of
//! the RDAP bootstrap.

use async_trait::async_trait;
use jiff::Timestamp;
use model::ids::OrgId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio_util::sync::CancellationToken;

/// Rate-limit budgets of registry hosts in the store, shared by all replicas.
#[derive(Clone)]
pub struct StoreLedger(pub Arc<dyn Store>);

#[async_trait]
impl net::Ledger for StoreLedger {
    async fn load(&self, host: &str) -> Result<Option<(i64, String)>, String> {
        self.0.budget(host).await.map_err(|e| e.to_string())
    }

    async fn swap(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<i64>, String> {
        self.0.swap_budget(host, expected, state, now).await.map_err(|e| e.to_string())
    }
}

/// The fetched RDAP bootstrap among the settings of the store.
#[derive(Clone)]
pub struct StoreBootstrapCache(pub Arc<dyn Store>);

/// Its key there.
const BOOTSTRAP: &str = "rdap_bootstrap";

#[async_trait]
impl registration::BootstrapCache for StoreBootstrapCache {
    async fn get(&self) -> Option<String> {
        self.0.setting(OrgId::BUILT_IN, BOOTSTRAP).await.ok().flatten()
    }

    async fn put(&self, text: &str, now: Timestamp) {
        if let Err(error) = self.0.set_setting(OrgId::BUILT_IN, BOOTSTRAP, text, now).await {
            tracing::debug!(%error, "the RDAP bootstrap was not kept; it is fetched again after a restart");
        }
    }
}

/// Keeps the metrics of blocked registry hosts until cancelled: which hosts asked us to wait, and for how much longer,
/// as far as this process has met them.
pub async fn report_blocked_hosts(budgets: net::Budgets, stop: CancellationToken) {
    let mut reported: HashSet<String> = HashSet::new();
    loop {
        let blocked = budgets.blocked();
        let now = Timestamp::now();
        for host in &reported {
            metrics::gauge!("domainscope_registry_blocked_seconds", "host" => host.clone()).set(0.0);
        }
        let room = 1000_usize.saturating_sub(reported.len());
        // A host once reported stays among the metrics; beyond so many hosts only their number is reported.
        reported.extend(blocked.iter().map(|(host, _)| host.clone()).take(room));
        for (host, until) in blocked.iter().filter(|(host, _)| reported.contains(host)) {
            let left = until.duration_since(now).as_secs_f64().max(0.0);
            metrics::gauge!("domainscope_registry_blocked_seconds", "host" => host.clone()).set(left);
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge of a few hosts")]
        metrics::gauge!("domainscope_registry_blocked").set(blocked.len() as f64);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(10)) => {}
        }
    }
}
