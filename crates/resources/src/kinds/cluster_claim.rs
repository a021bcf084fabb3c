//! `ClusterClaim`: what identifies the installation. Cluster-scoped.

use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity};
use crate::schema::Violation;
use fleet::{VALUE_MAX, check_claim};
use model::ids::OrgId;
use serde_json::{Value, json};
use service::ClusterClaim;
use service::policy::Action;

/// The kind.
pub static CLUSTER_CLAIM: Kind = Kind {
    name: "ClusterClaim",
    plural: "clusterclaims",
    singular: "clusterclaim",
    short: &["cclaim"],
    description: "A fact about this installation: id.k8s.io names it, clusterset.k8s.io names the set it is a member of.",
    is_namespaced: false,
    log_kind: "cluster_claim",
    columns: &[
        column("Value", "string", 0, ".spec.value", "What is claimed."),
        column("Age", "date", 0, ".metadata.creationTimestamp", "Time since it was added."),
    ],
    schema,
    selectable: &[],
    selectable_list: None,
    action: |verb| {
        Some(match verb {
            Verb::Get | Verb::List => Action::ClusterClaims,
            Verb::Watch => Action::Changes,
            Verb::Create | Verb::Update | Verb::Patch => Action::SaveClusterClaim,
            Verb::Delete | Verb::DeleteCollection => Action::DeleteClusterClaim,
        })
    },
    status_action: None,
    validate,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object",
                "description": "What is claimed.",
                "required": ["value"],
                "properties": {
                    "value": {
                        "type": "string", "maxLength": VALUE_MAX,
                        "description": "Of id.k8s.io and clusterset.k8s.io an RFC 1123 label, else any text up to 128 KB.",
                    },
                },
            },
        },
    })
}

/// The value in an object that has passed the schema.
pub(crate) fn value(object: &Value) -> String {
    object["spec"]["value"].as_str().unwrap_or_default().to_string()
}

fn validate(new: &Value, _: Option<&Value>) -> Vec<Violation> {
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    match check_claim(name, &value(new)) {
        Ok(()) => Vec::new(),
        Err(e @ (fleet::ClaimError::Reserved(..) | fleet::ClaimError::Name(_))) => {
            vec![Violation::invalid("metadata.name", name, e.to_string())]
        }
        Err(e) => {
            let shown: String = value(new).chars().take(80).collect();
            vec![Violation::invalid("spec.value", &shown, e.to_string())]
        }
    }
}

/// The object of a claim.
pub(crate) fn object(claim: &ClusterClaim) -> Value {
    let identity = Identity {
        kind: &CLUSTER_CLAIM,
        org: OrgId::BUILT_IN,
        namespace: "",
        name: &claim.name,
        rv: claim.rv,
        created: claim.created_at,
    };
    json!({
        "apiVersion": Kind::api_version(),
        "kind": CLUSTER_CLAIM.name,
        "metadata": meta::metadata(&identity, &claim.metadata),
        "spec": { "value": claim.value },
    })
}
