//! Every tag of the table of findings is made to appear by what servers do, and is away where all is well. In: test
//! cases, and behaviours with the tags each is to give. Out: a panic that names what does not fit.

#![allow(dead_code, reason = "each test file uses its part")]

use dns::checks::CheckReport;
use futures::StreamExt;
use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};

/// What servers do, and the tags a test case is to give for it: these and no others.
pub struct Behaviour {
    /// Identifier of the test case, as in the table.
    pub case: &'static str,
    /// In words, for the message of a failure.
    pub what: &'static str,
    pub told: Vec<&'static str>,
    /// Nothing is wrong here: a tag that all such runs of its case have would say nothing.
    pub healthy: bool,
    pub run: BoxFuture<'static, CheckReport>,
}

#[derive(serde::Deserialize)]
struct Case {
    tags: BTreeMap<String, (String, String, String)>,
}

/// The tags of a test case by the table.
fn tags_of(table: &BTreeMap<String, Case>, case: &str) -> BTreeSet<String> {
    let case = table.get(case).unwrap_or_else(|| panic!("{case} is not in the table"));
    case.tags.keys().cloned().collect()
}

/// The arguments that a finding of a test case with a tag has to have.
pub type Arguments = fn(&str, &str) -> &'static [&'static str];

/// Runs all behaviours. Each gives just its tags; together they give every tag of these test cases; and none of the tags
/// is there in all the healthy runs of its case.
pub async fn walk(cases: &[&str], behaviours: Vec<Behaviour>, arguments: Arguments) {
    let table: BTreeMap<String, Case> =
        toml::from_str(include_str!("../../data/findings.toml")).expect("the table is TOML");
    let ran: Vec<(Behaviour, BTreeSet<String>)> = futures::stream::iter(behaviours)
        .map(|mut b| async move {
            let run = std::mem::replace(&mut b.run, Box::pin(std::future::pending()));
            let report = run.await;
            let of_case = report.findings.into_iter().filter(|f| f.test_case == b.case);
            let unfilled = |text: &str| text.contains('{');
            let tags = of_case.map(|f| {
                assert!(!unfilled(&f.message) && !unfilled(&f.fix), "an argument is lacking: {f:?}");
                for name in arguments(b.case, &f.tag) {
                    let empty = f.args.get(*name).is_none_or(|value| value.as_str() == Some(""));
                    assert!(!empty, "{name} is lacking: {f:?}");
                }
                f.tag
            });
            let tags: BTreeSet<String> = tags.collect();
            (b, tags)
        })
        .buffer_unordered(8)
        .collect()
        .await;
    let mut faults = Vec::new();
    for (b, tags) in &ran {
        let wanted: BTreeSet<String> = b.told.iter().map(|t| (*t).to_string()).collect();
        if *tags != wanted {
            let lacking: Vec<_> = wanted.difference(tags).collect();
            let more: Vec<_> = tags.difference(&wanted).collect();
            faults.push(format!("{} {}: lacks {lacking:?}, has {more:?} too", b.case, b.what));
        }
    }
    let (mut all, mut shown) = (0, 0);
    for case in cases {
        for tag in tags_of(&table, case) {
            all += 1;
            let of_case = || ran.iter().filter(|(b, _)| b.case == *case);
            if of_case().any(|(_, tags)| tags.contains(&tag)) {
                shown += 1;
            } else {
                faults.push(format!("{case} {tag}: no behaviour shows it"));
            }
            if !of_case().any(|(b, tags)| b.healthy && !tags.contains(&tag)) {
                faults.push(format!("{case} {tag}: there is no healthy run without it"));
            }
        }
    }
    println!("{shown} of {all} tags are shown by {} behaviours", ran.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
