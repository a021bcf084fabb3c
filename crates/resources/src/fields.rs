//! Sets of fields, in the form of `managedFields` (FieldsV1): which leaves of an object a manager set.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A path of keys to a leaf.
pub(crate) type Path = Vec<String>;

/// Metadata that managers own; the rest of it belongs to the server.
const OWNED: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// The leaves that a client may own: of `spec` and of the metadata it writes. Lists are leaves.
pub(crate) fn leaves(object: &Value) -> BTreeSet<Path> {
    let mut out = BTreeSet::new();
    if let Some(spec) = object.get("spec") {
        walk(spec, &mut vec!["spec".into()], &mut out);
    }
    for key in OWNED {
        if let Some(value) = object["metadata"].get(key) {
            walk(value, &mut vec!["metadata".into(), key.into()], &mut out);
        }
    }
    // What the client-side apply of kubectl notes is no field that two could disagree about.
    out.retain(|p| p.last().is_none_or(|k| k != "kubectl.kubernetes.io/last-applied-configuration"));
    out
}

fn walk(value: &Value, at: &mut Path, out: &mut BTreeSet<Path>) {
    match value.as_object() {
        Some(map) if !map.is_empty() => {
            for (key, inner) in map {
                at.push(key.clone());
                walk(inner, at, out);
                at.pop();
            }
        }
        _ => {
            out.insert(at.clone());
        }
    }
}

/// The value at a path.
pub(crate) fn value<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |v, key| v.get(key))
}

/// Sets the value at a path, making the objects on the way.
pub(crate) fn set(object: &mut Value, path: &[String], new: Value) {
    let mut at = object;
    for key in path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[key.as_str()];
    }
    *at = new;
}

/// Takes the value at a path out.
pub(crate) fn unset(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(object, |v, key| v.get_mut(key));
    if let Some(map) = parent.and_then(Value::as_object_mut) {
        map.remove(last);
    }
}

/// The FieldsV1 form of a set.
pub(crate) fn to_v1(set_of: &BTreeSet<Path>) -> Value {
    let mut out = Value::Object(Map::new());
    for path in set_of {
        let keys: Vec<String> = path.iter().map(|k| format!("f:{k}")).collect();
        set(&mut out, &keys, Value::Object(Map::new()));
    }
    out
}

/// The set of a FieldsV1 form.
pub(crate) fn from_v1(v1: &Value) -> BTreeSet<Path> {
    let mut out = BTreeSet::new();
    read(v1, &mut Vec::new(), &mut out);
    out
}

fn read(v1: &Value, at: &mut Path, out: &mut BTreeSet<Path>) {
    let fields: Vec<_> =
        v1.as_object().into_iter().flatten().filter_map(|(k, v)| Some((k.strip_prefix("f:")?, v))).collect();
    if fields.is_empty() && !at.is_empty() {
        out.insert(at.clone());
    }
    for (key, inner) in fields {
        at.push(key.to_string());
        read(inner, at, out);
        at.pop();
    }
}

/// A path as error messages write it.
pub(crate) fn words(path: &[String]) -> String {
    path.iter().map(|k| format!(".{k}")).collect()
}
