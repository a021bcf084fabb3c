//! Namespaces of the core group, which clients look for: that of the caller's organisation, under both of its names.
//! Read-only: organisations are made elsewhere.

use crate::failure::Failure;
use crate::kind::{Column, column};
use crate::meta;
use crate::request::{Options, namespace_of};
use crate::selector::Selector;
use jiff::Timestamp;
use model::ids::Caller;
use serde_json::{Value, json};

/// The word of its addresses.
pub(crate) const PLURAL: &str = "namespaces";
/// Its verbs.
pub(crate) const VERBS: [&str; 2] = ["get", "list"];
/// What may be typed instead.
pub(crate) const SHORT: [&str; 1] = ["ns"];
/// Columns after the name.
pub(crate) static COLUMNS: [Column; 2] = [
    column("Status", "string", 0, ".status.phase", "Active: it can be used."),
    column("Age", "date", 0, ".metadata.creationTimestamp", "Not known."),
];
/// The position of objects that never change.
const VERSION: &str = "1";

/// The object of a name of the caller's namespace.
fn object(caller: &Caller, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name, "uid": meta::uid("Namespace", caller.org, name, Timestamp::UNIX_EPOCH),
            "resourceVersion": VERSION, "labels": { "kubernetes.io/metadata.name": name },
        },
        "spec": { "finalizers": ["kubernetes"] },
        "status": { "phase": "Active" },
    })
}

/// One namespace, or those that the options select. Of other organisations' none exists for the caller.
pub(crate) fn read(caller: &Caller, name: Option<&str>, options: &Options) -> Result<Value, Failure> {
    let own = ["default".to_string(), namespace_of(caller.org)];
    if let Some(name) = name {
        return own.iter().find(|n| *n == name).map(|n| object(caller, n)).ok_or_else(|| missing(name));
    }
    if options.is_set("watch") {
        return Err(Failure::method_not_allowed("watch"));
    }
    let selector = Selector::of(&[], options.get("labelSelector"), options.get("fieldSelector"))?;
    let items: Vec<Value> = own.iter().map(|n| object(caller, n)).filter(|o| selector.matches(o)).collect();
    Ok(json!({
        "apiVersion": "v1", "kind": "NamespaceList", "metadata": { "resourceVersion": VERSION }, "items": items,
    }))
}

fn missing(name: &str) -> Failure {
    let mut failure = Failure::new(404, "NotFound", format!("{PLURAL} {name:?} not found"));
    failure.details = json!({ "name": name, "kind": PLURAL });
    failure
}
