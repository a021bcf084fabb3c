//! Sets of fields, in the form of `managedFields` (FieldsV1): which leaves of an object a manager set.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A path of keys to a leaf.
pub(crate) type Path = Vec<String>;

/// Metadata that managers own; the rest of it belongs to the server.
const OWNED: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Where finalizers are: a set, each member of which has managers of its own.
const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];

/// The key of a member of a set (`v:` and its JSON, as FieldsV1 writes it).
fn member(value: &Value) -> String {
    format!("v:{value}")
}

/// The finalizer that a path names.
fn finalizer(path: &[String]) -> Option<Value> {
    let [metadata, finalizers, member] = path else { return None };
    let json = member.strip_prefix("v:").filter(|_| [metadata, finalizers] == FINALIZERS)?;
    serde_json::from_str(json).ok()
}

/// The leaves that a client may own: of `spec` and of the metadata it writes. Lists are leaves, but for finalizers.
pub(crate) fn leaves(object: &Value) -> BTreeSet<Path> {
    let mut out = BTreeSet::new();
    if let Some(spec) = object.get("spec") {
        walk(spec, &mut vec!["spec".into()], &mut out);
    }
    for key in OWNED {
        match object["metadata"].get(key) {
            Some(Value::Array(list)) if key == "finalizers" => {
                out.extend(list.iter().map(|f| vec!["metadata".into(), key.into(), member(f)]));
            }
            Some(value) => walk(value, &mut vec!["metadata".into(), key.into()], &mut out),
            None => {}
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
    path.iter().try_fold(object, |v, key| match v {
        Value::Array(list) => list.iter().find(|e| member(e) == *key),
        v => v.get(key),
    })
}

/// Sets the value at a path, making the objects on the way.
pub(crate) fn set(object: &mut Value, path: &[String], new: Value) {
    if let Some(finalizer) = finalizer(path) {
        let list = &mut object["metadata"]["finalizers"];
        match list.as_array_mut() {
            Some(list) if list.contains(&finalizer) => {}
            Some(list) => list.push(finalizer),
            None => *list = Value::Array(vec![finalizer]),
        }
        return;
    }
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
    match parents.iter().try_fold(object, |v, key| v.get_mut(key)) {
        Some(Value::Object(map)) => drop(map.remove(last)),
        Some(Value::Array(list)) => list.retain(|e| member(e) != *last),
        _ => {}
    }
}

/// The FieldsV1 form of a set.
pub(crate) fn to_v1(set_of: &BTreeSet<Path>) -> Value {
    let mut out = Value::Object(Map::new());
    for path in set_of {
        let is_member = finalizer(path).is_some();
        let key = |(i, k): (usize, &String)| if is_member && i == 2 { k.clone() } else { format!("f:{k}") };
        let keys: Vec<String> = path.iter().enumerate().map(key).collect();
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
    let is_set = *at == FINALIZERS;
    let name = |k: &'_ str| match k.strip_prefix("f:") {
        None => (is_set && k.starts_with("v:")).then(|| k.to_string()),
        Some(name) => Some(name.to_string()),
    };
    let fields: Vec<_> =
        v1.as_object().into_iter().flatten().filter_map(|(k, v)| Some((name(k)?, v))).collect();
    if fields.is_empty() && !at.is_empty() {
        out.insert(at.clone());
    }
    for (key, inner) in fields {
        at.push(key);
        read(inner, at, out);
        at.pop();
    }
}

/// Puts the members of an object's finalizers in place of the whole list, which managers of earlier versions own.
pub(crate) fn split_finalizers(fields: &mut BTreeSet<Path>, object: &Value) {
    if fields.remove(&FINALIZERS.map(String::from).to_vec()) {
        fields.extend(leaves(object).into_iter().filter(|p| finalizer(p).is_some()));
    }
}

/// A path as error messages write it.
pub(crate) fn words(path: &[String]) -> String {
    path.iter().map(|k| format!(".{k}")).collect()
}
