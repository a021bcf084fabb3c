//! Writing: create, update, patches, server-side apply and delete, each with validation, dry run and field managers.

use crate::apply;
use crate::body;
use crate::failure::{Failure, success};
use crate::kind::Kind;
use crate::meta;
use crate::request::{Options, Request};
use crate::schema::{self, Violation};
use crate::store::{Objects, position};
use jiff::Timestamp;
use serde_json::{Value, json};

/// How often a write without a `resourceVersion` is tried when others write at the same time.
const TRIES: usize = 5;
/// Most operations of one JSON patch.
const OPERATIONS_MAX: usize = 1_000;

/// An object that was written, and what the client is warned of.
pub(crate) struct Written {
    pub(crate) object: Value,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Refuse,
    Warn,
    Drop,
}

impl Unknown {
    fn read(options: &Options) -> Result<Self, Failure> {
        match options.get("fieldValidation") {
            "Strict" => Ok(Unknown::Refuse),
            "" | "Warn" => Ok(Unknown::Warn),
            "Ignore" => Ok(Unknown::Drop),
            other => Err(Failure::bad_request(format!(
                "fieldValidation is {other:?}, must be Strict, Warn or Ignore"
            ))),
        }
    }
}

/// The manager that a write is noted under.
fn manager(options: &Options, request: &Request) -> String {
    let named = options.get("fieldManager");
    let agent = request.user_agent.split('/').next().unwrap_or("");
    let name = if named.is_empty() { agent } else { named };
    let name: String = name.chars().filter(|c| !c.is_control()).take(128).collect();
    if name.is_empty() { "unknown".into() } else { name }
}

/// Refuses what is no object, or has metadata that is none.
fn is_object(body: &Value) -> Result<(), Failure> {
    if !body.is_object() {
        return Err(Failure::bad_request("the body is not an object"));
    }
    match body.get("metadata") {
        Some(m) if !m.is_object() => Err(Failure::bad_request("metadata is not an object")),
        _ => Ok(()),
    }
}

/// Checks a client's object and gives it the fixed parts of the one before it.
fn admit(
    objects: &Objects,
    mut new: Value,
    old: Option<&Value>,
    options: &Options,
) -> Result<(Value, Vec<String>), Failure> {
    let kind = objects.kind;
    is_object(&new)?;
    for (key, expected) in [("apiVersion", Kind::api_version()), ("kind", kind.name.to_string())] {
        match new.get(key).and_then(Value::as_str) {
            Some(v) if v == expected => {}
            None if new.get(key).is_none() => new[key] = expected.into(),
            _ => {
                let message = format!("{key} is {}, at this address it must be {expected:?}", new[key]);
                return Err(Failure::bad_request(message));
            }
        }
    }
    if let Some(map) = new.as_object_mut() {
        // Only the server writes the status.
        map.remove("status");
        map.entry("metadata").or_insert_with(|| json!({}));
    }
    let name = new["metadata"]["name"].as_str().unwrap_or_default().to_string();
    let mut whole = (kind.schema)();
    whole["properties"]["metadata"] = schema::metadata();
    let mut unknown = Vec::new();
    let mut violations = schema::check(&whole, &mut new, "", &mut unknown);
    let policy = Unknown::read(options)?;
    if policy == Unknown::Refuse && !unknown.is_empty() {
        let list: Vec<String> = unknown.iter().map(|f| format!("unknown field {f:?}")).collect();
        return Err(Failure::bad_request(format!("strict decoding error: {}", list.join(", "))));
    }
    if let Some(ns) = new["metadata"]["namespace"].as_str().filter(|ns| *ns != objects.namespace) {
        let words = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(format!("{words}: {ns:?} and {:?}", objects.namespace)));
    }
    violations.extend(meta::check(&new));
    if violations.is_empty() {
        violations.extend((kind.validate)(&new, old));
    }
    if let Some(old) = old {
        keep_fixed(&mut new, old, &mut violations);
    }
    if !violations.is_empty() {
        return Err(Failure::invalid(kind, &name, &violations));
    }
    let warn = |f: String| format!("unknown field {f:?}");
    let warnings = if policy == Unknown::Warn { unknown.into_iter().map(warn).collect() } else { Vec::new() };
    Ok((new, warnings))
}

