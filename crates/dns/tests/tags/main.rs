//! Every message tag of the test cases outside DNSSEC is proved by behaviour. Each row is a tree of small name servers
//! and exactly the tags one test case gives there; over all rows of a test case every tag of the table
//! `data/findings.toml` has to come at least once and to stay away at least once. Nothing here is read from the checks.

mod address;
mod arguments;
mod basic;
mod connectivity;
mod consistency;
mod delegation;
mod edns;
#[path = "../fake/mod.rs"]
mod fake;
mod harmless;
mod methods;
mod nameserver;
mod row;
mod syntax;
mod timers;
mod zone;

use row::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Tags that no world can bring about, and why.
const NEVER: [(&str, &str, &str); 1] =
    [("Consistency01", "MULTIPLE_SOA_SERIALS_OK", "the accepted difference of serial numbers is 0")];

/// Test case and tag, of all test cases outside DNSSEC that are Zonemaster's.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = include_str!("../../data/findings.toml");
    let table: toml::Table = text.parse().unwrap();
    let tags = |case: &toml::Value| case["tags"].as_table().unwrap().keys().cloned().collect();
    let ours = |name: &str| !name.starts_with("DNSSEC") && name != "Domainscope";
    table.iter().filter(|(name, _)| ours(name)).map(|(name, case)| (name.clone(), tags(case))).collect()
}

fn rows() -> Vec<Row> {
    [
        basic::rows(),
        address::rows(),
        connectivity::rows(),
        consistency::rows(),
        delegation::rows(),
        nameserver::rows(),
        edns::rows(),
        syntax::rows(),
        timers::rows(),
        zone::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_tag_comes_in_one_row_and_stays_away_in_another() {
    let rows = rows();
    let mut gaps = Vec::new();
    let cases = table();
    for row in &rows {
        let known = cases.get(row.case).unwrap_or_else(|| panic!("{} is no test case", row.case));
        gaps.extend(
            row.tags.iter().filter(|t| !known.contains(**t)).map(|t| format!("{}: no {t}", row.case)),
        );
    }
    for (case, tags) in &cases {
        for tag in tags {
            let here = rows.iter().filter(|r| r.case == case);
            let (with, without): (Vec<&Row>, Vec<&Row>) = here.partition(|r| r.tags.contains(&tag.as_str()));
            let never = NEVER.iter().any(|(c, t, _)| c == case && t == tag);
            if with.is_empty() != never {
                gaps.push(format!("{case} {tag}: {} rows make it appear", with.len()));
            }
            if without.is_empty() {
                gaps.push(format!("{case} {tag}: no row does without it"));
            }
        }
    }
    assert!(gaps.is_empty(), "{gaps:#?}");
}

/// Runs the rows, a few at a time, and says which gave something else than they promise.
async fn prove(rows: Vec<Row>) {
    use futures::StreamExt;
    let wrong: Vec<String> = futures::stream::iter(rows)
        .map(|row| async move { row.run().await })
        .buffer_unordered(16)
        .flat_map(futures::stream::iter)
        .collect()
        .await;
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

macro_rules! proved {
    ($($module:ident),*) => {
        $(#[tokio::test]
        async fn $module() {
            prove($module::rows()).await;
        })*
    };
}

mod run {
    use super::*;
    proved!(basic, address, connectivity, consistency, delegation, nameserver, edns, syntax, timers, zone);
}
