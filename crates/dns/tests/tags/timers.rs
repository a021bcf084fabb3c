//! Zone02 to 06: the numbers of the SOA record.

use crate::fake::Fault;
use crate::row::{NS, REST, Row, row};

/// A zone with these timers: refresh, retry, expire, minimum.
fn with(case: &'static str, what: &'static str, timers: [u32; 4]) -> Row {
    let [refresh, retry, expire, minimum] = timers;
    let soa = format!("@ 3600 SOA ns1.zone.test. host.zone.test. 7 {refresh} {retry} {expire} {minimum}");
    row(case, what).both(&[&soa, NS, REST])
}

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (case, what, timers, tags) in [
        ("Zone02", "at the least", [14_400, 3_600, 604_800, 300], &["REFRESH_MINIMUM_VALUE_OK"][..]),
        ("Zone02", "below", [14_399, 3_600, 604_800, 300], &["REFRESH_MINIMUM_VALUE_LOWER"]),
        ("Zone03", "lower", [14_400, 14_399, 604_800, 300], &["REFRESH_HIGHER_THAN_RETRY"]),
        ("Zone03", "the same", [14_400, 14_400, 604_800, 300], &["REFRESH_LOWER_THAN_RETRY"]),
        ("Zone03", "higher", [14_400, 14_401, 604_800, 300], &["REFRESH_LOWER_THAN_RETRY"]),
        ("Zone04", "at the least", [14_400, 3_600, 604_800, 300], &["RETRY_MINIMUM_VALUE_OK"]),
        ("Zone04", "below", [14_400, 3_599, 604_800, 300], &["RETRY_MINIMUM_VALUE_LOWER"]),
        ("Zone05", "at the least", [14_400, 3_600, 604_800, 300], &["EXPIRE_MINIMUM_VALUE_OK"]),
        ("Zone05", "below", [14_400, 3_600, 604_799, 300], &["EXPIRE_MINIMUM_VALUE_LOWER"]),
        ("Zone05", "as refresh", [604_800, 3_600, 604_800, 300], &["EXPIRE_MINIMUM_VALUE_OK"]),
        ("Zone05", "lower than refresh", [604_801, 3_600, 604_800, 300], &["EXPIRE_LOWER_THAN_REFRESH"]),
        (
            "Zone05",
            "both",
            [9_000, 3_600, 8_000, 300],
            &["EXPIRE_MINIMUM_VALUE_LOWER", "EXPIRE_LOWER_THAN_REFRESH"],
        ),
        ("Zone06", "at the least", [14_400, 3_600, 604_800, 300], &["SOA_DEFAULT_TTL_MAXIMUM_VALUE_OK"]),
        ("Zone06", "at the most", [14_400, 3_600, 604_800, 86_400], &["SOA_DEFAULT_TTL_MAXIMUM_VALUE_OK"]),
        ("Zone06", "below", [14_400, 3_600, 604_800, 299], &["SOA_DEFAULT_TTL_MAXIMUM_VALUE_LOWER"]),
        ("Zone06", "above", [14_400, 3_600, 604_800, 86_401], &["SOA_DEFAULT_TTL_MAXIMUM_VALUE_HIGHER"]),
    ] {
        rows.push(with(case, what, timers).says(tags));
    }
    for case in ["Zone02", "Zone03", "Zone04", "Zone05", "Zone06"] {
        let good = rows.iter().find(|r| r.case == case).map(|r| r.tags.clone()).unwrap_or_default();
        for (what, fault, tags) in [
            ("silent", Fault::Drop, vec!["NO_RESPONSE_SOA_QUERY"]),
            ("without authority", Fault::NoAuthority, vec!["NO_RESPONSE_SOA_QUERY"]),
        ] {
            rows.push(row(case, what).faults(fault).says(&tags));
        }
        // The next server is asked when the first has no authority.
        rows.push(
            row(case, "the first without authority").fault("192.0.2.11", Fault::NoAuthority).says(&good),
        );
        rows.push(row(case, "the first silent").fault("192.0.2.11", Fault::Drop).says(&good));
    }
    rows
}
