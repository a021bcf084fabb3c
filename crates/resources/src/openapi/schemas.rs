//! Schemas of the objects and of what all of them share.

use super::gvk;
use serde_json::{Map, Value, json};

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Objects that are described.
pub(super) struct Described {
    /// Name of the definition.
    pub(super) definition: String,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) description: &'static str,
    /// Without `metadata`.
    pub(super) schema: Value,
    pub(super) api_version: String,
    pub(super) gvk: fn(&str) -> Value,
}

/// The schemas of these objects, with references below `prefix`.
pub(super) fn schemas(prefix: &str, described: &[Described]) -> Map<String, Value> {
    let reference = |name: &str| json!({ "$ref": format!("{prefix}{name}") });
    let mut all = Map::new();
    for d in described {
        let mut schema = d.schema.clone();
        schema["description"] = d.description.into();
        schema["properties"]["apiVersion"]["description"] =
            format!("Version of the schema of this object, {}.", d.api_version).into();
        schema["properties"]["kind"]["description"] = "The kind of this object.".into();
        let mut metadata = reference(&format!("{META}.ObjectMeta"));
        // OpenAPI 3.0 ignores what stands beside a reference.
        if prefix.starts_with("#/components") {
            metadata = json!({ "allOf": [metadata], "description": "Standard metadata.", "default": {} });
        } else {
            metadata["description"] = "Standard metadata.".into();
        }
        schema["properties"]["metadata"] = metadata;
        schema["x-kubernetes-group-version-kind"] = json!([(d.gvk)(d.kind)]);
        all.insert(d.definition.clone(), schema);
        let items = reference(&d.definition);
        all.insert(
            format!("{}List", d.definition),
            json!({
                "type": "object",
                "description": format!("A list of {}.", d.plural),
                "required": ["items"],
                "properties": {
                    "apiVersion": { "type": "string", "description": "Version of the schema." },
                    "kind": { "type": "string", "description": "The kind of this list." },
                    "metadata": reference(&format!("{META}.ListMeta")),
                    "items": { "type": "array", "description": "The objects.", "items": items },
                },
                "x-kubernetes-group-version-kind": [(d.gvk)(&format!("{}List", d.kind))],
            }),
        );
    }
    let mut meta = crate::schema::metadata();
    meta["description"] = "Metadata that every object has.".into();
    all.insert(format!("{META}.ObjectMeta"), meta);
    let text = json!({ "type": "string" });
    all.insert(format!("{META}.ListMeta"), json!({
        "type": "object", "description": "Metadata of a list.",
        "properties": { "resourceVersion": text, "continue": text, "selfLink": text, "remainingItemCount": { "type": "integer", "format": "int64" } },
    }));
    all.insert(
        format!("{META}.Status"),
        json!({
            "type": "object", "description": "The result of a request that has no object to return.",
            "properties": {
                "apiVersion": text, "kind": text, "status": text, "message": text, "reason": text,
                "code": { "type": "integer", "format": "int32" },
                "details": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "metadata": reference(&format!("{META}.ListMeta")),
            },
        }),
    );
    all.insert(
        format!("{META}.Preconditions"),
        json!({
            "type": "object", "description": "What must hold of the object, so that another one of its name is not deleted.",
            "properties": {
                "uid": { "type": "string", "description": "Its metadata.uid." },
                "resourceVersion": { "type": "string", "description": "Its metadata.resourceVersion." },
            },
        }),
    );
    all.insert(
        format!("{META}.DeleteOptions"),
        json!({
            "type": "object", "description": "How an object is deleted.",
            "properties": {
                "apiVersion": { "type": "string", "description": "Version of these options." },
                "kind": { "type": "string", "description": "DeleteOptions." },
                "dryRun": {
                    "type": "array", "items": text, "x-kubernetes-list-type": "atomic",
                    "description": "All: nothing is deleted.",
                },
                "gracePeriodSeconds": { "type": "integer", "format": "int64", "description": GRACE },
                "orphanDependents": { "type": "boolean", "description": ORPHANS },
                "preconditions": reference(&format!("{META}.Preconditions")),
                "propagationPolicy": { "type": "string", "description": POLICY },
            },
            "x-kubernetes-group-version-kind": [
                { "group": "", "version": "v1", "kind": "DeleteOptions" }, gvk("DeleteOptions"),
            ],
        }),
    );
    all
}

pub(super) const GRACE: &str = "Accepted and ignored: objects of this API go at once.";
pub(super) const ORPHANS: &str =
    "In place of propagationPolicy, which clients should send: true is Orphan, false is Background.";
pub(super) const POLICY: &str = "What happens to dependents: Orphan, Background or Foreground.";
