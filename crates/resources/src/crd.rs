//! Custom resource definitions of the same kinds, so that a cluster can hold them.

use crate::kind::{GROUP, Kind, VERSION};
use crate::kinds;
use serde_json::{Value, json};

/// One definition for each kind (`apiextensions.k8s.io/v1`).
pub fn definitions() -> Vec<Value> {
    kinds::ALL.into_iter().map(definition).collect()
}

fn definition(kind: &Kind) -> Value {
    let mut schema = (kind.schema)();
    schema["description"] = kind.description.into();
    let columns = kind.columns.iter().map(|c| {
        let mut column = json!({
            "name": c.name, "type": c.kind, "description": c.description, "jsonPath": c.path,
        });
        if c.priority > 0 {
            column["priority"] = c.priority.into();
        }
        column
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{GROUP}", kind.plural) },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name, "listKind": format!("{}List", kind.name), "plural": kind.plural,
                "singular": kind.singular, "shortNames": kind.short, "categories": ["domainscope"],
            },
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns.collect::<Vec<_>>(),
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}
