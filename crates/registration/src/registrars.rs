//! Registrar names by IANA registrar id, from `data/registrars.toml`: so that two spellings of one registrar are seen
//! to be one. In: an id; out: the name of record.

use serde::Deserialize;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    name: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        registrar: Vec<Row>,
    }
    toml::from_str::<File>(include_str!("../data/registrars.toml"))
        .unwrap_or_else(|e| panic!("data/registrars.toml is checked by a test: {e}"))
        .registrar
});

/// The name of the registrar with this IANA id, where the table has it.
pub fn registrar_name(iana_id: &str) -> Option<&'static str> {
    ROWS.iter().find(|r| r.id == iana_id).map(|r| r.name.as_str())
}

/// True when two registrar names mean one company as far as spelling goes: case, punctuation and the usual company
/// suffixes do not count.
pub fn same_registrar(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    a == b && !a.is_empty()
}

fn without_suffixes(name: &str) -> String {
    let name = name.to_lowercase();
    let name =
        ["d/b/a", " dba ", " t/a "].iter().fold(name.as_str(), |n, cut| n.split(cut).next().unwrap_or(n));
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .filter(|w| {
            !matches!(
                *w,
                "inc"
                    | "llc"
                    | "ltd"
                    | "limited"
                    | "gmbh"
                    | "co"
                    | "kg"
                    | "corp"
                    | "corporation"
                    | "sas"
                    | "sa"
                    | "ab"
                    | "bv"
                    | "ag"
                    | "se"
                    | "srl"
                    | "pty"
                    | "plc"
                    | "l"
                    | "c"
                    | "b"
                    | "v"
                    | "s"
                    | "a"
            )
        })
        .collect()
}

/// Letters and digits of a name; the whole name where it is made of company suffixes only.
fn plain(name: &str) -> String {
    let core = without_suffixes(name);
    if core.is_empty() {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    } else {
        core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_loads() {
        let mut seen = HashSet::new();
        for r in ROWS.iter() {
            assert!(seen.insert(&r.id), "{} twice", r.id);
            assert!(r.id.bytes().all(|b| b.is_ascii_digit()) && !r.name.is_empty() && !r.source.is_empty());
        }
        assert!(ROWS.len() >= 50);
        assert_eq!(registrar_name("292"), Some("MarkMonitor Inc."));
    }

    #[test]
    fn spellings_of_one_company() {
        assert!(same_registrar("MARKMONITOR, INC.", "MarkMonitor Inc."));
        assert!(same_registrar("OVH SAS", "OVH, SAS"));
        assert!(same_registrar("Gandi SAS", "GANDI"));
        assert!(!same_registrar("Gandi SAS", "OVH SAS"));
        assert!(!same_registrar("A, Inc.", "B, Inc.") && same_registrar("A, Inc.", "A INC"));
        assert!(!same_registrar("", "") && !same_registrar("-", "?"));
    }
}
