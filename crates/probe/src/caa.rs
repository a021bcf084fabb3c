//! CAA of a host and the issuer of its certificate (RFC 8659 section 3): the closest name upwards that has records counts.

use crate::Names;
use model::certificate::{CaaObservation, Certificate, caa};
use serde::Deserialize;
use std::sync::LazyLock;

/// Most names that are asked: those of the host and its parents.
const CLIMB: usize = 12;

#[derive(Deserialize)]
struct Table {
    issuer: Vec<Issuer>,
}

#[derive(Deserialize)]
struct Issuer {
    organisation: String,
    names: Vec<String>,
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers of the table; a test demands it"))]
    source: String,
}

static ISSUERS: LazyLock<Vec<Issuer>> = LazyLock::new(|| {
    // The file is part of the program and a test reads it.
    toml::from_str::<Table>(include_str!("../data/caa-issuers.toml")).map(|t| t.issuer).unwrap_or_default()
});

/// Names by which an authority knows itself in CAA records; empty where no source tells.
fn issuer_names(organisation: &str) -> Vec<String> {
    let organisation = organisation.to_lowercase();
    let row = ISSUERS.iter().find(|row| organisation.starts_with(&row.organisation.to_lowercase()));
    row.map(|row| row.names.clone()).unwrap_or_default()
}

/// Looks the CAA records up and compares them with the issuer of the certificate.
pub(crate) async fn observe(names: &dyn Names, host: &str, leaf: &Certificate) -> CaaObservation {
    let mut seen = CaaObservation {
        found_at: None,
        records: Vec::new(),
        issuer_names: issuer_names(leaf.issuer_organisation.as_deref().unwrap_or_default()),
        permits: None,
        error: None,
    };
    let mut name = Some(host);
    for _ in 0..CLIMB {
        let Some(at) = name.filter(|n| !n.is_empty()) else { break };
        match names.ask(at, "CAA").await {
            Ok(answer) if !answer.records.is_empty() => {
                (seen.found_at, seen.records) = (Some(at.to_string()), answer.records);
                break;
            }
            Ok(_) => {}
            Err(why) => {
                seen.error = Some(format!("{at}: {why}"));
                return seen;
            }
        }
        name = at.split_once('.').map(|(_, parent)| parent);
    }
    if !seen.issuer_names.is_empty() || seen.records.is_empty() {
        // A wildcard that covers the host is what would be renewed, unless the host is named too.
        let wildcard = !leaf.names.iter().any(|n| n.eq_ignore_ascii_case(host));
        seen.permits = Some(caa::permits(&seen.records, &seen.issuer_names, wildcard));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_issuer_has_names_and_a_source() {
        assert!(ISSUERS.len() >= 6);
        for row in ISSUERS.iter() {
            assert!(!row.names.is_empty() && row.source.starts_with("https://"), "{}", row.organisation);
        }
        assert_eq!(issuer_names("Let's Encrypt"), ["letsencrypt.org"]);
        assert_eq!(issuer_names("DIGICERT INC"), ["digicert.com"]);
        assert!(issuer_names("Domainscope lab").is_empty() && issuer_names("").is_empty());
    }
}
