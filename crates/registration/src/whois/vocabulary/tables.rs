//! The tables of facts behind the WHOIS parser: labels, headings, words and what is known per TLD. In: the TOML files
//! in `data/`; out: maps keyed by folded words. Tests check that every file loads and every row names its source.

use super::phrases::Phrases;
use super::probe::open;
use crate::whois::question::Question;
use crate::whois::text::fold;
use regex::Regex;
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
    #[serde(default)]
    pub names: Vec<String>,
    /// Hosts whose answers are so, whatever the suffix.
    #[serde(default)]
    pub servers: Vec<String>,
    pub order: Option<Order>,
    #[serde(default)]
    pub no_expiry: bool,
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TldFile {
    tld: Vec<TldRow>,
}

/// What a folded word is, all tables together.
#[derive(Default)]
pub(crate) struct Word {
    pub meanings: Vec<Meaning>,
    pub heading: Option<Kind>,
    pub object: Option<Kind>,
}

type Lexicon = HashMap<String, Word, std::hash::BuildHasherDefault<fold::Fnv>>;

/// All tables.
pub(crate) struct Tables {
    pub lexicon: Lexicon,
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
    let file: LabelFile = toml::from_str(include_str!("../../../data/labels.toml"))?;
    let mut lexicon = Lexicon::default();
    for row in &file.label {
        if row.source.is_empty() {
            return Err("a row of labels.toml names no source".into());
        }
        for w in folded(&row.words) {
            let m = Meaning { field: row.field, scope: row.scope, rank: row.rank };
            let all = &mut lexicon.entry(w).or_default().meanings;
            if !all.contains(&m) {
                all.push(m);
            }
        }
    }
    let file: SectionFile = toml::from_str(include_str!("../../../data/sections.toml"))?;
    for (rows, heading) in [(&file.heading, true), (&file.object, false)] {
        for r in rows {
            if r.source.is_empty() {
                return Err("a row of sections.toml names no source".into());
            }
            for w in folded(&r.words) {
                let word = lexicon.entry(w).or_default();
                let slot = if heading { &mut word.heading } else { &mut word.object };
                slot.get_or_insert(r.kind);
            }
        }
    }
    let contains = file.contains.iter().map(|r| (r.kind, folded(&r.words).collect())).collect();
    if file.restart.iter().any(|r| r.source.is_empty()) {
        return Err("a row of sections.toml names no source".into());
    }
    let restart = file.restart.iter().flat_map(|r| folded(&r.words).collect::<Vec<_>>()).collect();
    let words: Words = toml::from_str(include_str!("../../../data/words.toml"))?;
    let tlds: TldFile = toml::from_str(include_str!("../../../data/tlds.toml"))?;
    if tlds.tld.iter().any(|r| r.source.is_empty()) {
        return Err("a row of tlds.toml names no source".into());
    }
    let redaction = Regex::new(
        r"(?i)redacted|not disclosed|data not disclosed|gdpr|privacy|whoisguard|withheld|\(not shown\)|hidden!|data protected|statutory masking|non-public data|not displayed",
    )?;
    Ok(Tables { lexicon, contains, restart, words, tlds: tlds.tld, phrases: Phrases::load()?, redaction })
}

impl Tables {
    /// What a folded word is, where the tables know it.
    pub fn word(&self, folded: &str) -> Option<&Word> {
        self.lexicon.get(folded).filter(|_| open("label", folded))
    }
}

/// True when a set of words holds `word`.
pub(crate) fn has(set: &HashSet<String>, word: &str) -> bool {
    set.contains(word) && open("word", word)
}

/// The tables, loaded once.
pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    load().unwrap_or_else(|e| panic!("the shipped WHOIS tables are checked by a test: {e}"))
});

/// The order of numbers in dates of these suffixes or of this server, where known.
pub(crate) fn order_of(asked: &Question) -> Option<Order> {
    let is_about =
        |r: &TldRow| asked.under(&r.names) || asked.server.as_ref().is_some_and(|s| r.servers.contains(s));
    TABLES
        .tlds
        .iter()
        .find(|r| r.order.is_some() && is_about(r) && open("order", &asked.ascii))
        .and_then(|r| r.order)
}

/// True when the registry of `tld` is known to publish no expiration, so that the owner may have to set one manually.
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
        let count = |f: fn(&Word) -> bool| t.lexicon.values().filter(|w| f(w)).count();
        assert!(count(|w| !w.meanings.is_empty()) > 250 && count(|w| w.heading.is_some()) > 80);
        assert!(t.phrases.len() > 80);
        assert!(t.tlds.iter().all(|r| !r.source.is_empty()));
    }

    #[test]
    fn the_same_word_in_the_same_scope_never_means_two_fields() {
        for (w, word) in &load().unwrap().lexicon {
            for a in &word.meanings {
                for b in &word.meanings {
                    assert!(a.scope != b.scope || a.field == b.field, "{w}: {a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_suffix_has_one_order() {
        let t = load().unwrap();
        let mut seen = HashSet::new();
        for r in &t.tlds {
            for n in &r.names {
                assert!(r.order.is_none() || seen.insert(format!("order of {n}")), "{n}");
            }
        }
    }

    #[test]
    fn countries_without_a_published_expiration_are_known() {
        assert!(publishes_no_expiration("de") && publishes_no_expiration(".eu"));
        assert!(!publishes_no_expiration("com"));
    }
}
