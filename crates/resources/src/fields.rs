//! Sets of fields, in the form of `managedFields` (FieldsV1): which leaves of an object a manager set.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::RangeBounds;

/// A path of keys to a leaf.
pub(crate) type Path = Vec<String>;

/// Metadata that managers own; the rest of it belongs to the server.
const OWNED: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Lists of metadata whose entries have managers of their own: finalizers are a set, owner references a map by `uid`.
const LISTS: [&str; 2] = ["finalizers", "ownerReferences"];

/// The key of an entry of one of [`LISTS`], as FieldsV1 writes it: `v:` and its JSON, `k:` and the JSON of its key.
fn entry_key(list: &str, entry: &Value) -> String {
    if list == "finalizers" { format!("v:{entry}") } else { format!("k:{}", json!({ "uid": entry["uid"] })) }
}

/// The list and the key of an entry of one of [`LISTS`] that a path names.
fn entry_of(path: &[String]) -> Option<(&str, &str)> {
    let [metadata, list, key] = path else { return None };
    let form = if list == "finalizers" { "v:" } else { "k:" };
    let is_entry = metadata == "metadata" && LISTS.contains(&list.as_str()) && key.starts_with(form);
    is_entry.then_some((list.as_str(), key.as_str()))
}

/// True for the path of an entry of one of [`LISTS`].
pub(crate) fn is_entry(path: &[String]) -> bool {
    entry_of(path).is_some()
}

/// True for a map that has a number of fields of this range.
pub(crate) fn is_map_with(value: Option<&Value>, fields: impl RangeBounds<usize>) -> bool {
    value.and_then(Value::as_object).is_some_and(|map| fields.contains(&map.len()))
}

/// True for the entry of a list that a key names.
fn has_key(entry: &Value, key: &str) -> bool {
    LISTS.iter().any(|list| entry_key(list, entry) == key)
}

/// The leaves that a client may own: of `spec` and of the metadata it writes. Lists are leaves, but for
/// [`LISTS`].
pub(crate) fn leaves(object: &Value) -> BTreeSet<Path> {
    let mut out = BTreeSet::new();
    if let Some(spec) = object.get("spec") {
        walk(spec, &mut vec!["spec".into()], &mut out);
    }
    for key in OWNED {
        match object["metadata"].get(key) {
            Some(Value::Array(list)) if LISTS.contains(&key) => {
                out.extend(list.iter().map(|e| vec!["metadata".into(), key.into(), entry_key(key, e)]));
            }
            Some(value) => walk(value, &mut vec!["metadata".into(), key.into()], &mut out),
            None => {}
        }
    }
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
        Value::Array(list) => list.iter().find(|e| has_key(e, key)),
        v => v.get(key),
    })
}

