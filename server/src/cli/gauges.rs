//! What the store holds about features, points of presence and the installation's identity, read now and then: for metrics,
//! the log and messages.

use jiff::Timestamp;
use model::ids::OrgId;
use notify::{Cluster, Deliverer};
use product::{features_report, fleet_report};
use service::{AgentState, ApiResult, FeaturesReport, FleetReport};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio_util::sync::CancellationToken;

/// Pause between two readings.
const PAUSE: Duration = Duration::from_secs(15);

/// Sets the gauges until the server stops. What can't be read keeps its last value; the outage itself shows elsewhere.
pub(super) async fn keep_current(store: Arc<dyn Store>, names: Deliverer, stop: CancellationToken) {
    loop {
        let now = Timestamp::now();
        if let Ok(report) = features_report(&*store, OrgId::BUILT_IN, now).await {
            features(&report);
        }
        let fleet: ApiResult<FleetReport> = fleet_report(&*store, now).await;
        if let Ok(report) = fleet {
            agents(&report);
            // Renamed, joined or left at any replica.
            let now = Cluster { id: report.id, set: report.set.unwrap_or_default() };
            if !now.id.is_empty() && now != names.cluster() {
                super::log_cluster(&now.id, &now.set);
                names.set_cluster(now);
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge of a count")]
fn features(report: &FeaturesReport) {
    // Registered ones have names that others choose: series of them would not end.
    for f in report.features.iter().filter(|f| f.feature.registered.is_none()) {
        let left: u64 = f.leftovers.iter().map(|t| t.left.count).sum();
        metrics::gauge!("domainscope_feature_leftovers", "feature" => f.feature.name.clone())
            .set(left as f64);
    }
    let may_go_back = report.earlier.is_some() && report.downgrade.is_none();
    metrics::gauge!("domainscope_upgrade_safe").set(f64::from(u8::from(report.upgrade.is_none())));
    metrics::gauge!("domainscope_downgrade_safe").set(f64::from(u8::from(may_go_back)));
}

#[expect(clippy::cast_precision_loss, reason = "a gauge of a count")]
fn agents(report: &FleetReport) {
    let states = [
        (AgentState::Online, "online"),
        (AgentState::Draining, "draining"),
        (AgentState::Stopped, "stopped"),
        (AgentState::Offline, "offline"),
    ];
    for (state, word) in states {
        let n = report.agents.iter().filter(|a| a.state == state).count();
        metrics::gauge!("domainscope_agents", "state" => word).set(n as f64);
    }
}
