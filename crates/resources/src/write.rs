//! Writing: update, patches and server-side apply, each with validation, dry run and field managers.

use crate::admit::{admit, belongs, decoded, duplicate, is_object, unknown};
use crate::apply;
use crate::body;
use crate::create::create_object;
use crate::failure::Failure;
use crate::managed::MANAGER_MAX;
use crate::patch as json_patches;
use crate::request::{Options, Request};
use crate::schema::{self, Violation};
use crate::store::{Objects, Report, position};
use jiff::Timestamp;
use model::ids::LogPosition;
use serde_json::{Value, json};

/// Attempts of a write without a `resourceVersion` when others write at the same time.
pub(crate) const TRIES: usize = 5;
/// Octets of JSON that metadata and spec of an object may have together, the bookkeeping of field managers included: what
/// Kubernetes stores of an object at most.
pub(crate) const OBJECT_MAX: usize = 3 << 19;

/// An object that was written, and what the client is warned of.
pub(crate) struct Written {
    pub(crate) object: Value,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

impl Written {
    /// An object that existed before.
    fn changed((object, warning): (Value, Option<String>), mut warnings: Vec<String>) -> Self {
        warnings.extend(warning);
        Written { object, created: false, warnings }
    }
}

/// The manager that a write is noted under.
pub(crate) fn manager(options: &Options, request: &Request) -> String {
    let named = options.get("fieldManager");
    let agent = request.user_agent.split('/').next().unwrap_or("");
    let name = if named.is_empty() { agent } else { named };
    let name: String = name.chars().filter(|c| !c.is_control()).take(MANAGER_MAX).collect();
    if name.is_empty() { "unknown".into() } else { name }
}

/// Octets of JSON of what clients write of an object.
fn octets(object: &Value) -> usize {
    ["metadata", "spec"].iter().map(|key| object[*key].to_string().len()).sum()
}

/// Refuses an object that is too large. One that is so already may be changed unless that makes it larger.
pub(crate) fn check_size(objects: &Objects, object: &Value, old: Option<&Value>) -> Result<(), Failure> {
    let size = octets(object);
    if size <= OBJECT_MAX || old.is_some_and(|old| size <= octets(old)) {
        return Ok(());
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Err(Failure::object_too_large(objects.kind, name, size))
}

/// The result of a write, with these warnings first.
pub(crate) fn warned(
    mut warnings: Vec<String>,
    written: Result<Written, Failure>,
) -> Result<Written, Failure> {
    let written = written?;
    warnings.extend(written.warnings);
    Ok(Written { warnings, ..written })
}

pub(crate) async fn update(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let (sent, repeated) = body::read_noting(&request.body, &request.content_type)?;
    let warnings = decoded(objects, name, &duplicate(repeated), options)?;
    is_object(&sent)?;
    belongs(objects, Some(name), &sent)?;
    warned(warnings, change(objects, name, request, options, now, &|_| Ok(sent.clone())).await)
}

pub(crate) async fn patch(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let media = body::media_type(&request.content_type);
    match media.as_str() {
        "application/merge-patch+json" => {
            let (patch, repeated) = body::read_noting(&request.body, "application/json")?;
            let warnings = decoded(objects, name, &duplicate(repeated), options)?;
            let edit = |old: &Value| {
                let mut new = old.clone();
                json_patch::merge(&mut new, &patch);
                Ok(new)
            };
            warned(warnings, change(objects, name, request, options, now, &edit).await)
        }
        "application/json-patch+json" => {
            let (patch, repeated) = body::read_noting(&request.body, "application/json")?;
            let warnings = decoded(objects, name, &duplicate(repeated), options)?;
            let patch = json_patches::read(patch).map_err(|e| e.about(objects.kind, name))?;
            let edit =
                |old: &Value| json_patches::apply(old, &patch).map_err(|e| e.about(objects.kind, name));
            warned(warnings, change(objects, name, request, options, now, &edit).await)
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

/// Writes the status of an object whose programs report it: all of it with PUT, what is named with a patch.
pub(crate) async fn status(
    objects: &Objects,
    name: &str,
    request: &Request,
    options: &Options,
) -> Result<Written, Failure> {
    let media = body::media_type(&request.content_type);
    let is_whole = request.method == "PUT";
    let (mut sent, repeated) = match media.as_str() {
        _ if is_whole => body::read_noting(&request.body, &request.content_type)?,
        "application/merge-patch+json" => body::read_noting(&request.body, "application/json")?,
        "application/apply-patch+yaml" => body::read_noting(&request.body, "application/yaml")?,
        _ => {
            let message = format!(
                "the media type {media:?} is not supported: send application/merge-patch+json or application/apply-patch+yaml"
            );
            return Err(Failure::new(415, "UnsupportedMediaType", message));
        }
    };
    is_object(&sent)?;
    belongs(objects, Some(name), &sent)?;
    let named = sent["metadata"]["resourceVersion"].as_str().filter(|v| !v.is_empty());
    let expected = match named.map(str::parse) {
        None => None,
        Some(Ok(rv)) => Some(LogPosition(rv)),
        Some(Err(_)) => return Err(Failure::outdated(objects.kind, name)),
    };
    let mut strange = Vec::new();
    let mut status = sent["status"].take();
    if status.is_null() {
        status = json!({});
    }
    let schema = (objects.kind.schema)();
    let violations = schema::check(&schema["properties"]["status"], &mut status, "status", &mut strange);
    if !violations.is_empty() {
        return Err(Failure::invalid(objects.kind, name, &violations));
    }
    let strange = [duplicate(repeated), unknown(strange)].concat();
    let warnings = decoded(objects, name, &strange, options)?;
    let report = Report { status: &status, is_whole, expected, dry_run: options.dry_run()? };
    let object = objects.report(name, report).await?;
    Ok(Written { object, created: false, warnings })
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
        check_size(objects, &new, Some(&old))?;
        match store(objects, &old, new, options.dry_run()?).await {
            // What a patch names is the version it was made from; one that names none may be repeated.
            Err(e) if e.reason == "Conflict" && request.method != "PUT" => last = e,
            Err(e) if e.reason == "Conflict" && named.is_none() => last = e,
            other => return other.map(|stored| Written::changed(stored, warnings)),
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
    if manager.chars().count() > MANAGER_MAX || manager.chars().any(char::is_control) {
        let rule = format!("must have at most {MANAGER_MAX} characters that are printable");
        let violation = Violation::invalid("fieldManager", manager, rule);
        return Err(Failure::invalid(objects.kind, name, &[violation]));
    }
    let mut intent = body::read(&request.body, "application/yaml")?;
    is_object(&intent)?;
    if intent["metadata"]["managedFields"].as_array().is_some_and(|m| !m.is_empty()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    belongs(objects, Some(name), &intent)?;
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
        let mut strange = Vec::new();
        let mut whole = (objects.kind.schema)();
        whole["properties"]["metadata"] = schema::metadata();
        let mut own = whole.clone();
        own["required"] = json!([]);
        schema::check(&own, &mut checked, "", &mut strange);
        let mut warnings = decoded(objects, name, &unknown(strange), options)?;
        let new = apply::applied(objects.kind, name, old.as_ref(), &checked, who, now)?;
        let Some(old) = old else {
            match create_object(objects, new, request, options, now, true).await {
                Err(e) if e.reason == "AlreadyExists" => last = e,
                other => return warned(warnings, other),
            }
            continue;
        };
        let (new, more) = admit(objects, new, Some(&old), options)?;
        warnings.extend(more);
        check_size(objects, &new, Some(&old))?;
        match store(objects, &old, new, options.dry_run()?).await {
            Err(e) if e.reason == "Conflict" => last = e,
            other => return other.map(|stored| Written::changed(stored, warnings)),
        }
    }
    Err(last)
}

/// Stores a changed object, unless nothing changed; one whose last finalizer goes while it is being deleted goes too.
/// Returns the object as stored, and a warning when it should be gone.
pub(crate) async fn store(
    objects: &Objects,
    old: &Value,
    mut new: Value,
    dry_run: bool,
) -> Result<(Value, Option<String>), Failure> {
    new["status"] = old["status"].clone();
    if is_deleting(&new) && !is_held(&new) && !dry_run {
        // Without its finalizers first: what is stored with one is not deleted.
        let bare =
            if same(old, &new) { old.clone() } else { objects.update(&new, position(old), false).await? };
        let warning = end(objects, &bare).await;
        return Ok((bare, warning));
    }
    if same(old, &new) {
        return Ok((old.clone(), None));
    }
    Ok((objects.update(&new, position(old), dry_run).await?, None))
}

/// Deletes a marked object that no finalizer holds. Its last change is stored by now, so a refusal of the deletion is no
/// refusal of the write: the object stays marked, the client is warned, and the next write tries again.
async fn end(objects: &Objects, bare: &Value) -> Option<String> {
    let name = bare["metadata"]["name"].as_str().unwrap_or_default();
    let mut last = bare.clone();
    for _ in 0..TRIES {
        match objects.delete(&last).await {
            Err(e) if e.reason == "Conflict" => {}
            Err(e) if e.reason == "NotFound" => return None,
            Err(e) => return Some(format!("the object stays marked for deletion: {}", e.message)),
            Ok(()) => return None,
        }
        // It changed meanwhile: only what is still marked and not held goes.
        match objects.get(name).await {
            Ok(Some(now)) if is_deleting(&now) && !is_held(&now) => last = now,
            _ => return None,
        }
    }
    None
}

/// True for an object that goes once no finalizer holds it.
fn is_deleting(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty())
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
