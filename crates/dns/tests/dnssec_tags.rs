//! The DNSSEC test cases, tag by tag: signed zones with one thing wrong in each, and what the specifications say of it.

mod catalogue;
mod dnssec_cases;
mod fake;
mod sealed;
mod signed;

use dnssec_cases::{arguments, cds, delegation, denial, keys, parameters, signatures};

/// The test cases by the file their behaviours are in.
const GROUPS: [&[&str]; 6] =
    [delegation::CASES, keys::CASES, signatures::CASES, parameters::CASES, denial::CASES, cds::CASES];

#[test]
fn no_case_is_left_out() {
    let mut here: Vec<&str> = GROUPS.iter().flat_map(|cases| cases.iter().copied()).collect();
    here.sort_unstable();
    let mut all: Vec<&str> =
        dns::checks::test_cases().into_iter().filter(|case| case.starts_with("DNSSEC")).collect();
    all.sort_unstable();
    assert_eq!(here, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn ds_records_and_the_zone_they_lead_to() {
    catalogue::walk(delegation::CASES, delegation::behaviours(), arguments::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_by_algorithm_size_and_server() {
    catalogue::walk(keys::CASES, keys::behaviours(), arguments::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_by_time_key_and_algorithm() {
    catalogue::walk(signatures::CASES, signatures::behaviours(), arguments::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_nsec3() {
    catalogue::walk(parameters::CASES, parameters::behaviours(), arguments::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn denial_of_existence() {
    catalogue::walk(denial::CASES, denial::behaviours(), arguments::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cds_and_cdnskey() {
    catalogue::walk(cds::CASES, cds::behaviours(), arguments::of).await;
}
