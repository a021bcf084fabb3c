//! Managers of fields: server-side apply with its conflicts, and the bookkeeping of all other writes.

use crate::failure::{CAUSES_MAX, Failure, listed};
use crate::fields::{Path, is_entry, is_map_with, leaves, set, unset, value, words};
use crate::kind::Kind;
use crate::managed::{Entry, ManagersSent, entries, managers_sent, write};
use crate::meta::{ANNOTATIONS_MAX, annotations_size, instant};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The manager of `kubectl apply --server-side`, which takes over what its client-side form applied.
const KUBECTL: &str = "kubectl";
/// The annotation in which `kubectl apply` without `--server-side` notes what it applied.
const LAST_APPLIED: [&str; 3] =
    ["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"];

/// Notes what a create, update or patch by a manager changed. Entries that the client sent take the place of those there
/// were: so tools move fields from one manager to another.
pub(crate) fn updated(old: Option<&Value>, new: &mut Value, manager: &str, now: Timestamp) {
    let mut list = match (old, managers_sent(new)) {
        // An object that is created is all its creator's.
        (None, _) | (_, ManagersSent::Reset) => Vec::new(),
        (Some(old), ManagersSent::Nothing) => entries(old),
        (Some(_), ManagersSent::Entries) => entries(new),
    };
    let now_there = leaves(new);
    let changed: BTreeSet<Path> =
        now_there.iter().filter(|p| old.and_then(|o| value(o, p)) != value(new, p)).cloned().collect();
    for e in &mut list {
        e.fields.retain(|p| now_there.contains(p) && !changed.contains(p));
    }
    if !changed.is_empty() {
        match list.iter_mut().find(|e| e.is(manager, false)) {
            Some(own) => {
                own.fields.extend(changed);
                own.time = instant(now).into();
            }
            None => list.push(Entry::new(manager, false, now, changed)),
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
    // An empty map asks that there is a map: what others have in it is not the applier's to take out.
    let is_met = |new: &Value, path: &Path| {
        is_map_with(value(intent, path), 0..=0) && is_map_with(value(new, path), 0..)
    };
    let differs = |new: &Value, path: &Path| value(new, path) != value(intent, path) && !is_met(new, path);
    let lost: BTreeSet<Path> = wanted.iter().filter(|p| differs(&new, p)).cloned().collect();
    let others = |e: &&mut Entry| !e.is(manager, true);
    // Garbage collection takes owner references out without a change of managers: what is not there has none.
    let there = old.map(leaves).unwrap_or_default();
    for other in list.iter_mut().filter(others) {
        other.fields.retain(|p| there.contains(p));
    }
    let mut conflicts: Vec<(String, &Path)> = Vec::new();
    for other in list.iter_mut().filter(others) {
        conflicts
            .extend(lost.iter().filter(|p| other.fields.contains(*p)).map(|p| (other.manager.clone(), p)));
    }
    let force = force || (manager == KUBECTL && old.is_some_and(|o| was_applied(o, &conflicts)));
    if !conflicts.is_empty() && !force {
        conflicts.sort_by(|a, b| a.1.cmp(b.1));
        let named: Vec<_> = conflicts.into_iter().map(|(m, p)| (m, words(p))).collect();
        return Err(conflict(kind, name, &named));
    }
    for other in list.iter_mut().filter(others) {
        other.fields.retain(|p| !lost.contains(p));
    }
    let own = list.iter().position(|e| e.is(manager, true));
    let before = own.map(|i| list.remove(i).fields).unwrap_or_default();
    for path in before.difference(&wanted).filter(|p| !list.iter().any(|e| e.fields.contains(*p))) {
        // A map that was empty when it was applied may hold fields of others by now.
        if is_entry(path) || !is_map_with(value(&new, path), 1..) {
            unset(&mut new, path);
        }
    }
    for path in &wanted {
        if let Some(v) = value(intent, path).filter(|_| !is_met(&new, path)) {
            set(&mut new, path, v.clone());
        }
    }
    if manager == KUBECTL {
        note_applied(&mut new, intent);
    }
    list.push(Entry::new(manager, true, now, wanted));
    write(&mut new, list);
    Ok(new)
}

/// True when the client-side form of `kubectl apply` set all these fields, as far as its annotation says.
fn was_applied(old: &Value, conflicts: &[(String, &Path)]) -> bool {
    let text = value(old, &LAST_APPLIED.map(String::from)).and_then(Value::as_str);
    let Some(applied) = text.and_then(|t| serde_json::from_str::<Value>(t).ok()) else { return false };
    let set = leaves(&applied);
    conflicts.iter().all(|(_, path)| set.contains(*path))
}

/// Brings the annotation of the client-side form up to date, where there is one, so that it can go on from there.
fn note_applied(new: &mut Value, intent: &Value) {
    let path = LAST_APPLIED.map(String::from);
    if value(new, &path).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = intent.clone();
    unset(&mut applied, &["metadata".into(), "managedFields".into()]);
    unset(&mut applied, &path);
    set(new, &path, applied.to_string().into());
    if annotations_size(new) > ANNOTATIONS_MAX {
        unset(new, &path);
    }
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
    fn an_empty_map_asks_for_a_map_and_takes_no_fields_of_others() {
        let bare = apply(None, &json!({}), "git", false).unwrap();
        let both = apply(Some(&bare), &json!({ "b": "1" }), "ops", false).unwrap();
        // Applied again, and no longer named: what ops has stays.
        let again = apply(Some(&both), &json!({}), "git", false).unwrap();
        assert_eq!(again["metadata"]["labels"], json!({ "b": "1" }));
        let intent = json!({ "spec": {} });
        let less = applied(&DOMAIN, "q7.io", Some(&again), &intent, ("git", false), now()).unwrap();
        assert_eq!(less["metadata"]["labels"], json!({ "b": "1" }));
        assert_eq!(less["spec"], json!({ "name": "q7.io" }), "ops names it, too");
        // Its own label goes, and an empty map with the manifest that named it.
        let own = apply(None, &json!({ "a": "1" }), "git", false).unwrap();
        let own = apply(Some(&own), &json!({}), "git", false).unwrap();
        assert_eq!(own["metadata"]["labels"], json!({}));
        let none = json!({ "spec": { "name": "q7.io" } });
        let gone = applied(&DOMAIN, "q7.io", Some(&own), &none, ("git", false), now()).unwrap();
        assert_eq!(gone["metadata"].get("labels"), None);
        // Where there is no map, it is made.
        let spec = json!({ "metadata": {}, "spec": "x" });
        let made = applied(&DOMAIN, "q7.io", Some(&spec), &intent, ("git", false), now()).unwrap();
        assert_eq!(made["spec"], json!({}));
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

    #[test]
    fn entries_that_a_client_sends_take_the_place_of_those_there_were() {
        let first = apply(None, &json!({ "a": "1", "b": "1" }), "git", false).unwrap();
        let mut moved = first.clone();
        moved["metadata"]["managedFields"][0]["manager"] = "flux".into();
        moved["metadata"]["labels"]["b"] = "2".into();
        updated(Some(&first), &mut moved, "patcher", now());
        let of = |o: &Value| -> Vec<_> {
            entries(o).into_iter().map(|e| (e.manager, e.applies, e.fields.len())).collect()
        };
        assert_eq!(of(&moved), [("flux".to_string(), true, 2), ("patcher".to_string(), false, 1)]);
        for reset in [json!([]), json!([{}])] {
            let mut new = moved.clone();
            new["metadata"]["managedFields"] = reset;
            updated(Some(&moved), &mut new, "patcher", now());
            assert!(of(&new).is_empty());
        }
    }

    #[test]
    fn kubectl_takes_over_what_its_client_side_form_applied() {
        let path = LAST_APPLIED.map(String::from);
        let mut object = with_labels(&json!({ "a": "1" }));
        set(&mut object, &path, with_labels(&json!({ "a": "1" })).to_string().into());
        updated(None, &mut object, "kubectl-client-side-apply", now());
        let labels = json!({ "a": "2" });
        // Any other manager conflicts, and kubectl over what it did not apply.
        assert_eq!(apply(Some(&object), &labels, "ops", false).unwrap_err().code, 409);
        let mut edited = object.clone();
        edited["metadata"]["labels"]["c"] = "1".into();
        updated(Some(&object), &mut edited, "ops", now());
        let both = json!({ "a": "2", "c": "2" });
        assert_eq!(apply(Some(&edited), &both, KUBECTL, false).unwrap_err().code, 409);
        let taken = apply(Some(&object), &labels, KUBECTL, false).unwrap();
        assert_eq!(taken["metadata"]["labels"], labels);
        // What the client-side form compares with next time.
        let noted: Value = serde_json::from_str(value(&taken, &path).unwrap().as_str().unwrap()).unwrap();
        assert_eq!(noted, with_labels(&labels));
    }

    #[test]
    fn appliers_have_an_owner_each() {
        let owner = |name: &str, uid: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid });
        let apply = |old: Option<&Value>, owners: &[Value], manager: &str| {
            let intent = json!({ "metadata": { "ownerReferences": owners }, "spec": { "name": "q7.io" } });
            applied(&DOMAIN, "q7.io", old, &intent, (manager, false), now())
        };
        let of = |o: &Value| o["metadata"]["ownerReferences"].clone();
        let first = apply(None, &[owner("x", "u1")], "a").unwrap();
        let both = apply(Some(&first), &[owner("y", "u2")], "b").unwrap();
        assert_eq!(of(&both), json!([owner("x", "u1"), owner("y", "u2")]));
        let e = apply(Some(&both), &[owner("z", "u1")], "b").unwrap_err();
        assert_eq!(e.details["causes"][0]["field"], ".metadata.ownerReferences[uid=\"u1\"]");
        assert_eq!(of(&apply(Some(&both), &[], "a").unwrap()), json!([owner("y", "u2")]));
        // One that garbage collection took out has no manager any more.
        let mut stripped = both.clone();
        stripped["metadata"]["ownerReferences"] = json!([owner("y", "u2")]);
        let taken = apply(Some(&stripped), &[owner("y", "u2"), owner("x", "u1")], "b").unwrap();
        assert_eq!(of(&taken), json!([owner("y", "u2"), owner("x", "u1")]));
    }
}
