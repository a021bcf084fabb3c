//! OpenAPI descriptions, versions 2 and 3, derived from the kinds.

use crate::kind::{GROUP, Kind, VERSION, Verb};
use crate::kinds;
use serde_json::{Map, Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The answer for a path of descriptions, if it is one.
pub(crate) fn document(path: &[&str]) -> Option<Value> {
    Some(match path {
        ["openapi", "v2"] => v2(),
        ["openapi", "v3"] => index(),
        ["openapi", "v3", "apis", g, v] if (*g, *v) == (GROUP, VERSION) => v3(),
        _ => return None,
    })
}

fn index() -> Value {
    let url = format!("/openapi/v3/apis/{GROUP}/{VERSION}?hash={}", env!("CARGO_PKG_VERSION"));
    let mut paths = Map::new();
    paths.insert(format!("apis/{GROUP}/{VERSION}"), json!({ "serverRelativeURL": url }));
    json!({ "paths": paths })
}

fn definition(kind: &Kind) -> String {
    format!("com.datumapis.{VERSION}.{}", kind.name)
}

fn gvk(kind: &str) -> Value {
    json!({ "group": GROUP, "version": VERSION, "kind": kind })
}

/// All schemas, with references below `prefix`.
fn schemas(prefix: &str) -> Map<String, Value> {
    let reference = |name: &str| json!({ "$ref": format!("{prefix}{name}") });
    let mut all = Map::new();
    for kind in kinds::ALL {
        let mut schema = (kind.schema)();
        schema["description"] = kind.description.into();
        schema["properties"]["apiVersion"]["description"] =
            "Version of the schema of this object, datumapis.com/v1alpha.".into();
        schema["properties"]["kind"]["description"] = "The kind of this object.".into();
        let mut metadata = reference(&format!("{META}.ObjectMeta"));
        // OpenAPI 3.0 ignores what stands beside a reference.
        if prefix.starts_with("#/components") {
            metadata = json!({ "allOf": [metadata], "description": "Standard metadata.", "default": {} });
        } else {
            metadata["description"] = "Standard metadata.".into();
        }
        schema["properties"]["metadata"] = metadata;
        schema["x-kubernetes-group-version-kind"] = json!([gvk(kind.name)]);
        all.insert(definition(kind), schema);
        let list = format!("{}List", kind.name);
        let items = reference(&definition(kind));
        all.insert(
            format!("{}List", definition(kind)),
            json!({
                "type": "object",
                "description": format!("A list of {}.", kind.plural),
                "required": ["items"],
                "properties": {
                    "apiVersion": { "type": "string", "description": "Version of the schema." },
                    "kind": { "type": "string", "description": "The kind of this list." },
                    "metadata": reference(&format!("{META}.ListMeta")),
                    "items": { "type": "array", "description": "The objects.", "items": items },
                },
                "x-kubernetes-group-version-kind": [gvk(&list)],
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
    all
}

/// The end of the address of a status.
const STATUS: &str = "/status";

/// The operations on one kind: address, method, action word, response definition, whether it writes.
fn operations(kind: &Kind) -> Vec<(String, &'static str, &'static str, String)> {
    let namespace = if kind.is_namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("/apis/{GROUP}/{VERSION}/{namespace}{}", kind.plural);
    let object = format!("{collection}/{{name}}");
    let (one, list) = (definition(kind), format!("{}List", definition(kind)));
    let status = format!("{META}.Status");
    let all = [
        (Verb::List, &collection, "get", "list", &list),
        (Verb::Create, &collection, "post", "post", &one),
        (Verb::DeleteCollection, &collection, "delete", "deletecollection", &list),
        (Verb::Get, &object, "get", "get", &one),
        (Verb::Update, &object, "put", "put", &one),
        (Verb::Patch, &object, "patch", "patch", &one),
        (Verb::Delete, &object, "delete", "delete", &status),
    ];
    let has = |v: Verb| (kind.action)(v).is_some();
    let all = all.into_iter().filter(|(v, ..)| has(*v)).map(|(_, p, m, a, d)| (p.clone(), m, a, d.clone()));
    let status = kind.status_verbs().iter().map(|verb| {
        let method = if *verb == "update" { "put" } else { verb };
        (format!("{object}{STATUS}"), method, method, one.clone())
    });
    all.chain(status).collect()
}

fn parameters(path: &str, method: &str, v3: bool) -> Vec<Value> {
    let typed = |mut p: Value, kind: &str| {
        if v3 {
            p["schema"] = json!({ "type": kind });
        } else {
            p["type"] = kind.into();
        }
        p
    };
    let mut all = Vec::new();
    for name in ["namespace", "name"].into_iter().filter(|n| path.contains(&format!("{{{n}}}"))) {
        let description =
            if name == "name" { "Name of the object." } else { "Namespace: the organisation, or default." };
        all.push(typed(
            json!({ "name": name, "in": "path", "required": true, "description": description }),
            "string",
        ));
    }
    let query: &[(&str, &str, &str)] = match method {
        "get" if !path.contains("{name}") => &[
            ("labelSelector", "string", "Restricts the list by labels."),
            ("fieldSelector", "string", "Restricts the list by fields."),
            ("limit", "integer", "Most objects of an answer."),
            ("continue", "string", "Where to go on."),
            ("watch", "boolean", "Watch for changes."),
            ("resourceVersion", "string", "Position of the change log to watch from."),
            ("timeoutSeconds", "integer", "When a watch ends."),
            ("allowWatchBookmarks", "boolean", "Asks for bookmarks."),
        ],
        "get" => &[],
        "patch" => &[
            ("dryRun", "string", "All: nothing is stored."),
            ("fieldManager", "string", "Name of the writer."),
            ("fieldValidation", "string", "Strict, Warn or Ignore."),
            ("force", "boolean", "Takes fields over from other managers."),
        ],
        "delete" => &[
            ("dryRun", "string", "All: nothing is stored."),
            ("propagationPolicy", "string", "Orphan, Background or Foreground."),
        ],
        _ => &[
            ("dryRun", "string", "All: nothing is stored."),
            ("fieldManager", "string", "Name of the writer."),
            ("fieldValidation", "string", "Strict, Warn or Ignore."),
        ],
    };
    all.extend(query.iter().map(|(n, t, d)| typed(json!({ "name": n, "in": "query", "description": d }), t)));
    all
}

fn paths(v3: bool) -> Map<String, Value> {
    let mut all = Map::new();
    let reference = |name: &str| {
        let prefix = if v3 { "#/components/schemas/" } else { "#/definitions/" };
        json!({ "$ref": format!("{prefix}{name}") })
    };
    for kind in kinds::ALL {
        for (path, method, action, response) in operations(kind) {
            let scope = if path.contains("{name}") { "One" } else { "All" };
            let part = if path.ends_with(STATUS) { "Status" } else { "" };
            let body = if v3 {
                json!({ "description": "OK", "content": { "application/json": { "schema": reference(&response) } } })
            } else {
                json!({ "description": "OK", "schema": reference(&response) })
            };
            let code = if action == "post" { "201" } else { "200" };
            let mut operation = json!({
                "operationId": format!("{action}{scope}Namespaced{}{part}", kind.name),
                "description": format!("{action} {}", kind.plural),
                "parameters": parameters(&path, method, v3),
                "responses": { code: body },
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": gvk(kind.name),
            });
            if matches!(method, "post" | "put" | "patch") {
                let schema = if method == "patch" {
                    json!({ "type": "object" })
                } else {
                    reference(&definition(kind))
                };
                let media: &[&str] = if method == "patch" {
                    &[
                        "application/merge-patch+json",
                        "application/json-patch+json",
                        "application/apply-patch+yaml",
                    ]
                } else {
                    &["application/json", "application/yaml"]
                };
                if v3 {
                    let content: Map<String, Value> =
                        media.iter().map(|m| ((*m).to_string(), json!({ "schema": schema }))).collect();
                    operation["requestBody"] = json!({ "required": true, "content": content });
                } else {
                    operation["consumes"] = json!(media);
                    if let Some(list) = operation["parameters"].as_array_mut() {
                        list.push(
                            json!({ "name": "body", "in": "body", "required": true, "schema": schema }),
                        );
                    }
                }
            }
            all.entry(path).or_insert_with(|| json!({}))[method] = operation;
        }
    }
    all
}

fn info() -> Value {
    json!({ "title": "Domainscope", "version": env!("CARGO_PKG_VERSION") })
}

/// OpenAPI 2.
pub(crate) fn v2() -> Value {
    json!({ "swagger": "2.0", "info": info(), "paths": paths(false), "definitions": schemas("#/definitions/") })
}

fn v3() -> Value {
    json!({
        "openapi": "3.0.0", "info": info(), "paths": paths(true),
        "components": { "schemas": schemas("#/components/schemas/") },
    })
}
