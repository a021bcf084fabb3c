//! `metadata.managedFields`: what it says, what of a client's is accepted, and how it is written.

use crate::fields::{Path, fault, from_v1, split_lists, to_v1};
use crate::kind::Kind;
use crate::meta::instant;
use crate::schema::Violation;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most managers of one object; beyond, the entries of the oldest that only updated are dropped.
const MANAGERS_MAX: usize = 20;

/// Most entries that are accepted of a client, and that appliers make.
const ENTRIES_MAX: usize = 100;
/// Longest name of a manager, in characters.
pub(crate) const MANAGER_MAX: usize = 128;
/// Longest name of a subresource, in characters.
const SUBRESOURCE_MAX: usize = 256;

/// A manager's entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) applies: bool,
    /// Of another server; writes of the status are not noted here.
    subresource: String,
    pub(crate) time: Value,
    pub(crate) fields: BTreeSet<Path>,
}

impl Entry {
    pub(crate) fn new(manager: &str, applies: bool, now: Timestamp, fields: BTreeSet<Path>) -> Self {
        let time = instant(now).into();
        Entry { manager: manager.into(), applies, subresource: String::new(), time, fields }
    }

    /// True for the entry of a manager's writes of the object itself.
    pub(crate) fn is(&self, manager: &str, applies: bool) -> bool {
        (self.manager.as_str(), self.applies) == (manager, applies) && self.subresource.is_empty()
    }
}

/// The entries of an object, one for each manager and kind of write.
pub(crate) fn entries(object: &Value) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for e in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let word = |key: &str| e[key].as_str().unwrap_or_default().to_string();
        let mut fields = from_v1(&e["fieldsV1"]);
        split_lists(&mut fields, object);
        let entry = Entry {
            manager: word("manager"),
            applies: e["operation"] == "Apply",
            subresource: word("subresource"),
            time: e["time"].clone(),
            fields,
        };
        let same = |a: &&mut Entry| {
            (&a.manager, a.applies, &a.subresource) == (&entry.manager, entry.applies, &entry.subresource)
        };
        match all.iter_mut().find(same) {
            Some(known) => known.fields.extend(entry.fields),
            None => all.push(entry),
        }
    }
    all
}

/// The managers in an object that a client sends.
pub(crate) enum ManagersSent {
    Nothing,
    /// The bookkeeping begins again: an empty list, or one empty entry, as clients write that where empty lists are left out.
    Reset,
    Entries,
}

/// Classifies the managers in an object that a client sent.
pub(crate) fn managers_sent(object: &Value) -> ManagersSent {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        None => ManagersSent::Nothing,
        Some([]) => ManagersSent::Reset,
        Some([one]) if one.as_object().is_some_and(Map::is_empty) => ManagersSent::Reset,
        Some(_) => ManagersSent::Entries,
    }
}

/// Rules that the entries of an object break, unless they are those it had.
pub(crate) fn check(object: &Value, old: Option<&Value>) -> Vec<Violation> {
    let list = &object["metadata"]["managedFields"];
    if !matches!(managers_sent(object), ManagersSent::Entries)
        || old.is_some_and(|o| o["metadata"]["managedFields"] == *list)
    {
        return Vec::new();
    }
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    if list.len() > ENTRIES_MAX {
        let rule = format!("must have at most {ENTRIES_MAX} items");
        return vec![Violation::invalid("metadata.managedFields", &list.len().to_string(), rule)];
    }
    list.iter()
        .enumerate()
        .flat_map(|(i, e)| check_entry(&format!("metadata.managedFields[{i}]"), e))
        .collect()
}

fn check_entry(at: &str, entry: &Value) -> Vec<Violation> {
    let mut out = Vec::new();
    let version = Kind::api_version();
    for (key, allowed) in [
        ("operation", &["Apply", "Update"][..]),
        ("fieldsType", &["FieldsV1"][..]),
        ("apiVersion", &[version.as_str()][..]),
    ] {
        match entry[key].as_str() {
            None => out.push(Violation::required(format!("{at}.{key}"))),
            Some(word) if allowed.contains(&word) => {}
            Some(word) => {
                out.push(Violation::invalid(
                    format!("{at}.{key}"),
                    word,
                    format!("must be {}", allowed.join(" or ")),
                ));
            }
        }
    }
    for (key, most) in [("manager", MANAGER_MAX), ("subresource", SUBRESOURCE_MAX)] {
        let word = entry[key].as_str().unwrap_or_default();
        if word.chars().count() > most || word.chars().any(char::is_control) {
            let rule = format!("must have at most {most} characters that are printable");
            out.push(Violation::invalid(format!("{at}.{key}"), word, rule));
        }
    }
    if let Some(time) = entry["time"].as_str().filter(|t| t.parse::<Timestamp>().is_err()) {
        out.push(Violation::invalid(format!("{at}.time"), time, "must be an instant (RFC 3339)"));
    }
    if let Some(fault) = entry.get("fieldsV1").and_then(fault) {
        out.push(Violation::invalid(format!("{at}.fieldsV1"), "", fault));
    }
    out
}

/// Writes the entries of an object.
pub(crate) fn write(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|e| !e.fields.is_empty());
    if entries.len() > MANAGERS_MAX {
        let surplus = entries.len() - MANAGERS_MAX;
        let mut left = surplus;
        entries.retain(|e| {
            let drop = left > 0 && !e.applies;
            left -= usize::from(drop);
            !drop
        });
    }
    let list: Vec<Value> = entries
        .into_iter()
        .map(|e| {
            let mut entry = json!({
                "manager": e.manager, "operation": if e.applies { "Apply" } else { "Update" },
                "apiVersion": Kind::api_version(), "fieldsType": "FieldsV1", "fieldsV1": to_v1(&e.fields),
            });
            if !e.time.is_null() {
                entry["time"] = e.time;
            }
            if !e.subresource.is_empty() {
                entry["subresource"] = e.subresource.into();
            }
            entry
        })
        .collect();
    object["metadata"]["managedFields"] = list.into();
}
