//! Who manages which fields: server-side apply with its conflicts, and the bookkeeping of all other writes.

use crate::failure::{CAUSES_MAX, Failure, listed};
use crate::fields::{Path, from_v1, leaves, set, split_finalizers, to_v1, unset, value, words};
use crate::kind::Kind;
use crate::meta::instant;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Most managers of one object; the oldest that only updated are merged beyond.
const MANAGERS_MAX: usize = 20;

/// A manager's entry.
#[derive(Debug, Clone)]
struct Entry {
    manager: String,
    applies: bool,
    time: Value,
    fields: BTreeSet<Path>,
}

fn entries(object: &Value) -> Vec<Entry> {
    let list = object["metadata"]["managedFields"].as_array();
    list.into_iter()
        .flatten()
        .map(|e| {
            let mut fields = from_v1(&e["fieldsV1"]);
            split_finalizers(&mut fields, object);
            Entry {
                manager: e["manager"].as_str().unwrap_or_default().to_string(),
                applies: e["operation"] == "Apply",
                time: e["time"].clone(),
                fields,
            }
        })
        .collect()
}

fn write(object: &mut Value, mut entries: Vec<Entry>) {
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
            json!({
                "manager": e.manager, "operation": if e.applies { "Apply" } else { "Update" },
                "apiVersion": Kind::api_version(), "time": e.time, "fieldsType": "FieldsV1",
                "fieldsV1": to_v1(&e.fields),
            })
        })
        .collect();
    object["metadata"]["managedFields"] = list.into();
}

