//! Namespaces of the core group, which clients look for: that of the caller's organisation, under both of its names.
//! Read-only: organisations are made elsewhere. What a namespace says of one never changes, so that a watch has nothing to
//! look for: it sends the state and bookmarks, until it ends or the credentials are no longer those of the organisation.

use crate::body::Form;
use crate::failure::Failure;
use crate::kind::{Column, column};
use crate::meta;
use crate::request::{Options, namespace_of};
use crate::schema::text;
use crate::selector::Selector;
use crate::tail::{EventType, WatchLine};
use crate::watch_lines::{self, BOOKMARK, Lines, initial_events};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use jiff::Timestamp;
use model::ids::Caller;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Instant;

/// The word of its addresses.
pub(crate) const PLURAL: &str = "namespaces";
/// Its verbs.
pub(crate) const VERBS: [&str; 3] = ["get", "list", "watch"];
/// Its name.
pub(crate) const KIND: &str = "Namespace";
/// A description for people.
pub(crate) const DESCRIPTION: &str =
    "The namespace of an organisation, under its own name and as default. Read-only.";
/// Short names that may be typed instead.
pub(crate) const SHORT: [&str; 1] = ["ns"];
/// Columns after the name.
pub(crate) static COLUMNS: [Column; 2] = [
    column("Status", "string", 0, ".status.phase", "Active: it can be used."),
    column("Age", "date", 0, ".metadata.creationTimestamp", "Not known."),
];
/// The position of objects that never change.
const VERSION: i64 = 1;

/// Its schema without `metadata`, as OpenAPI describes it.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object", "description": "The behaviour of the namespace.",
                "properties": { "finalizers": {
                    "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "atomic",
                    "description": "What must be empty before the namespace goes: kubernetes.",
                } },
            },
            "status": {
                "type": "object", "description": "The state of the namespace.",
                "properties": { "phase": text("Active: it can be used.") },
            },
        },
    })
}

/// The object of a name of the caller's namespace.
fn object(caller: &Caller, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": KIND,
        "metadata": {
            "name": name, "uid": meta::uid(KIND, caller.org, name, Timestamp::UNIX_EPOCH),
            "resourceVersion": VERSION.to_string(), "labels": { "kubernetes.io/metadata.name": name },
        },
        "spec": { "finalizers": ["kubernetes"] },
        "status": { "phase": "Active" },
    })
}

/// One namespace, or those that the options select. Of other organisations' none exists for the caller.
pub(crate) fn read(caller: &Caller, name: Option<&str>, options: &Options) -> Result<Value, Failure> {
    if let Some(name) = name {
        return own(caller)
            .iter()
            .find(|n| *n == name)
            .map(|n| object(caller, n))
            .ok_or_else(|| missing(name));
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "NamespaceList", "metadata": { "resourceVersion": VERSION.to_string() },
        "items": selected(caller, options)?,
    }))
}

/// Names of the caller's namespace.
fn own(caller: &Caller) -> [String; 2] {
    ["default".to_string(), namespace_of(caller.org)]
}

fn selected(caller: &Caller, options: &Options) -> Result<Vec<Value>, Failure> {
    let selector = Selector::of(&[], options.get("labelSelector"), options.get("fieldSelector"))?;
    Ok(own(caller).iter().map(|n| object(caller, n)).filter(|o| selector.matches(o)).collect())
}

/// Watches those that the options select.
pub(crate) fn watch(
    caller: &Caller,
    options: &Options,
    form: Form,
) -> Result<BoxStream<'static, WatchLine>, Failure> {
    let selected = selected(caller, options)?;
    let from = options.number("resourceVersion")?.unwrap_or(0);
    if from > VERSION {
        return Err(Failure::too_large(from, VERSION));
    }
    let initial = initial_events(options)?;
    let until = watch_lines::end(options)?;
    let with_bookmarks = options.is_set("allowWatchBookmarks");
    let mut lines = Lines::new(form, options, ("v1".into(), KIND), &COLUMNS);
    let mut ready = VecDeque::new();
    if initial.unwrap_or(from == 0) {
        ready.extend(selected.iter().map(|object| lines.event(EventType::Added.as_str(), object)));
        if initial.is_some() && with_bookmarks {
            ready.push_back(lines.bookmark(&VERSION.to_string(), true));
        }
    }
    let state = (ready, lines);
    Ok(stream::unfold(state, move |(mut ready, lines)| async move {
        if let Some(line) = ready.pop_front() {
            return Some((line, (ready, lines)));
        }
        let left = until.saturating_duration_since(Instant::now());
        if !with_bookmarks || left <= BOOKMARK {
            tokio::time::sleep(left).await;
            return None;
        }
        tokio::time::sleep(BOOKMARK).await;
        Some((lines.bookmark(&VERSION.to_string(), false), (ready, lines)))
    })
    .boxed())
}

fn missing(name: &str) -> Failure {
    let mut failure = Failure::new(404, "NotFound", format!("{PLURAL} {name:?} not found"));
    failure.details = json!({ "name": name, "kind": PLURAL });
    failure
}
