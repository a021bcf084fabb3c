//! The metrics of `serve`: their kinds and help texts, and counters that start at zero. In: nothing; out: an exporter.

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}
use Kind::{Counter, Gauge, Histogram};

/// Every metric with its help text; a test compares this with what a server exports, and with alert rules and dashboard.
const METRICS: &[(&str, Kind, &str)] = &[
    (
        "domainscope_agent_answers_total",
        Counter,
        "Answers of points of presence that were accepted, by agent",
    ),
    (
        "domainscope_agent_question_seconds",
        Histogram,
        "Time from a question to a point of presence to its answer",
    ),
    (
        "domainscope_agent_requests_refused_total",
        Counter,
        "Requests of points of presence that were refused, by reason",
    ),
    (
        "domainscope_agent_work_taken_back_total",
        Counter,
        "Questions that were handed out again because they did not reach their point of presence",
    ),
    ("domainscope_agents", Gauge, "Points of presence, by state"),
    (
        "domainscope_checks_suspended",
        Gauge,
        "Checks of ownership claims and services that are suspended, by kind",
    ),
    ("domainscope_claim_checks_total", Counter, "Checks of ownership claims, by outcome"),
    (
        "domainscope_cluster_claims_refused_total",
        Counter,
        "Claims about the installation that were refused, by rule",
    ),
    ("domainscope_doh_answers_total", Counter, "Answers over DNS over HTTPS, by response code"),
    (
        "domainscope_doh_lookups_refused_total",
        Counter,
        "Lookups for DNS over HTTPS refused by a limit, by limit",
    ),
    (
        "domainscope_doh_requests_total",
        Counter,
        "Requests of DNS over HTTPS, by path, method, cache and HTTP status",
    ),
    ("domainscope_doh_seconds", Histogram, "Time to answer a request of DNS over HTTPS, by use of the cache"),
    (
        "domainscope_downgrade_safe",
        Gauge,
        "1 while the release before this one can be started on the present data",
    ),
    ("domainscope_feature_leftovers", Gauge, "What is stored of a feature that is off"),
    ("domainscope_feature_state", Gauge, "1 for the state that a feature is in"),
    ("domainscope_feature_tasks_left", Gauge, "Tasks that a feature still has to do before it is off"),
    ("domainscope_http_requests_total", Counter, "HTTP requests, by class of address and status"),
    (
        "domainscope_http_seconds",
        Histogram,
        "Time from an HTTP request to the begin of its response, by class of address",
    ),
    (
        "domainscope_judgement_seconds",
        Histogram,
        "Time to judge up to 200 domains again whose status or reminder was due",
    ),
    (
        "domainscope_judgements_total",
        Counter,
        "Domains judged again because time passed or a setting changed, by outcome",
    ),
    (
        "domainscope_notification_delivery_seconds",
        Histogram,
        "Time from when a message could be sent to its delivery, by channel",
    ),
    ("domainscope_notifications_failed", Gauge, "Messages that were given up"),
    (
        "domainscope_notifications_total",
        Counter,
        "Attempts to send a message, by kind of channel and outcome",
    ),
    ("domainscope_notifications_waiting", Gauge, "Messages that wait to be sent"),
    ("domainscope_own_faults", Gauge, "Faults of the installation itself, by kind"),
    (
        "domainscope_place_samples_total",
        Counter,
        "Domains that points of presence were asked about for answer times, by outcome",
    ),
    ("domainscope_processes_live", Gauge, "Processes that share the database and are live"),
    ("domainscope_queue_due", Gauge, "Scans that are due and wait for a worker"),
    ("domainscope_queue_lag_seconds", Gauge, "How late the oldest scan that is due is"),
    ("domainscope_queue_parked", Gauge, "Domains whose scans are suspended"),
    ("domainscope_registry_blocked", Gauge, "Registry hosts that asked to wait"),
    ("domainscope_registry_blocked_seconds", Gauge, "Time until a registry host may be asked again"),
    (
        "domainscope_registry_postponed_total",
        Counter,
        "Questions to registries that were postponed, by reason",
    ),
    ("domainscope_registry_questions_total", Counter, "Questions to registries"),
    (
        "domainscope_registry_throttled_total",
        Counter,
        "Answers of registry hosts that asked to wait, by host",
    ),
    (
        "domainscope_routing_seconds",
        Histogram,
        "Time from a scan's events to the rules being applied to them",
    ),
    ("domainscope_routings_total", Counter, "Scans with events that rules were applied to, by outcome"),
    ("domainscope_scan_seconds", Histogram, "Duration of a scan"),
    ("domainscope_scan_stage_seconds", Histogram, "Duration of a stage of a scan, by stage and outcome"),
    ("domainscope_scans_total", Counter, "Scans that ended, by outcome"),
    (
        "domainscope_stage_failures_total",
        Counter,
        "Rounds of a stage that ended because the database failed, by stage",
    ),
    (
        "domainscope_third_party_measurements_total",
        Counter,
        "Measurements at networks of third parties, by network and outcome",
    ),
    ("domainscope_upgrade_safe", Gauge, "1 while no transition and no roll-out is under way"),
    (
        "domainscope_upkeep_last_success_timestamp_seconds",
        Gauge,
        "When this process last deleted old rows to the end (Unix time); one process of all does it",
    ),
    ("domainscope_upkeep_rows_total", Counter, "Old rows that this process deleted"),
    ("domainscope_upkeep_seconds", Gauge, "How long the last deletion of old rows took"),
];

