//! Deleting: preconditions, propagation, finalizers.

use crate::body;
use crate::collect::{FOREGROUND, ORPHAN};
use crate::failure::{Failure, success};
use crate::meta;
use crate::request::{Options, Request};
use crate::store::Objects;
use crate::write::{self, TRIES};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The options of a deletion (Kubernetes `DeleteOptions`), from the query and the body.
pub(crate) struct DeleteOptions {
    /// `Orphan`, `Background`, `Foreground`, or empty: as the object's finalizers say.
    pub(crate) policy: String,
    /// The identity that the object must have.
    pub(crate) uid: Option<Value>,
    /// The position that the object must have.
    pub(crate) version: Option<Value>,
    /// True to delete nothing.
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Reads the options in the query and in the body, if there is one.
    pub(crate) fn read(request: &Request, options: &Options) -> Result<Self, Failure> {
        let body = if request.body.iter().all(u8::is_ascii_whitespace) {
            Value::Null
        } else {
            body::read(&request.body, &request.content_type)?
        };
        if !body.is_object() && !body.is_null() {
            return Err(Failure::bad_body("the body is not an object: send DeleteOptions, or nothing"));
        }
        if body.get("kind").is_some_and(|k| *k != "DeleteOptions") {
            return Err(Failure::bad_body("kind must be \"DeleteOptions\" in the body of a deletion"));
        }
        let policy = body["propagationPolicy"].as_str().unwrap_or(options.get("propagationPolicy"));
        if !["", "Orphan", "Background", "Foreground"].contains(&policy) {
            let message =
                format!("propagationPolicy is {policy:?}, must be Orphan, Background or Foreground");
            return Err(Failure::bad_request(message));
        }
        // What clients sent before there was a policy.
        let orphans = match options.get("orphanDependents") {
            "" => body["orphanDependents"].as_bool(),
            word => Some(word == "true" || word == "1"),
        };
        let policy = match orphans {
            None => policy,
            Some(_) if !policy.is_empty() => {
                return Err(Failure::bad_request("orphanDependents and propagationPolicy can't both be set"));
            }
            Some(true) => "Orphan",
            Some(false) => "Background",
        };
        let is_dry = match body.get("dryRun") {
            None | Some(Value::Null) => false,
            Some(Value::Array(stages)) if stages.iter().all(|s| s == "All") => !stages.is_empty(),
            Some(_) => return Err(Failure::bad_body("dryRun must be [\"All\"] in the body of a deletion")),
        };
        let wanted = |key: &str| Some(&body["preconditions"][key]).filter(|v| v.is_string()).cloned();
        Ok(DeleteOptions {
            policy: policy.to_string(),
            uid: wanted("uid"),
            version: wanted("resourceVersion"),
            dry_run: options.dry_run()? || is_dry,
        })
    }

    /// The finalizers of an object that is deleted so.
    fn finalizers(&self, metadata: &Value) -> Vec<Value> {
        let mut all = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        let added = match self.policy.as_str() {
            "" => return all,
            "Orphan" => Some(ORPHAN),
            "Foreground" => Some(FOREGROUND),
            _ => None,
        };
        all.retain(|f| f != ORPHAN && f != FOREGROUND);
        all.extend(added.map(Value::from));
        all
    }
}

/// Deletes one object. With finalizers it is marked, and goes when the last of them is taken out.
pub(crate) async fn run(
    objects: &Objects,
    name: &str,
    deletion: &DeleteOptions,
    now: Timestamp,
) -> Result<Value, Failure> {
    let mut last = Failure::outdated(objects.kind, name);
    for _ in 0..TRIES {
        let old = objects.get(name).await?.ok_or_else(|| Failure::not_found(objects.kind, name))?;
        // Before a finalizer can hold it: what can't go must not be marked as going.
        objects.check_deletable(name)?;
        for (key, wanted) in [("uid", &deletion.uid), ("resourceVersion", &deletion.version)] {
            if let Some(wanted) = wanted.as_ref().filter(|w| **w != old["metadata"][key]) {
                let why = format!(
                    "Precondition failed: {key} in precondition: {wanted}, in object: {}",
                    old["metadata"][key]
                );
                let mut failure = Failure::conflict(objects.kind, name, &why);
                let (rule, field) = ("must be that of the stored object", format!("preconditions.{key}"));
                failure.details["causes"] =
                    json!([{ "reason": "FieldValueInvalid", "message": rule, "field": field }]);
                return Err(failure);
            }
        }
        let finalizers = deletion.finalizers(&old["metadata"]);
        let had = old["metadata"]["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
        if !finalizers.is_empty() || !had.is_empty() {
            let is_marked = old["metadata"].get("deletionTimestamp").is_some();
            if is_marked && finalizers == had {
                return Ok(old);
            }
            objects.check_deletion(&old).await?;
            let mut marked = old.clone();
            marked["metadata"]["finalizers"] = finalizers.into();
            if !is_marked {
                marked["metadata"]["deletionTimestamp"] = meta::instant(now).into();
                marked["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            }
            // Without any finalizer left it goes at once.
            match write::store(objects, &old, marked, deletion.dry_run).await {
                Err(e) if e.reason == "Conflict" => last = e,
                other => return other.map(|(object, _)| object),
            }
            continue;
        }
        let details = json!({
            "name": name, "group": crate::kind::GROUP, "kind": objects.kind.plural, "uid": old["metadata"]["uid"],
        });
        if deletion.dry_run {
            service::policy::authorize(
                &objects.caller,
                (objects.kind.action)(crate::kind::Verb::Delete).unwrap_or(service::policy::Action::Remove),
            )?;
            objects.check_deletion(&old).await?;
            return Ok(success(&details));
        }
        match objects.delete(&old).await {
            Ok(()) => return Ok(success(&details)),
            Err(e) if e.reason == "Conflict" => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}