/// Sets the value at a path, making the objects on the way.
pub(crate) fn set(object: &mut Value, path: &[String], new: Value) {
    if let Some((list, key)) = entry_of(path) {
        let list = &mut object["metadata"][list];
        let Some(entries) = list.as_array_mut() else {
            *list = Value::Array(vec![new]);
            return;
        };
        match entries.iter_mut().find(|e| has_key(e, key)) {
            Some(entry) => *entry = new,
            None => entries.push(new),
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
        Some(Value::Array(list)) => list.retain(|e| !has_key(e, last)),
        _ => {}
    }
}

/// The FieldsV1 form of a set.
pub(crate) fn to_v1(set_of: &BTreeSet<Path>) -> Value {
    let mut out = Value::Object(Map::new());
    for path in set_of {
        let is_entry = is_entry(path);
        let key = |(i, k): (usize, &String)| if is_entry && i == 2 { k.clone() } else { format!("f:{k}") };
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
    // An entry of a list is one field, whatever of it a manager named.
    if entry_of(at).is_some() {
        out.insert(at.clone());
        return;
    }
    let list = match &at[..] {
        [metadata, list] if metadata == "metadata" && LISTS.contains(&list.as_str()) => Some(list.clone()),
        _ => None,
    };
    let name = |k: &str| match (k.strip_prefix("f:"), &list) {
        (Some(name), _) => Some(name.to_string()),
        (None, Some(list)) => {
            let json = k.strip_prefix(if list == "finalizers" { "v:" } else { "k:" })?;
            Some(entry_key(list, &serde_json::from_str(json).ok()?))
        }
        (None, None) => None,
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

/// The fault of a FieldsV1 form; `None` when it is well-formed.
pub(crate) fn fault(v1: &Value) -> Option<String> {
    let Some(map) = v1.as_object() else { return Some("a set of fields is an object".into()) };
    map.iter().find_map(|(key, inner)| {
        let is_known = match key.split_at_checked(2) {
            Some(("f:", _)) => true,
            Some(("v:", json)) => serde_json::from_str::<Value>(json).is_ok(),
            Some(("k:", json)) => serde_json::from_str::<Map<String, Value>>(json).is_ok(),
            Some(("i:", index)) => index.parse::<i32>().is_ok(),
            _ => key == ".",
        };
        if is_known {
            fault(inner)
        } else {
            Some(format!("{:?} names no field", key.chars().take(80).collect::<String>()))
        }
    })
}

/// Puts the entries of an object's [`LISTS`] in place of a whole list, which managers of earlier versions own.
pub(crate) fn split_lists(fields: &mut BTreeSet<Path>, object: &Value) {
    for list in LISTS {
        if fields.remove(&["metadata", list].map(String::from).to_vec()) {
            fields
                .extend(leaves(object).into_iter().filter(|p| entry_of(p).is_some_and(|(of, _)| of == list)));
        }
    }
}

/// A path as error messages write it.
pub(crate) fn words(path: &[String]) -> String {
    let Some((list, key)) = entry_of(path) else { return path.iter().map(|k| format!(".{k}")).collect() };
    let (form, json) = key.split_at(2);
    let of: Value = serde_json::from_str(json).unwrap_or_default();
    let of = if form == "k:" { format!("uid={}", of["uid"]) } else { format!("={of}") };
    format!(".metadata.{list}[{of}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_lists_have_the_keys_of_kubernetes() {
        let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u1" });
        let object = json!({ "metadata": { "finalizers": ["x.example/y"], "ownerReferences": [owner] } });
        let all = leaves(&object);
        let v1 = json!({ "f:metadata": {
            "f:finalizers": { "v:\"x.example/y\"": {} }, "f:ownerReferences": { "k:{\"uid\":\"u1\"}": {} },
        } });
        assert_eq!(to_v1(&all), v1);
        assert_eq!(from_v1(&v1), all);
        // As API servers before 1.20 wrote it, and with spaces.
        let older = json!({ "f:metadata": {
            "f:finalizers": { ".": {}, "v: \"x.example/y\"": {} },
            "f:ownerReferences": { ".": {}, "k:{ \"uid\": \"u1\" }": { ".": {}, "f:kind": {}, "f:name": {} } },
        } });
        assert_eq!(from_v1(&older), all);
        let text: Vec<String> = all.iter().map(|p| words(p)).collect();
        assert_eq!(text, [".metadata.finalizers[=\"x.example/y\"]", ".metadata.ownerReferences[uid=\"u1\"]"]);
        // A whole list, as earlier versions of this program wrote it.
        let mut whole = from_v1(&json!({ "f:metadata": { "f:finalizers": {}, "f:ownerReferences": {} } }));
        split_lists(&mut whole, &object);
        assert_eq!(whole, all);
    }

    #[test]
    fn sets_of_fields_that_cannot_be_read_say_which_key() {
        for fine in [json!({}), json!({ ".": {}, "f:a": { "i:0": {}, "k:{\"a\":1}": { "v:1": {} } } })] {
            assert_eq!(fault(&fine), None, "{fine}");
        }
        for (wrong, word) in [
            (json!([]), "object"),
            (json!({ "f:a": 1 }), "object"),
            (json!({ "a": {} }), "\"a\""),
            (json!({ "f:a": { "k:x": {} } }), "k:x"),
            (json!({ "é": {} }), "é"),
        ] {
            assert!(fault(&wrong).unwrap().contains(word), "{wrong}");
        }
    }
}