/// Counters with the values of their label from the start: a rate is right from the first increment on.
const FROM_ZERO: &[(&str, &str, &[&str])] = &[
    ("domainscope_scans_total", "outcome", &["recorded", "waiting", "not_recorded", "deadline", "panicked"]),
    (
        "domainscope_agent_requests_refused_total",
        "reason",
        &[
            "clock",
            "feature_off",
            "flood",
            "garbage",
            "id",
            "id_exists",
            "key",
            "late",
            "limit",
            "no_set",
            "not_asked",
            "other_answer",
            "protocol",
            "signature",
            "stamp",
            "token",
            "token_id",
            "too_large",
        ],
    ),
    (
        "domainscope_cluster_claims_refused_total",
        "rule",
        &["format", "has_agents", "is_member", "is_required", "too_large", "too_many"],
    ),
    ("domainscope_claim_checks_total", "outcome", &["proven", "denied", "no_answer", "failed"]),
    ("domainscope_place_samples_total", "outcome", &["kept", "nothing", "failed"]),
    ("domainscope_judgements_total", "outcome", &["judged", "reminder"]),
    ("domainscope_routings_total", "outcome", &["sent", "held", "not_sent"]),
    ("domainscope_stage_failures_total", "stage", &["judge", "notify"]),
    ("domainscope_registry_postponed_total", "reason", &["own_limit", "daily_quota", "asked", "unknown"]),
];

/// Installs the exporter of this process.
pub(super) fn install() -> Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets(&[0.005, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
        .and_then(PrometheusBuilder::install_recorder)
        .context("metrics")?;
    for &(name, kind, help) in METRICS {
        match kind {
            Counter => metrics::describe_counter!(name, help),
            Gauge => metrics::describe_gauge!(name, help),
            Histogram => metrics::describe_histogram!(name, help),
        }
    }
    for &(name, label, values) in FROM_ZERO {
        for &value in values {
            metrics::counter!(name, label => value).absolute(0);
        }
    }
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_counters_end_in_total() {
        assert!(METRICS.windows(2).all(|w| w[0].0 < w[1].0));
        for (name, kind, help) in METRICS {
            assert_eq!(name.ends_with("_total"), matches!(kind, Counter), "{name}");
            assert!(!help.is_empty() && !help.ends_with('.'), "{name}");
        }
        for (name, ..) in FROM_ZERO {
            assert!(METRICS.iter().any(|(n, k, _)| n == name && matches!(k, Counter)), "{name}");
        }
    }
}
