//! Deleting: preconditions, propagation, finalizers.

use crate::body;
use crate::failure::{Failure, success};
use crate::meta;
use crate::request::{Options, Request};
use crate::store::{Objects, position};
use crate::write::TRIES;
use jiff::Timestamp;
use serde_json::{Value, json};

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
        // Before a finalizer can hold it: what can't go must not be marked as going.
        objects.check_deletable(name)?;
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
            objects.check_deletion(&old).await?;
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