/// Notes what a create, update or patch by a manager changed.
pub(crate) fn updated(old: Option<&Value>, new: &mut Value, manager: &str, now: Timestamp) {
    // A client that sends an empty list asks for the bookkeeping to begin again.
    let reset = new["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty);
    let mut list = old.filter(|_| !reset).map(entries).unwrap_or_default();
    let now_there = leaves(new);
    let changed: BTreeSet<Path> =
        now_there.iter().filter(|p| old.and_then(|o| value(o, p)) != value(new, p)).cloned().collect();
    for e in &mut list {
        e.fields.retain(|p| now_there.contains(p) && !changed.contains(p));
    }
    if !changed.is_empty() {
        match list.iter_mut().find(|e| e.manager == manager && !e.applies) {
            Some(own) => {
                own.fields.extend(changed);
                own.time = instant(now).into();
            }
            None => list.push(Entry {
                manager: manager.into(),
                applies: false,
                time: instant(now).into(),
                fields: changed,
            }),
        }
    }
    write(new, list);
}

/// The object after a manager applies its intent: what it names is set, what it named before and no one else manages goes.
pub(crate) fn applied(
    kind: &Kind,
    name: &str,
    old: Option<&Value>,
    intent: &Value,
    (manager, force): (&str, bool),
    now: Timestamp,
) -> Result<Value, Failure> {
    let wanted = leaves(intent);
    let mut list = old.map(entries).unwrap_or_default();
    let mut new = old.cloned().unwrap_or_else(|| intent.clone());
    let mut conflicts: Vec<(String, String)> = Vec::new();
    for path in &wanted {
        if value(&new, path) == value(intent, path) {
            continue;
        }
        for other in list.iter_mut().filter(|e| !(e.manager == manager && e.applies)) {
            if other.fields.contains(path) {
                if force {
                    other.fields.remove(path);
                } else {
                    conflicts.push((other.manager.clone(), words(path)));
                }
            }
        }
    }
    if !conflicts.is_empty() {
        return Err(conflict(kind, name, &conflicts));
    }
    let own = list.iter().position(|e| e.manager == manager && e.applies);
    let before = own.map(|i| list.remove(i).fields).unwrap_or_default();
    for path in before.difference(&wanted).filter(|p| !list.iter().any(|e| e.fields.contains(*p))) {
        unset(&mut new, path);
    }
    for path in &wanted {
        if let Some(v) = value(intent, path) {
            set(&mut new, path, v.clone());
        }
    }
    list.push(Entry { manager: manager.into(), applies: true, time: instant(now).into(), fields: wanted });
    write(&mut new, list);
    Ok(new)
}

fn conflict(kind: &Kind, name: &str, conflicts: &[(String, String)]) -> Failure {
    let count = conflicts.len();
    let plural = if count == 1 { "conflict" } else { "conflicts" };
    let mut failure = Failure::conflict(kind, name, "");
    let list = listed(conflicts, |(m, f)| format!("conflict with {m:?}: {f}"));
    failure.message = format!("Apply failed with {count} {plural}: {list}");
    let causes = conflicts
        .iter()
        .take(CAUSES_MAX)
        .map(|(m, f)| json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {m:?}"), "field": f }));
    failure.details["causes"] = causes.collect();
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::DOMAIN;

    fn now() -> Timestamp {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }

    fn with_labels(labels: &Value) -> Value {
        json!({ "metadata": { "labels": labels }, "spec": { "name": "q7.io" } })
    }

    fn apply(old: Option<&Value>, labels: &Value, manager: &str, force: bool) -> Result<Value, Failure> {
        applied(&DOMAIN, "q7.io", old, &with_labels(labels), (manager, force), now())
    }

    #[test]
    fn managers_share_what_they_agree_about_and_conflict_over_the_rest() {
        let first = apply(None, &json!({ "a": "1", "b": "1" }), "git", false).unwrap();
        let shared = apply(Some(&first), &json!({ "a": "1" }), "ops", false).unwrap();
        let e = apply(Some(&shared), &json!({ "a": "2" }), "ops", false).unwrap_err();
        assert_eq!((e.code, e.reason), (409, "Conflict"));
        assert_eq!(e.message, "Apply failed with 1 conflict: conflict with \"git\": .metadata.labels.a");
        assert_eq!(e.details["causes"][0]["field"], ".metadata.labels.a");
        let forced = apply(Some(&shared), &json!({ "a": "2" }), "ops", true).unwrap();
        assert_eq!(forced["metadata"]["labels"], json!({ "a": "2", "b": "1" }));
        // git no longer names b, and lost a: both stay out of its reach or go.
        let less = apply(Some(&forced), &json!({ "c": "1" }), "git", false).unwrap();
        assert_eq!(less["metadata"]["labels"], json!({ "a": "2", "c": "1" }));
    }

    #[test]
    fn a_conflict_over_many_fields_names_a_hundred_of_them() {
        let labels = |value: &str| -> Value {
            (0..250).map(|n| (format!("l{n:03}"), value.into())).collect::<serde_json::Map<_, _>>().into()
        };
        let first = apply(None, &labels("1"), "git", false).unwrap();
        let e = apply(Some(&first), &labels("2"), "ops", false).unwrap_err();
        assert!(
            e.message.starts_with("Apply failed with 250 conflicts") && e.message.ends_with("and 150 more")
        );
        assert_eq!(e.details["causes"].as_array().map(Vec::len), Some(100));
    }

    #[test]
    fn appliers_have_a_finalizer_each() {
        let apply = |old: Option<&Value>, list: &[&str], manager: &str| {
            let intent = json!({ "metadata": { "finalizers": list }, "spec": { "name": "q7.io" } });
            applied(&DOMAIN, "q7.io", old, &intent, (manager, false), now()).unwrap()
        };
        let of = |o: &Value| o["metadata"]["finalizers"].clone();
        let first = apply(None, &["a.example/x"], "a");
        let both = apply(Some(&first), &["b.example/y"], "b");
        assert_eq!(of(&both), json!(["a.example/x", "b.example/y"]));
        let fields = &both["metadata"]["managedFields"][1]["fieldsV1"]["f:metadata"]["f:finalizers"];
        assert_eq!(*fields, json!({ "v:\"b.example/y\"": {} }));
        assert_eq!(apply(Some(&both), &["b.example/y"], "b"), both, "applied again");
        // Each takes its own out.
        assert_eq!(of(&apply(Some(&both), &[], "a")), json!(["b.example/y"]));
        assert_eq!(of(&apply(Some(&both), &["b.example/z"], "b")), json!(["a.example/x", "b.example/z"]));
        // One that both name stays until both let go.
        let shared = apply(Some(&both), &["b.example/y", "a.example/x"], "b");
        assert_eq!(of(&apply(Some(&shared), &[], "a")), json!(["a.example/x", "b.example/y"]));
        // An entry of an earlier version owns the whole list as it was then.
        let mut old = first.clone();
        old["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:finalizers"] = json!({});
        let both = apply(Some(&old), &["b.example/y"], "b");
        assert_eq!(of(&both), json!(["a.example/x", "b.example/y"]));
        assert_eq!(of(&apply(Some(&both), &["a.example/z"], "a")), json!(["b.example/y", "a.example/z"]));
    }

    #[test]
    fn an_update_takes_what_it_changed() {
        let first = apply(None, &json!({ "a": "1", "b": "1" }), "git", false).unwrap();
        let mut edited = first.clone();
        edited["metadata"]["labels"]["a"] = "2".into();
        updated(Some(&first), &mut edited, "kubectl-edit", now());
        let fields = |o: &Value, m: &str| entries(o).into_iter().find(|e| e.manager == m).map(|e| e.fields);
        assert!(!fields(&edited, "git").unwrap().contains(&vec![
            "metadata".into(),
            "labels".into(),
            "a".into()
        ]));
        assert_eq!(fields(&edited, "kubectl-edit").unwrap().len(), 1);
        assert_eq!(apply(Some(&edited), &json!({ "a": "1", "b": "1" }), "git", false).unwrap_err().code, 409);
        let mut same = edited.clone();
        updated(Some(&edited), &mut same, "other", now());
        assert_eq!(same, edited, "nothing changed, nothing is noted");
    }
}
