//! `metadata.managedFields`: reading it, checking what a client sends, and writing it.

use crate::fields::{Path, fault, from_v1, split_lists, to_v1};
use crate::kind::Kind;
use crate::meta::instant;
use crate::schema::Violation;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most managers of one object; beyond, the oldest entries of managers that only updated become one.
const MANAGERS_MAX: usize = 20;
/// Manager of the merged entry, as API servers call it.
const ANCIENT: &str = "ancient-changes";

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
    merge_oldest(&mut entries);
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

/// Merges the oldest updates, so that at most [`MANAGERS_MAX`] entries are left where enough of them are updates. The merged
/// entry has the time of its newest part.
fn merge_oldest(entries: &mut Vec<Entry>) {
    let Some(surplus) = entries.len().checked_sub(MANAGERS_MAX).filter(|n| *n > 0) else { return };
    let time = |e: &Entry| e.time.as_str().and_then(|t| t.parse::<Timestamp>().ok());
    let mut updates: Vec<usize> = (0..entries.len()).filter(|i| !entries[*i].applies).collect();
    updates.sort_by_key(|i| time(&entries[*i]));
    // One more than the surplus: the merged entry takes a place itself.
    updates.truncate(surplus + 1);
    let [first, .., newest] = updates[..] else { return };
    let fields = updates.iter().flat_map(|i| entries[*i].fields.clone()).collect();
    let merged = Entry {
        manager: ANCIENT.into(),
        applies: false,
        subresource: String::new(),
        time: entries[newest].time.clone(),
        fields,
    };
    entries[first] = merged;
    let mut index = 0;
    entries.retain(|_| {
        index += 1;
        index - 1 == first || !updates.contains(&(index - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(i: usize, time: Option<&str>) -> Entry {
        let fields = json!({ "f:spec": { (format!("f:f{i}")): {} } });
        let entry =
            json!({ "manager": format!("m{i}"), "operation": "Update", "time": time, "fieldsV1": fields });
        let with = json!({ "metadata": { "managedFields": [entry] } });
        entries(&with).remove(0)
    }

    /// Names, operations and times of what is written of these entries, and the fields of the merged one.
    fn written(all: Vec<Entry>) -> (Vec<String>, Option<Value>) {
        let mut object = json!({ "metadata": {} });
        write(&mut object, all);
        let list = object["metadata"]["managedFields"].as_array().unwrap();
        let names = list.iter().map(|e| {
            let word = |key: &str| e[key].as_str().unwrap_or("-").to_string();
            format!("{} {} {}", word("manager"), word("operation"), word("time"))
        });
        let merged = list.iter().find(|e| e["manager"] == ANCIENT).map(|e| e["fieldsV1"].clone());
        (names.collect(), merged)
    }

    #[test]
    fn the_oldest_updates_become_one_entry_that_keeps_their_fields() {
        let at = |i: usize| format!("2026-11-20T12:00:{i:02}Z");
        // The oldest ones are not the first ones of the list.
        let mut all: Vec<Entry> = (0..22).rev().map(|i| update(i, Some(&at(i)))).collect();
        all[21].applies = true;
        let (names, merged) = written(all.clone());
        assert_eq!(names.len(), MANAGERS_MAX);
        assert!(names.contains(&format!("m0 Apply {}", at(0))), "an applied entry is not merged: {names:?}");
        assert!(
            names.contains(&format!("{ANCIENT} Update {}", at(3)))
                && names.contains(&format!("m4 Update {}", at(4))),
            "{names:?}"
        );
        assert_eq!(merged, Some(json!({ "f:spec": { "f:f1": {}, "f:f2": {}, "f:f3": {} } })));
        // What was merged before is merged again, and what has no time is the oldest.
        let mut object = json!({ "metadata": {} });
        write(&mut object, all);
        let mut next = entries(&object);
        next.push(update(90, None));
        let (names, merged) = written(next);
        assert_eq!((names.len(), names.iter().filter(|n| n.starts_with(ANCIENT)).count()), (MANAGERS_MAX, 1));
        assert_eq!(merged, Some(json!({ "f:spec": { "f:f1": {}, "f:f2": {}, "f:f3": {}, "f:f90": {} } })));
        let few: Vec<Entry> = (0..MANAGERS_MAX).map(|i| update(i, None)).collect();
        assert_eq!(written(few).1, None);
    }
}
