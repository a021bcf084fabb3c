//! SelfSubjectAccessReview: whether the caller may, as [`service::policy`] decides.

use crate::body;
use crate::failure::Failure;
use crate::kind::{GROUP, Kind, Verb};
use crate::request::{Request, namespace_of};
use model::ids::Caller;
use serde_json::{Value, json};
use service::policy::authorize;

/// Answers a review.
pub(crate) fn review(caller: &Caller, request: &Request) -> Result<Value, Failure> {
    let mut review = body::read(&request.body, &request.content_type)?;
    if !review.is_object() {
        return Err(Failure::bad_request("the body is not an object"));
    }
    let decision = decide(caller, &review["spec"]);
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    review["kind"] = "SelfSubjectAccessReview".into();
    review["status"] = match decision {
        Ok(()) => json!({ "allowed": true }),
        Err(reason) => json!({ "allowed": false, "reason": reason }),
    };
    Ok(review)
}

fn decide(caller: &Caller, spec: &Value) -> Result<(), String> {
    if spec["nonResourceAttributes"].is_object() {
        let reads =
            ["get", "head"].contains(&spec["nonResourceAttributes"]["verb"].as_str().unwrap_or_default());
        return if reads { Ok(()) } else { Err("only reading is possible at this address".into()) };
    }
    let wanted = &spec["resourceAttributes"];
    let word = |key: &str| wanted[key].as_str().unwrap_or_default();
    let namespace = word("namespace");
    if !["", "default"].contains(&namespace) && namespace != namespace_of(caller.org) {
        return Err(format!("the namespace of these credentials is {:?}", namespace_of(caller.org)));
    }
    if word("group") != GROUP && word("group") != "*" {
        return Err(format!("there are no resources in group {:?} here", word("group")));
    }
    let kinds: Vec<&Kind> = match word("resource") {
        "*" => crate::kinds::ALL.to_vec(),
        plural => Kind::of_plural(plural).into_iter().collect(),
    };
    if kinds.is_empty() {
        return Err(format!("there is no resource {:?} in {GROUP}", word("resource")));
    }
    let verbs: Vec<Verb> =
        Verb::ALL.into_iter().filter(|v| word("verb") == "*" || v.as_str() == word("verb")).collect();
    if verbs.is_empty() {
        return Err(format!("there is no verb {:?}", word("verb")));
    }
    for kind in kinds {
        for verb in &verbs {
            let of_status = word("subresource") == "status" && *verb != Verb::Get;
            let action = match of_status {
                true => kind.status_action.filter(|_| matches!(verb, Verb::Update | Verb::Patch)),
                false => (kind.action)(*verb),
            };
            let Some(action) = action else {
                let part = if of_status { "/status" } else { "" };
                return Err(format!("{}{part} do not have the verb {}", kind.plural, verb.as_str()));
            };
            authorize(caller, action).map_err(|e| e.detail)?;
        }
    }
    Ok(())
}