/// Fields of metadata that the server sets stay as they are; identity may be repeated, not changed.
fn keep_fixed(new: &mut Value, old: &Value, violations: &mut Vec<Violation>) {
    for key in ["name", "uid"] {
        let (is, was) = (new["metadata"][key].clone(), &old["metadata"][key]);
        if !is.is_null() && is != *was {
            let shown = is.as_str().unwrap_or_default();
            violations.push(Violation::invalid(format!("metadata.{key}"), shown, "field is immutable"));
        }
    }
    for key in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        match old["metadata"].get(key) {
            Some(value) => new["metadata"][key] = value.clone(),
            None => drop(new["metadata"].as_object_mut().and_then(|m| m.remove(key))),
        }
    }
    if old["metadata"].get("deletionTimestamp").is_some() {
        let had = |f: &Value| old["metadata"]["finalizers"].as_array().is_some_and(|l| l.contains(f));
        let added = new["metadata"]["finalizers"].as_array().is_some_and(|l| !l.iter().all(had));
        if added {
            let mut v = Violation::invalid(
                "metadata.finalizers",
                "",
                "no new finalizers can be added if the object is being deleted",
            );
            v.reason = "FieldValueForbidden";
            violations.push(v);
        }
    }
    if new["spec"] != old["spec"] {
        new["metadata"]["generation"] = (old["metadata"]["generation"].as_i64().unwrap_or(1) + 1).into();
    }
}

pub(crate) async fn create(
    objects: &Objects,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let new = body::read(&request.body, &request.content_type)?;
    create_object(objects, new, request, options, now, false).await
}

async fn create_object(
    objects: &Objects,
    mut new: Value,
    request: &Request,
    options: &Options,
    now: Timestamp,
    is_apply: bool,
) -> Result<Written, Failure> {
    is_object(&new)?;
    if new["metadata"]["name"].is_null() {
        let prefix = new["metadata"]["generateName"].as_str().unwrap_or_default().to_string();
        if prefix.is_empty() {
            let words = "name or generateName is required";
            return Err(Failure::invalid(
                objects.kind,
                "",
                &[Violation::invalid("metadata.name", "", words)],
            ));
        }
        new["metadata"]["name"] = meta::generated(&prefix).into();
    }
    if let Some(rv) = new["metadata"]["resourceVersion"].as_str().filter(|v| !v.is_empty()) {
        let message = format!("resourceVersion should not be set on objects to be created, it is {rv:?}");
        return Err(Failure::bad_request(message));
    }
    let (mut new, warnings) = admit(objects, new, None, options)?;
    for key in ["generation", "uid", "creationTimestamp", "deletionTimestamp", "selfLink"] {
        if let Some(metadata) = new["metadata"].as_object_mut() {
            metadata.remove(key);
        }
    }
    new["metadata"]["generation"] = 1.into();
    if !is_apply {
        apply::updated(None, &mut new, &manager(options, request), now);
    }
    let object = objects.create(&new, options.dry_run()?).await?;
    Ok(Written { object, created: true, warnings })
}

pub(crate) async fn update(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let sent = body::read(&request.body, &request.content_type)?;
    if sent["metadata"]["name"].as_str().is_some_and(|n| n != name) {
        let message = "the name of the object does not match the name on the URL";
        return Err(Failure::bad_request(format!("{message}: {} and {name:?}", sent["metadata"]["name"])));
    }
    change(objects, name, request, options, now, &|_| Ok(sent.clone())).await
}

