//! The tables of facts behind the WHOIS parser: labels, headings, words and what is known per TLD. In: the TOML files
//! in `data/`; out: maps keyed by folded words. Tests check that every file loads and every row names its source.

use super::fold;
use model::registration::Outcome;
use regex::{Regex, RegexSet};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// What a label states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Field {
    Domain,
    DomainId,
    Registrar,
    RegistrarIanaId,
    RegistrarUrl,
    AbuseEmail,
    AbusePhone,
    WhoisServer,
    Created,
    Updated,
    Expires,
    RegistrarExpires,
    Nameserver,
    Status,
    Dnssec,
    Ds,
    RegistrantOrganization,
}

/// Where a label counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    Any,
    Domain,
    Registrar,
    Ns,
    Registrant,
}

/// What a block of lines is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Domain,
    Registrar,
    Registrant,
    Contact,
    Ns,
    Status,
    Dnssec,
    Other,
}

/// One meaning of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub field: Field,
    pub scope: Scope,
    pub rank: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelRow {
    field: Field,
    scope: Scope,
    #[serde(default = "one")]
    rank: u8,
    words: Vec<String>,
    source: String,
}

fn one() -> u8 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelFile {
    label: Vec<LabelRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindRow {
    kind: Kind,
    words: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RestartRow {
    words: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SectionFile {
    heading: Vec<KindRow>,
    object: Vec<KindRow>,
    contains: Vec<KindRow>,
    restart: Vec<RestartRow>,
}

/// Words inside values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    pub placeholder: HashSet<String>,
    pub not_a_host: HashSet<String>,
    pub dnssec: DnssecWords,
    pub status: StatusWords,
    pub zone: HashMap<String, i32>,
    pub month: HashMap<String, i8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DnssecWords {
    pub unsigned: HashSet<String>,
    pub signed: HashSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusWords {
    pub free: HashSet<String>,
    pub reserved: HashSet<String>,
    pub taken: HashSet<String>,
    pub state: HashSet<String>,
    pub epp: HashMap<String, String>,
}

/// Order of numbers in a date written with numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Dmy,
    Mdy,
    Ymd,
}

/// What is known of a family of TLDs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TldRow {
    pub names: Vec<String>,
    pub order: Option<Order>,
    pub encoding: Option<String>,
    #[serde(default)]
    pub no_expiry: bool,
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TldFile {
    tld: Vec<TldRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseRow {
    outcome: Outcome,
    #[serde(default)]
    tld: Vec<String>,
    patterns: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseFile {
    phrase: Vec<PhraseRow>,
}

/// The sentences of `phrases.toml`, compiled.
pub(crate) struct Phrases {
    pub set: RegexSet,
    /// Outcome and the TLDs it is limited to, per pattern of the set.
    pub meaning: Vec<(Outcome, Vec<String>)>,
}

/// All tables.
pub(crate) struct Tables {
    pub labels: HashMap<String, Vec<Meaning>>,
    pub headings: HashMap<String, Kind>,
    pub objects: HashMap<String, Kind>,
    pub contains: Vec<(Kind, Vec<String>)>,
    pub restart: HashSet<String>,
    pub words: Words,
    pub tlds: Vec<TldRow>,
    pub phrases: Phrases,
    pub redaction: Regex,
}

fn folded(words: &[String]) -> impl Iterator<Item = String> {
    words.iter().map(|w| {
        let mut s = String::new();
        fold::label(w, &mut s);
        s
    })
}

fn load() -> Result<Tables, Box<dyn std::error::Error>> {
    let file: LabelFile = toml::from_str(include_str!("../../data/labels.toml"))?;
    let mut labels: HashMap<String, Vec<Meaning>> = HashMap::new();
    for row in &file.label {
        if row.source.is_empty() {
            return Err("a row of labels.toml names no source".into());
        }
        for w in folded(&row.words) {
            let m = Meaning { field: row.field, scope: row.scope, rank: row.rank };
            let all = labels.entry(w).or_default();
            if !all.contains(&m) {
                all.push(m);
            }
        }
    }
    let file: SectionFile = toml::from_str(include_str!("../../data/sections.toml"))?;
    let map = |rows: &[KindRow]| -> Result<HashMap<String, Kind>, Box<dyn std::error::Error>> {
        let mut m = HashMap::new();
        for r in rows {
            if r.source.is_empty() {
                return Err("a row of sections.toml names no source".into());
            }
            for w in folded(&r.words) {
                m.entry(w).or_insert(r.kind);
            }
        }
        Ok(m)
    };
    let headings = map(&file.heading)?;
    let objects = map(&file.object)?;
    let contains = file.contains.iter().map(|r| (r.kind, folded(&r.words).collect())).collect();
    if file.restart.iter().any(|r| r.source.is_empty()) {
        return Err("a row of sections.toml names no source".into());
    }
    let restart = file.restart.iter().flat_map(|r| folded(&r.words).collect::<Vec<_>>()).collect();
    let words: Words = toml::from_str(include_str!("../../data/words.toml"))?;
    let tlds: TldFile = toml::from_str(include_str!("../../data/tlds.toml"))?;
    if tlds.tld.iter().any(|r| r.source.is_empty()) {
        return Err("a row of tlds.toml names no source".into());
    }
    let rows: PhraseFile = toml::from_str(include_str!("../../data/phrases.toml"))?;
    let mut patterns = Vec::new();
    let mut meaning = Vec::new();
    for r in rows.phrase {
        if r.source.is_empty() {
            return Err("a row of phrases.toml names no source".into());
        }
        for p in r.patterns {
            patterns.push(p);
            meaning.push((r.outcome, r.tld.clone()));
        }
    }
    let set = regex::RegexSetBuilder::new(&patterns).size_limit(64 << 20).dfa_size_limit(16 << 20).build()?;
    let redaction = Regex::new(
        r"(?i)redacted|not disclosed|data not disclosed|gdpr|privacy|whoisguard|withheld|\(not shown\)|hidden!|data protected|statutory masking|non-public data|not displayed",
    )?;
    Ok(Tables {
        labels,
        headings,
        objects,
        contains,
        restart,
        words,
        tlds: tlds.tld,
        phrases: Phrases { set, meaning },
        redaction,
    })
}

/// The tables, loaded once.
pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    load().unwrap_or_else(|e| panic!("the shipped WHOIS tables are checked by a test: {e}"))
});

/// The order of numbers in dates of these suffixes, where known.
pub(crate) fn order_of(asked: &super::Asked) -> Option<Order> {
    TABLES.tlds.iter().find(|r| r.order.is_some() && asked.under(&r.names)).and_then(|r| r.order)
}

/// True when the registry of `tld` is known to publish no expiration, so that the owner may have to set one by hand.
pub fn publishes_no_expiration(tld: &str) -> bool {
    let tld = tld.trim_matches('.').to_lowercase();
    TABLES.tlds.iter().any(|r| r.no_expiry && r.names.contains(&tld))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_load_and_every_row_names_its_source() {
        let t = load().unwrap();
        assert!(t.labels.len() > 250 && t.headings.len() > 80 && t.phrases.meaning.len() > 80);
        assert!(t.tlds.iter().all(|r| !r.source.is_empty()));
        for r in &t.tlds {
            if let Some(e) = &r.encoding {
                assert!(encoding_rs::Encoding::for_label(e.as_bytes()).is_some(), "{e}");
            }
        }
    }

    #[test]
    fn the_same_word_in_the_same_scope_never_means_two_fields() {
        for (w, ms) in &load().unwrap().labels {
            for a in ms {
                for b in ms {
                    assert!(a.scope != b.scope || a.field == b.field, "{w}: {a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn countries_without_a_published_expiration_are_known() {
        assert!(publishes_no_expiration("de") && publishes_no_expiration(".eu"));
        assert!(!publishes_no_expiration("com"));
    }
}
