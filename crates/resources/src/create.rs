//! Creating objects, also under names that the server makes.

use crate::admit::{admit, decoded, duplicate, is_object};
use crate::apply;
use crate::body;
use crate::failure::Failure;
use crate::meta;
use crate::request::{Options, Request};
use crate::schema::Violation;
use crate::store::Objects;
use crate::write::{Written, check_size, manager, warned};
use jiff::Timestamp;
use serde_json::Value;

/// Names that are generated for one object, until one is not in use.
const NAMES_MAX: usize = 8;

pub(crate) async fn create(
    objects: &Objects,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Written, Failure> {
    let (new, repeated) = body::read_noting(&request.body, &request.content_type)?;
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let warnings = decoded(objects, name, &duplicate(repeated), options)?;
    let is_named = new["metadata"]["name"].as_str().is_some_and(|n| !n.is_empty());
    let written = match new["metadata"]["generateName"].as_str().filter(|p| !is_named && !p.is_empty()) {
        Some(prefix) => {
            let mut left = NAMES_MAX;
            loop {
                let mut new = new.clone();
                new["metadata"]["name"] = meta::generated(prefix).into();
                left -= 1;
                let made = create_object(objects, new, request, options, now, false).await;
                if let Some(settled) = settled(made, left) {
                    break settled;
                }
            }
        }
        None => create_object(objects, new, request, options, now, false).await,
    };
    warned(warnings, written)
}

/// The result of a creation under a generated name. `None`: the name is in use, and one of those left is to be tried.
fn settled<T>(made: Result<T, Failure>, left: usize) -> Option<Result<T, Failure>> {
    match made {
        Err(e) if e.reason == "AlreadyExists" && left > 0 => None,
        Err(mut e) if e.reason == "AlreadyExists" => {
            e.message.push_str(", the server was not able to generate a unique name for the object");
            e.details["retryAfterSeconds"] = 1.into();
            Some(Err(e))
        }
        other => Some(other),
    }
}

pub(crate) async fn create_object(
    objects: &Objects,
    new: Value,
    request: &Request,
    options: &Options,
    now: Timestamp,
    is_apply: bool,
) -> Result<Written, Failure> {
    is_object(&new)?;
    if new["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        let missing = Violation::invalid("metadata.name", "", "name or generateName is required");
        return Err(Failure::invalid(objects.kind, "", &[missing]));
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
    check_size(objects, &new, None)?;
    let object = objects.create(&new, options.dry_run()?).await?;
    Ok(Written { object, created: true, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::NETWORK_CLAIM;

    #[test]
    fn a_generated_name_that_is_in_use_is_replaced_by_another_a_few_times() {
        let exists = || Err::<(), _>(Failure::exists(&NETWORK_CLAIM, "web-b2c4d"));
        assert_eq!(settled(Ok(1), 7), Some(Ok(1)));
        assert_eq!(settled(exists(), 1), None);
        let e = settled(exists(), 0).unwrap().unwrap_err();
        assert_eq!((e.code, e.reason), (409, "AlreadyExists"));
        assert!(e.message.ends_with("unique name for the object"), "{}", e.message);
        assert_eq!(e.details["retryAfterSeconds"], 1);
        assert_eq!(settled(Err::<(), _>(Failure::no_such_path()), 7).unwrap().unwrap_err().code, 404);
    }
}
