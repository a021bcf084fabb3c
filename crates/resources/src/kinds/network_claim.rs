//! `NetworkClaim`: prefixes that a component claims, and what the registry decided.

use crate::failure::Failure;
use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity};
use crate::schema::{Violation, conditions, text};
use crate::store::{Change, Objects, Storage, name_of, position};
use async_trait::async_trait;
use model::ids::{LogPosition, OrgId};
use numbers::claim::{DESCRIPTION_MAX, REFERENCE_MAX, REQUESTS_MAX};
use numbers::{ClaimSpec, RecordState};
use serde_json::{Value, json};
use service::policy::Action;
use service::resources::{Claim, ClaimDraft};

/// The kind.
pub static NETWORK_CLAIM: Kind = Kind {
    name: "NetworkClaim",
    plural: "networkclaims",
    singular: "networkclaim",
    short: &["netclaim"],
    description: "Address space that a component claims. It is allocated whole, or its refused records say why.",
    is_namespaced: true,
    log_kind: "claim",
    columns: &[
        column(
            "Allocated",
            "string",
            0,
            r#".status.conditions[?(@.type=="Allocated")].status"#,
            "Whether all of it is allocated.",
        ),
        column("Prefixes", "string", 0, ".status.addressSpace[*].prefix", "The prefixes."),
        column("Reason", "string", 1, r#".status.conditions[?(@.type=="Allocated")].message"#, "Why not."),
        column(
            "Reference",
            "string",
            1,
            ".spec.addressSpace[*].reference.resource",
            "The components that use it.",
        ),
        column("Age", "date", 0, ".metadata.creationTimestamp", "Time since the claim was created."),
    ],
    schema,
    selectable: &["spec.addressSpace.reference.group", "spec.addressSpace.reference.resource"],
    selectable_list: Some("spec.addressSpace"),
    action: |verb| {
        Some(match verb {
            Verb::Get => Action::NetworkClaim,
            Verb::List => Action::NetworkClaims,
            Verb::Watch => Action::Changes,
            Verb::Create | Verb::Update | Verb::Patch => Action::SaveNetworkClaim,
            Verb::Delete | Verb::DeleteCollection => Action::DeleteNetworkClaim,
        })
    },
    status_action: None,
    validate,
    storage: &Claims,
};

fn schema() -> Value {
    let reference = json!({
        "type": "object",
        "description": "The component that uses the prefix.",
        "required": ["resource"],
        "properties": {
            "group": { "type": "string", "maxLength": REFERENCE_MAX, "description": "API group or system, such as kube-apiserver." },
            "resource": { "type": "string", "minLength": 1, "maxLength": REFERENCE_MAX, "description": "Resource in it, such as services." },
        },
    });
    let description =
        json!({ "type": "string", "maxLength": DESCRIPTION_MAX, "description": "What it is for." });
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object",
                "description": "What is asked for.",
                "required": ["addressSpace"],
                "properties": {
                    "addressSpace": {
                        "type": "array",
                        "maxItems": REQUESTS_MAX,
                        "x-kubernetes-list-type": "atomic",
                        "description": "Prefixes, all or none of which are allocated.",
                        "items": {
                            "type": "object",
                            "required": ["reference"],
                            "properties": {
                                "prefix": text("An exact prefix, such as 192.0.2.0/24. Host bits must be zero."),
                                "from": text("The block to take a prefix from; with prefix, the block it must lie in."),
                                "prefixLength": { "type": "integer", "minimum": 0, "maximum": 128, "description": "The length wanted out of the block." },
                                "reference": reference,
                                "description": description,
                            },
                        },
                    },
                },
            },
            "status": {
                "type": "object",
                "description": "What the registry decided. Written by the server only.",
                "properties": {
                    "addressSpace": {
                        "type": "array",
                        "description": "One record for each entry of spec.addressSpace, in its order.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "prefix": text("The prefix; absent when a block has none of the length wanted."),
                                "reference": reference,
                                "description": description,
                                "date": { "type": "string", "format": "date-time", "description": "When it was allocated or refused." },
                                "status": { "type": "string", "enum": ["allocated", "unavailable"], "description": "Whether the prefix is the claim's." },
                                "message": text("Why it is unavailable."),
                                "heldBy": text("The claim of this organisation that holds the addresses."),
                                "heldPrefix": text("What that claim holds."),
                            },
                        },
                    },
                    "conditions": conditions(),
                },
            },
        },
    })
}

