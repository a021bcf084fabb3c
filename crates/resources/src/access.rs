//! Reviews: what the caller may do, as [`service::policy`] decides, and who the caller is.

use crate::body;
use crate::failure::Failure;
use crate::kind::{GROUP, Kind, Verb};
use crate::kinds;
use crate::namespaces;
use crate::request::{Request, namespace_of};
use model::ids::Caller;
use serde_json::{Value, json};
use service::policy::authorize;

/// A question about the caller: it is posted and answered, and stored nowhere.
pub(crate) struct Review {
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    /// The answer to its `spec`.
    status: fn(&Caller, &Value) -> Result<Value, Failure>,
}

/// The version of the groups of reviews.
pub(crate) const REVIEW_VERSION: &str = "v1";

/// All reviews, by group and plural.
pub(crate) static REVIEWS: [Review; 3] = [
    Review {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        status: |caller, _| Ok(json!({ "userInfo": { "username": caller.who, "groups": groups(caller) } })),
    },
    Review {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        status: |caller, spec| {
            Ok(match decide(caller, spec) {
                Ok(()) => json!({ "allowed": true }),
                Err(reason) => json!({ "allowed": false, "reason": reason }),
            })
        },
    },
    Review {
        group: "authorization.k8s.io",
        plural: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        status: rules,
    },
];

/// Addresses of discovery and descriptions; `*` stands for any end.
const DOCUMENTS: [&str; 8] =
    ["/api", "/api/v1", "/apis", "/apis/*", "/openapi/v2", "/openapi/v3", "/openapi/v3/*", "/version"];

/// Answers a review.
pub(crate) fn answer(review: &Review, caller: &Caller, request: &Request) -> Result<Value, Failure> {
    let mut object = body::read(&request.body, &request.content_type)?;
    if !object.is_object() {
        return Err(Failure::bad_body("the body is not an object"));
    }
    if object.get("kind").is_some_and(|k| *k != review.kind) {
        return Err(Failure::bad_body(format!("kind must be {:?} at this address", review.kind)));
    }
    let status = (review.status)(caller, &object["spec"])?;
    object["apiVersion"] = format!("{}/{REVIEW_VERSION}", review.group).into();
    object["kind"] = review.kind.into();
    object["status"] = status;
    Ok(object)
}

/// The organisation and the role, as groups of a user.
fn groups(caller: &Caller) -> [String; 3] {
    let organisation = namespace_of(caller.org);
    ["system:authenticated".into(), format!("{organisation}:{}", caller.role.as_str()), organisation]
}

/// True for the namespace of the caller's organisation.
fn is_own(caller: &Caller, namespace: &str) -> bool {
    namespace == "default" || namespace == namespace_of(caller.org)
}

/// Checks that the caller may do this with objects of a kind, or with their status; the error is the reason.
fn allowed(caller: &Caller, kind: &Kind, of_status: bool, verb: Verb) -> Result<(), String> {
    let action = match (of_status, verb) {
        (false, _) | (true, Verb::Get) => (kind.action)(verb),
        (true, Verb::Update | Verb::Patch) => kind.status_action,
        (true, _) => None,
    };
    let part = if of_status { "/status" } else { "" };
    let missing = || format!("{}{part} do not have the verb {}", kind.plural, verb.as_str());
    authorize(caller, action.ok_or_else(missing)?).map_err(|e| e.detail)
}

fn decide(caller: &Caller, spec: &Value) -> Result<(), String> {
    if let Some(asked) = spec.get("nonResourceAttributes").filter(|a| a.is_object()) {
        return document(asked);
    }
    let wanted = &spec["resourceAttributes"];
    let word = |key: &str| wanted[key].as_str().unwrap_or_default();
    let (group, resource, subresource) = (word("group"), word("resource"), word("subresource"));
    if REVIEWS.iter().any(|r| (r.group, r.plural) == (group, resource)) && subresource.is_empty() {
        let rule = format!("{resource} have the verb create only");
        return if word("verb") == "create" { Ok(()) } else { Err(rule) };
    }
    if (group, resource, subresource) == ("", namespaces::PLURAL, "") {
        let rule = format!("{resource} are read only");
        return if namespaces::VERBS.contains(&word("verb")) { Ok(()) } else { Err(rule) };
    }
    let namespace = word("namespace");
    if !namespace.is_empty() && !is_own(caller, namespace) {
        return Err(format!("the namespace of these credentials is {:?}", namespace_of(caller.org)));
    }
    if group != GROUP && group != "*" {
        return Err(format!("there are no resources in group {group:?} here"));
    }
    let kinds: Vec<&Kind> = match resource {
        "*" => kinds::ALL.to_vec(),
        plural => Kind::of_plural(plural).into_iter().collect(),
    };
    if kinds.is_empty() {
        return Err(format!("there is no resource {resource:?} in {GROUP}"));
    }
    let parts = match subresource {
        "" => &[false][..],
        "status" => &[true][..],
        "*" => &[false, true][..],
        other => return Err(format!("{resource} do not have the subresource {other:?}")),
    };
    let verbs: Vec<Verb> =
        Verb::ALL.into_iter().filter(|v| word("verb") == "*" || v.as_str() == word("verb")).collect();
    if verbs.is_empty() {
        return Err(format!("there is no verb {:?}", word("verb")));
    }
    for kind in kinds {
        for (of_status, verb) in parts.iter().flat_map(|p| verbs.iter().map(move |v| (*p, *v))) {
            allowed(caller, kind, of_status, verb)?;
        }
    }
    Ok(())
}