pub(crate) async fn patch(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let media = request.content_type.split(';').next().unwrap_or("").trim();
    match media {
        "application/merge-patch+json" => {
            let patch = body::read(&request.body, "application/json")?;
            change(objects, name, request, options, now, &|old| {
                let mut new = old.clone();
                json_patch::merge(&mut new, &patch);
                Ok(new)
            })
            .await
        }
        "application/json-patch+json" => {
            let patch = body::read(&request.body, "application/json")?;
            let patch: json_patch::Patch = serde_json::from_value(patch)
                .map_err(|e| Failure::bad_request(format!("the body is not a JSON patch (RFC 6902): {e}")))?;
            if patch.0.len() > OPERATIONS_MAX {
                let message =
                    format!("the patch has {} operations, the limit is {OPERATIONS_MAX}", patch.0.len());
                return Err(Failure::new(413, "RequestEntityTooLarge", message));
            }
            change(objects, name, request, options, now, &|old| {
                let mut new = old.clone();
                json_patch::patch(&mut new, &patch).map_err(|e| {
                    Failure::new(422, "Invalid", format!("the patch does not apply: {e}"))
                        .about(objects.kind, name)
                })?;
                Ok(new)
            })
            .await
        }
        "application/apply-patch+yaml" => apply_patch(objects, name, request, options, now).await,
        _ => {
            let message = format!(
                "the media type {media:?} is not supported: send application/merge-patch+json, \
                 application/json-patch+json or application/apply-patch+yaml"
            );
            Err(Failure::new(415, "UnsupportedMediaType", message))
        }
    }
}

/// Changes an object; repeats the change when others write at the same time and the client named no version.
async fn change(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
    edit: &(dyn Fn(&Value) -> Result<Value, Failure> + Send + Sync),
) -> Result<Written, Failure> {
    let mut last = Failure::outdated(objects.kind, name);
    for _ in 0..TRIES {
        let old = objects.get(name).await?.ok_or_else(|| Failure::not_found(objects.kind, name))?;
        let edited = edit(&old)?;
        let named =
            edited["metadata"]["resourceVersion"].as_str().filter(|v| !v.is_empty()).map(str::to_owned);
        if named.as_deref().is_some_and(|v| v != old["metadata"]["resourceVersion"]) {
            return Err(Failure::outdated(objects.kind, name));
        }
        let (mut new, warnings) = admit(objects, edited, Some(&old), options)?;
        apply::updated(Some(&old), &mut new, &manager(options, request), now);
        match store(objects, &old, new, options).await {
            // What a patch names is the version it was made from; one that names none may be repeated.
            Err(e) if e.reason == "Conflict" && request.method != "PUT" => last = e,
            Err(e) if e.reason == "Conflict" && named.is_none() => last = e,
            other => return other.map(|object| Written { object, created: false, warnings }),
        }
    }
    Err(last)
}

