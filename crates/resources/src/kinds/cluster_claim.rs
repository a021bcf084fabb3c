//! `ClusterClaim`: what identifies the installation. Cluster-scoped.

use crate::failure::Failure;
use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity};
use crate::schema::Violation;
use crate::store::{Change, Objects, Storage, name_of, position};
use async_trait::async_trait;
use fleet::{CLUSTERSET_CLAIM, ID_CLAIM, VALUE_MAX, check_claim};
use model::ids::{LogPosition, OrgId};
use serde_json::{Value, json};
use service::policy::Action;
use service::{ClusterClaim, ClusterClaimDraft};

/// Claims of an installation that are read at once; it has a handful.
const READ_MAX: u32 = 1_000;

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
    storage: &Claims,
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
fn value(object: &Value) -> String {
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
fn object(claim: &ClusterClaim) -> Value {
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

struct Claims;

#[async_trait]
impl Storage for Claims {
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure> {
        let all = objects.backend.cluster_claims(&objects.caller, "", READ_MAX).await?;
        Ok(all.iter().find(|c| c.name == name).map(object))
    }

    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let found = objects.backend.cluster_claims(&objects.caller, after, limit).await?;
        Ok(found.iter().map(object).collect())
    }

    async fn save(&self, objects: &Objects, change: Change<'_>) -> Result<Value, Failure> {
        let name = name_of(change.object);
        let draft = ClusterClaimDraft {
            name: name.to_string(),
            expected: change.expected,
            metadata: meta::stored(change.object),
            value: value(change.object),
            dry_run: change.dry_run,
        };
        let saved = objects.backend.save_cluster_claim(&objects.caller, &draft).await;
        Ok(object(&saved.map_err(|e| objects.failure(e, name))?))
    }

    async fn delete(&self, objects: &Objects, object: &Value) -> Result<(), Failure> {
        let (name, at) = (name_of(object), Some(position(object)));
        let deleted = objects.backend.delete_cluster_claim(&objects.caller, name, at).await;
        deleted.map(drop).map_err(|e| objects.failure(e, name))
    }

    async fn holds(&self, objects: &Objects, object: &Value) -> Result<Option<String>, Failure> {
        Ok(match name_of(object) {
            ID_CLAIM => Some("an installation always has an identity".into()),
            CLUSTERSET_CLAIM => {
                let members = objects.backend.fleet(&objects.caller).await?.agents.len();
                (members > 0).then(|| format!("stays while the set has {members} points of presence"))
            }
            _ => None,
        })
    }

    fn deleted(&self, _: &Objects, name: &str, rv: LogPosition, mut kept: Value) -> Option<Value> {
        kept["name"] = name.into();
        kept["rv"] = rv.0.into();
        serde_json::from_value(kept).ok().map(|claim| object(&claim))
    }
}