/// Checks that an address that is no resource may be used so; the error is the reason.
fn document(asked: &Value) -> Result<(), String> {
    let (path, verb) =
        (asked["path"].as_str().unwrap_or_default(), asked["verb"].as_str().unwrap_or_default());
    let fits = |known: &str| match known.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path.trim_end_matches('/') == known,
    };
    if !DOCUMENTS.iter().any(|known| fits(known)) {
        return Err(format!("{path:?} is no address of this API"));
    }
    if ["get", "head"].contains(&verb) {
        Ok(())
    } else {
        Err("only reading is possible at this address".into())
    }
}

/// All that the caller may do in a namespace.
fn rules(caller: &Caller, spec: &Value) -> Result<Value, Failure> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Failure::bad_request("spec.namespace is required: no namespace on request"));
    }
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({ "verbs": verbs, "apiGroups": [group], "resources": [resource] });
    let mut resources: Vec<Value> = REVIEWS.iter().map(|r| rule(r.group, r.plural, &["create"])).collect();
    resources.push(rule("", namespaces::PLURAL, &namespaces::VERBS));
    for kind in kinds::ALL.into_iter().filter(|k| !k.is_namespaced || is_own(caller, namespace)) {
        for (of_status, part) in [(false, ""), (true, "/status")] {
            let verbs = Verb::ALL.into_iter().filter(|v| allowed(caller, kind, of_status, *v).is_ok());
            let verbs: Vec<&str> = verbs.map(Verb::as_str).collect();
            if !verbs.is_empty() {
                resources.push(rule(GROUP, &format!("{}{part}", kind.plural), &verbs));
            }
        }
    }
    Ok(json!({
        "resourceRules": resources,
        "nonResourceRules": [{ "verbs": ["get", "head"], "nonResourceURLs": DOCUMENTS }],
        "incomplete": false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::{OrgId, Role};

    fn is_allowed(caller: &Caller, verb: &str, group: &str, resource: &str, subresource: &str) -> bool {
        let attributes =
            json!({ "verb": verb, "group": group, "resource": resource, "subresource": subresource });
        decide(caller, &json!({ "resourceAttributes": attributes })).is_ok()
    }

    #[test]
    fn a_subresource_is_decided_about_by_itself() {
        let caller = Caller::new(OrgId::BUILT_IN, "t", Role::Owner);
        for (verb, resource, subresource, expected) in [
            ("get", "domains", "", true),
            ("get", "domains", "status", true),
            ("get", "domains", "scale", false),
            ("update", "domains", "status", false),
            ("patch", "features", "status", true),
            ("list", "features", "status", false),
            ("get", "domains", "*", true),
            ("update", "domains", "*", false),
            ("create", "domainevents", "", false),
        ] {
            let is = is_allowed(&caller, verb, GROUP, resource, subresource);
            assert_eq!(is, expected, "{verb} {resource}/{subresource}");
        }
        assert!(is_allowed(&caller, "create", "authorization.k8s.io", "selfsubjectrulesreviews", ""));
        assert!(!is_allowed(&caller, "get", "authorization.k8s.io", "selfsubjectrulesreviews", ""));
        assert!(
            is_allowed(&caller, "list", "", "namespaces", "")
                && !is_allowed(&caller, "create", "", "namespaces", "")
        );
        for (path, verb, expected) in [
            ("/version", "get", true),
            ("/apis/x", "get", true),
            ("/metrics", "get", false),
            ("/apis", "post", false),
        ] {
            let asked = json!({ "nonResourceAttributes": { "path": path, "verb": verb } });
            assert_eq!(decide(&caller, &asked).is_ok(), expected, "{verb} {path}");
        }
    }

    #[test]
    fn the_rules_are_what_single_reviews_allow() {
        for role in [Role::Viewer, Role::Member, Role::Admin, Role::Owner] {
            let caller = Caller::new(OrgId::BUILT_IN, "t", role);
            let status = rules(&caller, &json!({ "namespace": "default" })).unwrap();
            let listed = |resource: &str, verb: &str| {
                let mut all = status["resourceRules"].as_array().unwrap().iter();
                all.any(|r| {
                    r["resources"][0] == resource && r["verbs"].as_array().unwrap().contains(&verb.into())
                })
            };
            for (kind, verb) in kinds::ALL.iter().flat_map(|k| Verb::ALL.map(|v| (*k, v.as_str()))) {
                let is = is_allowed(&caller, verb, GROUP, kind.plural, "");
                assert_eq!(listed(kind.plural, verb), is, "{role:?}: {verb} {}", kind.plural);
                let is = is_allowed(&caller, verb, GROUP, kind.plural, "status");
                assert_eq!(listed(&format!("{}/status", kind.plural), verb), is, "{role:?}: {verb} status");
            }
        }
        let caller = Caller::new(OrgId::BUILT_IN, "t", Role::Owner);
        let elsewhere = rules(&caller, &json!({ "namespace": "org-999" })).unwrap();
        assert!(!elsewhere.to_string().contains("\"domains\""), "{elsewhere}");
        assert_eq!(rules(&caller, &json!({})).unwrap_err().code, 400);
    }
}