async fn apply_patch(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let manager = options.get("fieldManager");
    if manager.is_empty() {
        return Err(Failure::bad_request("fieldManager is required for apply patch"));
    }
    let mut intent = body::read(&request.body, "application/yaml")?;
    is_object(&intent)?;
    if intent["metadata"]["managedFields"].as_array().is_some_and(|m| !m.is_empty()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    if intent["metadata"]["name"].as_str().is_some_and(|n| n != name) {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    intent["metadata"]["name"] = name.into();
    let who = (manager, options.is_set("force"));
    let mut last = Failure::outdated(objects.kind, name);
    for _ in 0..TRIES {
        let old = objects.get(name).await?;
        let named = intent["metadata"]["resourceVersion"].as_str().unwrap_or("");
        if old.as_ref().is_some_and(|o| !named.is_empty() && o["metadata"]["resourceVersion"] != named) {
            return Err(Failure::outdated(objects.kind, name));
        }
        // Unknown fields of the intent are refused or dropped before anyone manages them.
        let mut checked = intent.clone();
        let mut unknown = Vec::new();
        let mut whole = (objects.kind.schema)();
        whole["properties"]["metadata"] = schema::metadata();
        let mut own = whole.clone();
        own["required"] = json!([]);
        schema::check(&own, &mut checked, "", &mut unknown);
        if Unknown::read(options)? == Unknown::Refuse && !unknown.is_empty() {
            let list: Vec<String> = unknown.iter().map(|f| format!("unknown field {f:?}")).collect();
            return Err(Failure::bad_request(format!("strict decoding error: {}", list.join(", "))));
        }
        let warn = |f: &String| format!("unknown field {f:?}");
        let unknown: Vec<String> = unknown.iter().map(warn).collect();
        let new = apply::applied(objects.kind, name, old.as_ref(), &checked, who, now)?;
        let Some(old) = old else {
            match create_object(objects, new, request, options, now, true).await {
                Err(e) if e.reason == "AlreadyExists" => last = e,
                other => return other.map(|w| Written { warnings: unknown, ..w }),
            }
            continue;
        };
        let (new, _) = admit(objects, new, Some(&old), options)?;
        match store(objects, &old, new, options).await {
            Err(e) if e.reason == "Conflict" => last = e,
            other => return other.map(|object| Written { object, created: false, warnings: unknown }),
        }
    }
    Err(last)
}

/// Stores a changed object, unless nothing changed; one whose last finalizer goes while it is being deleted goes too.
async fn store(objects: &Objects, old: &Value, mut new: Value, options: &Options) -> Result<Value, Failure> {
    let dry_run = options.dry_run()?;
    new["status"] = old["status"].clone();
    let deleting = new["metadata"].get("deletionTimestamp").is_some();
    let held = new["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    if same(old, &new) {
        return Ok(old.clone());
    }
    if deleting && !held && !dry_run {
        objects.delete(old).await?;
        return Ok(new);
    }
    objects.update(&new, position(old), dry_run).await
}

/// True when two states differ in nothing but the times of their managers.
fn same(old: &Value, new: &Value) -> bool {
    let bare = |o: &Value| {
        let mut o = o.clone();
        for entry in o["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            entry["time"] = Value::Null;
        }
        for key in ["managedFields", "labels", "annotations", "finalizers", "ownerReferences"] {
            let empty = |v: &Value| {
                v.as_array().is_some_and(Vec::is_empty)
                    || v.as_object().is_some_and(serde_json::Map::is_empty)
            };
            if o["metadata"].get(key).is_some_and(empty)
                && let Some(metadata) = o["metadata"].as_object_mut()
            {
                metadata.remove(key);
            }
        }
        o
    };
    bare(old) == bare(new)
}

/// Deletes one object. With finalizers it is marked, and goes when the last of them is taken out.
pub(crate) async fn delete(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Value, Failure> {
    let wishes = if request.body.iter().all(u8::is_ascii_whitespace) {
        json!({})
    } else {
        body::read(&request.body, &request.content_type)?
    };
    let dry_run = options.dry_run()? || wishes["dryRun"].as_array().is_some_and(|d| !d.is_empty());
    let policy = wishes["propagationPolicy"].as_str().unwrap_or(options.get("propagationPolicy"));
    if !["", "Orphan", "Background", "Foreground"].contains(&policy) {
        let message = format!("propagationPolicy is {policy:?}, must be Orphan, Background or Foreground");
        return Err(Failure::bad_request(message));
    }
    let mut last = Failure::outdated(objects.kind, name);
    for _ in 0..TRIES {
        let old = objects.get(name).await?.ok_or_else(|| Failure::not_found(objects.kind, name))?;
        for key in ["uid", "resourceVersion"] {
            let wanted = &wishes["preconditions"][key];
            if wanted.is_string() && *wanted != old["metadata"][key] {
                let why = format!(
                    "Precondition failed: {key} in precondition: {wanted}, in object: {}",
                    old["metadata"][key]
                );
                return Err(Failure::conflict(objects.kind, name, &why));
            }
        }
        let held = old["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
        if held {
            if old["metadata"].get("deletionTimestamp").is_some() {
                return Ok(old);
            }
            let mut marked = old.clone();
            marked["metadata"]["deletionTimestamp"] = meta::instant(now).into();
            marked["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            match objects.update(&marked, position(&old), dry_run).await {
                Err(e) if e.reason == "Conflict" => last = e,
                other => return other,
            }
            continue;
        }
        let details = json!({
            "name": name, "group": crate::kind::GROUP, "kind": objects.kind.plural, "uid": old["metadata"]["uid"],
        });
        if dry_run {
            service::policy::authorize(
                &objects.caller,
                (objects.kind.action)(crate::kind::Verb::Delete).unwrap_or(service::policy::Action::Remove),
            )?;
            return Ok(success(details));
        }
        match objects.delete(&old).await {
            Ok(()) => return Ok(success(details)),
            Err(e) if e.reason == "Conflict" => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}