/// The claim's spec in an object that has passed the schema.
fn spec(object: &Value) -> ClaimSpec {
    serde_json::from_value(object["spec"].clone()).unwrap_or_default()
}

fn validate(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let claim = spec(new);
    let mut errors = numbers::claim::validate(&claim);
    // A claim of an earlier version keeps its name and references until its spec changes.
    if old.is_none_or(|o| o["spec"] != new["spec"]) {
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        errors.extend(numbers::well_known::validate(name, &claim));
    }
    errors.into_iter().map(|e| Violation::invalid(e.field, &e.value, e.rule)).collect()
}

/// The object of a claim.
fn object(org: OrgId, namespace: &str, claim: &Claim) -> Value {
    let identity = Identity {
        kind: &NETWORK_CLAIM,
        org,
        namespace,
        name: &claim.name,
        rv: claim.rv,
        created: claim.created_at,
    };
    let metadata = meta::metadata(&identity, &claim.metadata);
    let records = &claim.status.address_space;
    let refused = records
        .iter()
        .find(|r| r.held_by.is_some() || (r.status == RecordState::Unavailable && r.prefix.is_none()));
    let refused = refused.or_else(|| records.iter().find(|r| r.status == RecordState::Unavailable));
    let (holds, reason, message) = match refused {
        Some(r) => ("False", "Unavailable", r.message.clone().unwrap_or_default()),
        None => ("True", "Allocated", "All prefixes are allocated.".to_string()),
    };
    let at = claim.status.known_since().unwrap_or(claim.created_at);
    let condition = meta::condition(("Allocated", holds), reason, &message, &metadata["generation"], at);
    json!({
        "apiVersion": Kind::api_version(),
        "kind": NETWORK_CLAIM.name,
        "spec": claim.spec,
        "status": {
            "addressSpace": claim.status.address_space,
            "conditions": [condition],
        },
        "metadata": metadata,
    })
}

struct Claims;

impl Claims {
    fn shown(objects: &Objects, claim: &Claim) -> Value {
        object(objects.caller.org, &objects.namespace, claim)
    }
}

#[async_trait]
impl Storage for Claims {
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure> {
        let found = objects.backend.network_claim(&objects.caller, name).await;
        Ok(objects.found(found, name)?.map(|c| Self::shown(objects, &c)))
    }

    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let found = objects.backend.network_claims(&objects.caller, after, limit).await?;
        Ok(found.iter().map(|c| Self::shown(objects, c)).collect())
    }

    async fn save(&self, objects: &Objects, change: Change<'_>) -> Result<Value, Failure> {
        let name = name_of(change.object);
        let draft = ClaimDraft {
            name: name.to_string(),
            expected: change.expected,
            metadata: meta::stored(change.object),
            spec: spec(change.object),
            dry_run: change.dry_run,
        };
        let saved = objects.backend.save_network_claim(&objects.caller, &draft).await;
        Ok(Self::shown(objects, &saved.map_err(|e| objects.failure(e, name))?))
    }

    async fn delete(&self, objects: &Objects, object: &Value) -> Result<(), Failure> {
        let (name, at) = (name_of(object), Some(position(object)));
        let deleted = objects.backend.delete_network_claim(&objects.caller, name, at).await;
        deleted.map(drop).map_err(|e| objects.failure(e, name))
    }

    fn deleted(&self, objects: &Objects, name: &str, rv: LogPosition, mut kept: Value) -> Option<Value> {
        kept["name"] = name.into();
        kept["rv"] = rv.0.into();
        serde_json::from_value(kept).ok().map(|claim| Self::shown(objects, &claim))
    }
}
