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
            "scope": crate::discovery::scope(kind),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A structural schema: every node has a type, and what an array or map holds is described.
    fn structural(schema: &Value, path: &str) {
        let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{path} has no type"));
        assert!(kind != "array" || schema["items"].is_object(), "{path}");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            structural(property, &format!("{path}.{name}"));
        }
        if schema["items"].is_object() {
            structural(&schema["items"], &format!("{path}[]"));
        }
    }

    #[test]
    fn definitions_are_structural_and_survive_yaml() {
        for d in definitions() {
            let name = d["metadata"]["name"].as_str().unwrap();
            let version = &d["spec"]["versions"][0];
            structural(&version["schema"]["openAPIV3Schema"], name);
            for column in version["additionalPrinterColumns"].as_array().unwrap() {
                assert!(column["jsonPath"].as_str().unwrap().starts_with('.'), "{column}");
            }
            let text = crate::store::to_yaml(&d).unwrap();
            assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), d, "{text}");
        }
    }
}
