//! The table of message tags: level, sentence and remedy of each, by test case.

use crate::session::Memory;
use model::finding::{Finding, Level};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// `[level, sentence with {arguments}, remedy]`.
type Row = (Level, String, String);

#[derive(Debug, Deserialize)]
struct Case {
    /// Where levels come from.
    #[allow(dead_code)]
    source: String,
    tags: BTreeMap<String, Row>,
    /// Tags of level WARNING that say something is broken now or will break by itself.
    #[serde(default)]
    broken: BTreeSet<String>,
}

static TABLE: LazyLock<BTreeMap<String, Case>> = LazyLock::new(|| {
    // Part of the program; the loader test keeps it readable.
    toml::from_str(include_str!("../../data/findings.toml")).unwrap_or_default()
});

/// A finding of a test case, with its level and sentences from the table.
pub(crate) fn finding(test_case: &str, zone: &str, tag: &str, args: &[(&str, Value)]) -> Finding {
    let args: Map<String, Value> = args.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect();
    let case = TABLE.get(test_case);
    let row = case.and_then(|case| case.tags.get(tag));
    debug_assert!(row.is_some(), "{test_case} {tag} is missing in the table");
    let (level, message, fix) = row.cloned().unwrap_or((Level::Info, tag.to_string(), String::new()));
    Finding {
        tag: tag.to_string(),
        level,
        message: fill(&message, &args),
        fix: fill(&fix, &args),
        broken: case.is_some_and(|case| case.broken.contains(tag)),
        args,
        test_case: test_case.to_string(),
        zone: zone.to_string(),
    }
}

/// Puts arguments into their places: `{name}` is the argument, `{name|one|many}` the word that fits a list of one or of
/// several.
fn fill(template: &str, args: &Map<String, Value>) -> String {
    let mut out = String::with_capacity(template.len() + 64);
    let mut rest = template;
    while let Some((before, (place, after))) =
        rest.split_once('{').and_then(|(b, r)| Some((b, r.split_once('}')?)))
    {
        out.push_str(before);
        out.push_str(&filled(place, args).unwrap_or_else(|| format!("{{{place}}}")));
        rest = after;
    }
    out + rest
}

fn filled(place: &str, args: &Map<String, Value>) -> Option<String> {
    let mut parts = place.split('|');
    let value = args.get(parts.next()?)?;
    let several = value.as_str().is_some_and(|s| s.contains(';'));
    Some(match (parts.next(), parts.next(), value) {
        (Some(_), Some(many), _) if several => many.to_string(),
        (Some(one), ..) => one.to_string(),
        (None, _, Value::String(s)) if s.is_empty() => "none".to_string(),
        // Zonemaster separates lists by semicolons; people read commas.
        (None, _, Value::String(s)) => s.replace(';', ", "),
        // No one reads tenths of 456 ms.
        (None, _, Value::Number(n)) if n.is_f64() => match n.as_f64().unwrap_or_default() {
            figure if figure.abs() < 10.0 => format!("{figure:.1}"),
            figure => format!("{figure:.0}"),
        },
        (None, _, other) => other.to_string(),
    })
}

/// Gathers the findings of one run of a test case.
pub(crate) struct Findings<'a> {
    test_case: &'static str,
    zone: &'a str,
    budget: &'a Memory,
    pub list: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub fn new(test_case: &'static str, zone: &'a str, budget: &'a Memory) -> Self {
        Findings { test_case, zone, budget, list: Vec::new() }
    }

    /// The same about the same servers is said once, by however many ways it was found.
    pub fn add(&mut self, tag: &str, args: &[(&str, Value)]) {
        let new = finding(self.test_case, self.zone, tag, args);
        // The list of servers stands in the sentence and among the arguments.
        let octets = size_of::<Finding>() + new.fix.len() + 2 * new.message.len();
        if !self.list.contains(&new) && self.budget.charge(octets) {
            self.list.push(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_case_has_rows() {
        let table: BTreeMap<String, Case> =
            toml::from_str(include_str!("../../data/findings.toml")).expect("the table is TOML");
        for name in crate::checks::test_cases() {
            assert!(table.contains_key(name), "{name} has no rows");
        }
        for (name, case) in &table {
            assert!(!case.source.is_empty() && !case.tags.is_empty(), "{name}");
            for tag in &case.broken {
                assert_eq!(case.tags.get(tag).map(|r| r.0), Some(Level::Warning), "{name} {tag}");
            }
            for (tag, (level, message, fix)) in &case.tags {
                assert!(message.ends_with('.'), "{name} {tag}: {message}");
                assert!(*level < Level::Warning || !fix.is_empty(), "{name} {tag}: a warning wants a remedy");
            }
        }
    }

    #[test]
    fn sentences_take_their_arguments() {
        let f = finding("Basic01", "a.example", "B01_CHILD_FOUND", &[("domain", "a.example".into())]);
        assert_eq!((f.level, f.message.contains("a.example")), (Level::Info, true));
    }

    #[test]
    fn verbs_fit_one_server_and_several_and_figures_are_short() {
        let said = |list: &str| {
            let args =
                Map::from_iter([("ns_list".to_string(), Value::from(list)), ("n".to_string(), 3.into())]);
            fill("{ns_list} {ns_list|has|have} {n} keys {of} {it.", &args)
        };
        assert_eq!(said("ns1/192.0.2.1"), "ns1/192.0.2.1 has 3 keys {of} {it.");
        assert_eq!(said("ns1;ns2"), "ns1, ns2 have 3 keys {of} {it.");
        let figures = Map::from_iter([("a".to_string(), 456.04.into()), ("b".to_string(), 3.06.into())]);
        assert_eq!(fill("{a} ms, {b} ms", &figures), "456 ms, 3.1 ms");
        assert_eq!(said("{n}"), "{n} has 3 keys {of} {it.", "what servers say is no template");
    }
}
