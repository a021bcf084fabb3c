//! Structural schemas: validation of objects, and what to do with fields they do not know.

use serde_json::{Map, Value, json};
use std::fmt;

/// A rule that a field of an object breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Word of the cause: `FieldValueInvalid`, `FieldValueRequired`, ….
    pub reason: &'static str,
    /// Path of the field.
    pub field: String,
    /// The value, shortened.
    pub value: String,
    /// The rule.
    pub rule: String,
}

impl Violation {
    pub(crate) fn invalid(field: impl Into<String>, value: &str, rule: impl Into<String>) -> Self {
        let value = value.chars().take(80).collect();
        Violation { reason: "FieldValueInvalid", field: field.into(), value, rule: rule.into() }
    }

    pub(crate) fn required(field: String) -> Self {
        Violation { reason: "FieldValueRequired", field, value: String::new(), rule: String::new() }
    }

    pub(crate) fn forbidden(field: impl Into<String>, rule: impl Into<String>) -> Self {
        let rule = rule.into();
        Violation { reason: "FieldValueForbidden", field: field.into(), value: String::new(), rule }
    }

    /// A word that is none of those that are allowed.
    pub(crate) fn not_supported(field: impl Into<String>, word: &str, allowed: &[&str]) -> Self {
        let rule = format!("supported values: {}", allowed.join(", "));
        Violation { reason: "FieldValueNotSupported", ..Violation::invalid(field, word, rule) }
    }

    /// The cause without the field.
    pub fn message(&self) -> String {
        match self.reason {
            "FieldValueRequired" if self.rule.is_empty() => "Required value".into(),
            "FieldValueForbidden" => format!("Forbidden: {}", self.rule),
            _ if self.value.is_empty() => format!("Invalid value: {}", self.rule),
            _ => format!("Invalid value: {:?}: {}", self.value, self.rule),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// Checks a value against a schema. Fields that the schema does not know are taken out and their paths returned in
/// `unknown`.
pub(crate) fn check(
    schema: &Value,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Vec<Violation> {
    let mut out = Vec::new();
    walk(schema, value, path, unknown, &mut out);
    out
}

fn walk(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>, out: &mut Vec<Violation>) {
    let kind = schema["type"].as_str().unwrap_or("");
    let fits = match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    if !fits {
        let shown = value.to_string();
        let mut v = Violation::invalid(path, &shown, format!("must be of type {kind}"));
        v.reason = "FieldValueTypeInvalid";
        out.push(v);
        return;
    }
    match value {
        Value::Object(map) => object(schema, map, path, unknown, out),
        Value::Array(list) => {
            if let Some(max) = schema["maxItems"].as_u64().filter(|m| list.len() as u64 > *m) {
                let rule = format!("must have at most {max} items");
                out.push(Violation::invalid(path, &list.len().to_string(), rule));
                return;
            }
            for (i, item) in list.iter_mut().enumerate() {
                walk(&schema["items"], item, &format!("{path}[{i}]"), unknown, out);
            }
        }
        Value::String(text) => string(schema, text, path, out),
        Value::Number(n) => {
            let out_of_range = schema["minimum"].as_f64().zip(n.as_f64()).is_some_and(|(least, n)| n < least)
                || schema["maximum"].as_f64().zip(n.as_f64()).is_some_and(|(most, n)| n > most);
            if out_of_range {
                let rule = match &schema["maximum"] {
                    Value::Null => format!("must be at least {}", schema["minimum"]),
                    most => format!("must be from {} to {most}", schema["minimum"]),
                };
                out.push(Violation::invalid(path, &n.to_string(), rule));
            }
        }
        _ => {}
    }
}

fn object(
    schema: &Value,
    map: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
    out: &mut Vec<Violation>,
) {
    let join = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    // A field that is null is a field that is absent.
    map.retain(|_, v| !v.is_null());
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            out.push(Violation::required(join(key)));
        }
    }
    let free = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let other = &schema["additionalProperties"];
    let properties = schema["properties"].as_object();
    map.retain(|key, value| {
        if let Some(property) = properties.and_then(|p| p.get(key)) {
            walk(property, value, &join(key), unknown, out);
        } else if other.is_object() {
            walk(other, value, &join(key), unknown, out);
        } else if !free {
            unknown.push(join(key));
            return false;
        }
        true
    });
}

fn string(schema: &Value, text: &str, path: &str, out: &mut Vec<Violation>) {
    let characters = text.chars().count() as u64;
    if let Some(max) = schema["maxLength"].as_u64().filter(|m| characters > *m) {
        let mut v = Violation::invalid(path, text, format!("may not be longer than {max} characters"));
        v.reason = "FieldValueTooLong";
        out.push(v);
    }
    if schema["minLength"].as_u64().is_some_and(|m| characters < m) {
        out.push(Violation::invalid(path, text, "may not be empty"));
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|a| !a.iter().any(|v| v == text)) {
        let words: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
        out.push(Violation::not_supported(path, text, &words));
    }
}

/// The schema of `metadata`, as far as clients may write it.
pub(crate) fn metadata() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" }, "generateName": { "type": "string" },
            "namespace": { "type": "string" }, "uid": { "type": "string" },
            "resourceVersion": { "type": "string" }, "generation": { "type": "integer" },
            "creationTimestamp": { "type": "string" }, "deletionTimestamp": { "type": "string" },
            "deletionGracePeriodSeconds": { "type": "integer" }, "selfLink": { "type": "string" },
            "labels": texts, "annotations": texts,
            "finalizers": { "type": "array", "maxItems": 50, "items": { "type": "string", "minLength": 1, "maxLength": 317 } },
            "ownerReferences": { "type": "array", "maxItems": 50, "items": {
                "type": "object", "required": ["apiVersion", "kind", "name", "uid"],
                "properties": {
                    "apiVersion": { "type": "string", "minLength": 1 }, "kind": { "type": "string", "minLength": 1 },
                    "name": { "type": "string", "minLength": 1 }, "uid": { "type": "string", "minLength": 1 },
                    "controller": { "type": "boolean" }, "blockOwnerDeletion": { "type": "boolean" },
                } } },
            "managedFields": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "manager": text, "operation": text, "apiVersion": text, "time": text, "fieldsType": text,
                    "subresource": text,
                    "fieldsV1": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                } } },
        },
    })
}

/// The schema of a text.
pub(crate) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// The schema of `status.conditions`.
pub(crate) fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "The state in the words of the Kubernetes API: one entry for each type.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string", "description": "What the condition is about." },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds." },
                "observedGeneration": { "type": "integer", "format": "int64", "description": "The metadata.generation it is about." },
                "lastTransitionTime": { "type": "string", "format": "date-time", "description": "When it was last known to change." },
                "reason": { "type": "string", "description": "A word that programs can act on." },
                "message": { "type": "string", "description": "A sentence for people." },
            },
        },
    })
}
