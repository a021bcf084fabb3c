//! Outcomes of the health checks: a zone with a finding of each level, one that is all well, one that is refused.

use super::now;
use model::finding::{Finding, Level};
use service::{ApiError, ApiResult, CheckOutcome};

fn finding(case: &str, tag: &str, level: Level, message: &str, fix: &str, args: &[(&str, &str)]) -> Finding {
    Finding {
        broken: false,
        tag: tag.into(),
        level,
        args: args.iter().map(|(k, v)| ((*k).to_string(), (*v).into())).collect(),
        test_case: case.into(),
        zone: "alder.example".into(),
        message: message.into(),
        fix: fix.into(),
    }
}

fn troubles() -> Vec<Finding> {
    vec![
        finding("Basic01", "B01_CHILD_FOUND", Level::Info, "The zone alder.example is found.", "", &[]),
        finding(
            "Delegation04",
            "IS_NOT_AUTHORITATIVE",
            Level::Error,
            "old-ns.alder.example answers without authority over UDP.",
            "Remove it from the delegation at the registrar, or set the zone up on it again.",
            &[("ns", "old-ns.alder.example/192.0.2.77"), ("proto", "UDP")],
        ),
        finding(
            "Connectivity03",
            "IPV4_ONE_ASN",
            Level::Warning,
            "All IPv4 addresses of the name servers are announced by one AS.",
            "Add a name server in another network.",
            &[("asn", "64500")],
        ),
        finding(
            "Zone06",
            "SOA_DEFAULT_TTL_MAXIMUM_VALUE_HIGHER",
            Level::Notice,
            "The SOA minimum is more than a day: names asked for too early stay missing for long.",
            "",
            &[("minimum", "172800"), ("highest_minimum", "86400")],
        ),
    ]
}

pub fn outcome(zone: &str, before_a_move: bool) -> ApiResult<CheckOutcome> {
    if zone.contains(' ') {
        return Err(ApiError::invalid(format!("“{zone}” contains a space")));
    }
    let well = zone.starts_with("q7");
    Ok(CheckOutcome {
        zone: zone.into(),
        before_a_move,
        cause: None,
        findings: if well { troubles().into_iter().take(1).collect() } else { troubles() },
        test_cases: ["Basic01", "Basic02", "Delegation04", "Connectivity03", "Zone06"].map(Into::into).into(),
        queries: 131,
        elapsed_ms: 1234.0,
        notes: vec!["No IPv6 on this host.".into()],
        now: now(),
    })
}
