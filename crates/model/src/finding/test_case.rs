//! What each health check looks at, in a few words: for pages that list findings or checks by test case.
//! In: an identifier (`Delegation04`). Out: words from `data/test_cases.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[allow(dead_code)]
    source: String,
    cases: BTreeMap<String, String>,
}

static TITLES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    serde_json::from_slice::<File>(include_bytes!(concat!(env!("OUT_DIR"), "/test_cases.json")))
        .expect("data/test_cases.toml is checked by a test")
        .cases
});

/// The test cases that every scan makes: who serves the zone, over UDP and TCP, by the same names and addresses as the
/// parent says, and the chain of trust. The full check makes all ([`count`]).
pub const SCAN: [&str; 13] = [
    "Basic02",
    "Connectivity01",
    "Connectivity02",
    "Consistency01",
    "Consistency05",
    "Delegation01",
    "Delegation02",
    "Delegation04",
    "Delegation05",
    "Delegation07",
    "Nameserver01",
    "Nameserver06",
    "Domainscope",
];

/// How many test cases there are.
pub fn count() -> usize {
    TITLES.len()
}

/// What a test case looks at; `None` for one that is not known.
pub fn title(case: &str) -> Option<&'static str> {
    TITLES.get(case).map(String::as_str)
}

/// Where the specification of a test case can be read, for those that are Zonemaster's.
pub fn specification(case: &str) -> Option<String> {
    let group = case.trim_end_matches(|c: char| c.is_ascii_digit());
    if group == case || title(case).is_none() {
        return None;
    }
    let file = case.to_lowercase();
    Some(format!(
        "https://github.com/zonemaster/zonemaster/blob/master/docs/public/specifications/tests/{group}-TP/{file}.md"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_title_is_short_and_says_something() {
        assert!(TITLES.len() > 60, "{}", TITLES.len());
        for (case, words) in TITLES.iter() {
            assert!((10..70).contains(&words.chars().count()) && !words.ends_with('.'), "{case}: {words}");
        }
        assert_eq!(title("Delegation04"), Some("Name servers answer with authority"));
        assert_eq!(title("delegation99"), None);
        assert!(SCAN.iter().all(|case| title(case).is_some()));
    }

    #[test]
    fn only_zonemasters_own_have_a_specification() {
        assert!(specification("DNSSEC05").unwrap().ends_with("/tests/DNSSEC-TP/dnssec05.md"));
        assert_eq!(specification("Domainscope"), None);
        assert_eq!(specification("Delegation99"), None);
    }
}
