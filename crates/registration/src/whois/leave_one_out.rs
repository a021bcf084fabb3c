//! How well structure carries a registry that the tables have never seen: the corpus (not part of the repository) read
//! with every row switched off that only the sample's own family of servers uses. Few fields may be missing, next to
//! none wrong.

use super::compare;
use super::vocabulary::probe;
use compare::{Cell, Grade};
use model::registration::Outcome;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// TLDs that one registry's software answers for, so that one of them would teach the others.
const FAMILIES: &[&[&str]] = &[
    &["fr", "re", "pm", "tf", "wf", "yt"],
    &["se", "nu"],
    &["cn", "xn--fiqs8s"],
    &["ru", "su", "xn--p1ai"],
    &["hk", "hk.com"],
    &["ir", "xn--mgba3a4f16a"],
    &["tk", "cf", "ga", "ml"],
    &["ac", "io", "sh", "tm"],
    &["com", "net", "cc", "tv", "jobs", "name", "edu"],
    &["fi", "tg"],
    &["rs", "mk"],
    &["gs", "cx", "hm", "aq", "nf", "ki", "ms", "mn", "mu", "gy", "gl", "fj", "sb", "tl", "so"],
    &["nz", "ps"],
    &["ee", "cr", "mw", "tz", "ar"],
    &["at", "bj"],
];

fn family(tld: &str) -> String {
    FAMILIES.iter().find(|f| f.contains(&tld)).map_or(tld, |f| f[0]).to_string()
}

struct Case {
    json: Value,
    raw: Vec<u8>,
    family: String,
}

impl Case {
    fn read(&self) -> crate::WhoisReading {
        let at = |k: &str| self.json[k].as_str().unwrap();
        crate::whois::parse_whois(at("domain"), Some(at("tld")), None, &self.raw)
    }
}

fn cases() -> Option<Vec<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    let Ok(text) = std::fs::read_to_string(root.join("expected.jsonl")) else {
        println!("SKIPPED: no corpus at {}", root.display());
        return None;
    };
    let case = |l: &str| {
        let json: Value = serde_json::from_str(l).unwrap();
        let raw = std::fs::read(root.join(json["raw"].as_str().unwrap())).unwrap();
        let family = family(json["tld"].as_str().unwrap());
        Case { json, raw, family }
    };
    Some(text.lines().filter(|l| !l.trim().is_empty()).map(case).collect())
}

#[test]
fn a_registry_never_seen_is_read_by_structure() {
    let Some(cases) = cases() else { return };
    let mut users: HashMap<String, HashSet<&str>> = HashMap::new();
    for c in &cases {
        let (_, used) = probe::without(HashSet::new(), || c.read());
        for row in used {
            users.entry(row).or_default().insert(&c.family);
        }
    }
    let own = |family: &str| -> HashSet<String> {
        users
            .iter()
            .filter(|(_, who)| who.len() == 1 && who.contains(family))
            .map(|(row, _)| row.clone())
            .collect()
    };
    let mut off: HashMap<&str, HashSet<String>> = HashMap::new();
    let mut table: BTreeMap<&'static str, Cell> = BTreeMap::new();
    let mut outcome = Cell::default();
    for c in &cases {
        let rows = off.entry(&c.family).or_insert_with(|| own(&c.family)).clone();
        let (reading, _) = probe::without(rows, || c.read());
        let (id, expected) = (c.json["id"].as_str().unwrap(), c.json["outcome"].as_str().unwrap());
        match (expected, reading.outcome) {
            ("unknown", o) if o != Outcome::Available => outcome.exact += 1,
            (e, o) if o.as_str() == e => outcome.exact += 1,
            (_, Outcome::Unknown) => outcome.missing += 1,
            _ => outcome.wrong += 1,
        }
        if expected != "unknown" && reading.outcome.as_str() != expected {
            println!("outcome   {id}: {} instead of {expected}", reading.outcome.as_str());
        }
        for (field, grade, note) in compare::grades(&c.json, &reading) {
            let cell = table.entry(field).or_default();
            match grade {
                Grade::Exact => cell.exact += 1,
                Grade::Missing => cell.missing += 1,
                Grade::Wrong => cell.wrong += 1,
                Grade::Unclaimed => continue,
            }
            if grade != Grade::Exact {
                println!("{field:<12}{id}: {grade:?} {note}");
            }
        }
    }
    println!("{:<14}{:>6}{:>9}{:>7}{:>9}", "field", "exact", "missing", "wrong", "exact %");
    table.insert("outcome", outcome);
    for (field, c) in &table {
        println!("{field:<14}{:>6}{:>9}{:>7}{:>9.2}", c.exact, c.missing, c.wrong, c.share(c.exact));
    }
    for (field, c) in &table {
        // Sentences are read with less to go by than fields.
        let (least, most) = if *field == "outcome" { (97.0, 0.5) } else { (97.5, 0.3) };
        assert!(c.share(c.exact) >= least, "{field}: only {:.2} % exact", c.share(c.exact));
        assert!(c.share(c.wrong) <= most, "{field}: {:.2} % wrong", c.share(c.wrong));
    }
}
