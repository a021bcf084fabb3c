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

const GRACE: &str = "Accepted and ignored: objects of this API go at once.";
const ORPHANS: &str =
    "In place of propagationPolicy, which clients should send: true is Orphan, false is Background.";
const POLICY: &str = "What happens to dependents: Orphan, Background or Foreground.";

/// The end of the address of a status.
const STATUS: &str = "/status";

/// An operation of a kind.
struct Operation {
    path: String,
    method: &'static str,
    /// The word of its identifier: `list`, `create`, `read`, ….
    word: &'static str,
    /// The verb that clients know it by.
    action: &'static str,
    /// The definition of what is answered.
    response: String,
}

impl Operation {
    /// Its name, unlike that of any other operation.
    fn id(&self, kind: &Kind) -> String {
        let is_namespaced = self.path.contains("{namespace}");
        let scope = if is_namespaced { "Namespaced" } else { "" };
        let part = if self.path.ends_with(STATUS) { "Status" } else { "" };
        let all = if kind.is_namespaced && !is_namespaced { "ForAllNamespaces" } else { "" };
        format!("{}{scope}{}{part}{all}", self.word, kind.name)
    }
}

/// The operations on one kind.
fn operations(kind: &Kind) -> Vec<Operation> {
    let everywhere = format!("/apis/{GROUP}/{VERSION}/{}", kind.plural);
    let namespace = if kind.is_namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("/apis/{GROUP}/{VERSION}/{namespace}{}", kind.plural);
    let object = format!("{collection}/{{name}}");
    let (one, list) = (definition(kind), format!("{}List", definition(kind)));
    let status = format!("{META}.Status");
    let operation = |path: &str, method, word, action, response: &str| Operation {
        path: path.into(),
        method,
        word,
        action,
        response: response.into(),
    };
    let verbs = [
        (Verb::List, operation(&collection, "get", "list", "list", &list)),
        (Verb::Create, operation(&collection, "post", "create", "post", &one)),
        (
            Verb::DeleteCollection,
            operation(&collection, "delete", "deleteCollection", "deletecollection", &list),
        ),
        (Verb::Get, operation(&object, "get", "read", "get", &one)),
        (Verb::Update, operation(&object, "put", "replace", "put", &one)),
        (Verb::Patch, operation(&object, "patch", "patch", "patch", &one)),
        (Verb::Delete, operation(&object, "delete", "delete", "delete", &status)),
    ];
    let mut all: Vec<_> =
        verbs.into_iter().filter(|(v, _)| (kind.action)(*v).is_some()).map(|(_, o)| o).collect();
    if kind.is_namespaced {
        all.push(operation(&everywhere, "get", "list", "list", &list));
    }
    let path = format!("{object}{STATUS}");
    all.extend(kind.status_verbs().iter().map(|verb| match *verb {
        "update" => operation(&path, "put", "replace", "put", &one),
        "patch" => operation(&path, "patch", "patch", "patch", &one),
        _ => operation(&path, "get", "read", "get", &one),
    }));
    all
}

/// A parameter of the query: name, type and meaning.
type Query = (&'static str, &'static str, &'static str);

const SELECTION: [Query; 4] = [
    ("labelSelector", "string", "Restricts the list by labels."),
    ("fieldSelector", "string", "Restricts the list by fields."),
    ("limit", "integer", "Most objects of an answer."),
    ("continue", "string", "Where to go on."),
];
const WATCHING: [Query; 6] = [
    ("watch", "boolean", "Watch for changes."),
    ("resourceVersion", "string", "Position of the change log to watch from."),
    ("resourceVersionMatch", "string", "NotOlderThan, with sendInitialEvents."),
    ("sendInitialEvents", "boolean", "Begins a watch with the objects there are."),
    ("timeoutSeconds", "integer", "When a watch ends."),
    ("allowWatchBookmarks", "boolean", "Asks for bookmarks."),
];
const DRY_RUN: Query = ("dryRun", "string", "All: nothing is stored.");
const WRITING: [Query; 3] = [
    DRY_RUN,
    ("fieldManager", "string", "Name of the writer."),
    ("fieldValidation", "string", "Strict, Warn or Ignore."),
];
const FORCE: Query = ("force", "boolean", "Takes fields over from other managers.");
const DELETION: [Query; 4] = [
    DRY_RUN,
    ("gracePeriodSeconds", "integer", GRACE),
    ("orphanDependents", "boolean", ORPHANS),
    ("propagationPolicy", "string", POLICY),
];

fn parameters(operation: &Operation, v3: bool) -> Vec<Value> {
    let typed = |mut p: Value, kind: &str| {
        if v3 {
            p["schema"] = json!({ "type": kind });
        } else {
            p["type"] = kind.into();
        }
        p
    };
    let mut all = Vec::new();
    for name in ["namespace", "name"].into_iter().filter(|n| operation.path.contains(&format!("{{{n}}}"))) {
        let description =
            if name == "name" { "Name of the object." } else { "Namespace: the organisation, or default." };
        all.push(typed(
            json!({ "name": name, "in": "path", "required": true, "description": description }),
            "string",
        ));
    }
    let query: Vec<Query> = match operation.action {
        "list" => [&SELECTION[..], &WATCHING].concat(),
        "get" => Vec::new(),
        "patch" => [&WRITING[..], &[FORCE]].concat(),
        "delete" => DELETION.to_vec(),
        "deletecollection" => [&DELETION[..], &SELECTION].concat(),
        _ => WRITING.to_vec(),
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
        for o in operations(kind) {
            let schema = reference(&o.response);
            let body = if v3 {
                json!({ "description": "OK", "content": { "application/json": { "schema": schema } } })
            } else {
                json!({ "description": "OK", "schema": schema })
            };
            let code = if o.action == "post" { "201" } else { "200" };
            let mut operation = json!({
                "operationId": o.id(kind),
                "description": format!("{} {}", o.action, kind.plural),
                "parameters": parameters(&o, v3),
                "responses": { code: body },
                "x-kubernetes-action": o.action,
                "x-kubernetes-group-version-kind": gvk(kind.name),
            });
            if let Some((schema, media)) = sent(kind, &o, &reference) {
                // Options of a deletion may be left out.
                let required = o.method != "delete";
                if v3 {
                    let content: Map<String, Value> =
                        media.iter().map(|m| ((*m).to_string(), json!({ "schema": schema }))).collect();
                    operation["requestBody"] = json!({ "required": required, "content": content });
                } else {
                    operation["consumes"] = json!(media);
                    if let Some(list) = operation["parameters"].as_array_mut() {
                        list.push(
                            json!({ "name": "body", "in": "body", "required": required, "schema": schema }),
                        );
                    }
                }
            }
            all.entry(o.path.clone()).or_insert_with(|| json!({}))[o.method] = operation;
        }
    }
    all
}

/// The schema and the media types of the body of an operation; `None`: it has none.
fn sent(
    kind: &Kind,
    operation: &Operation,
    reference: &dyn Fn(&str) -> Value,
) -> Option<(Value, &'static [&'static str])> {
    const WHOLE: &[&str] = &["application/json", "application/yaml"];
    const PATCHES: &[&str] =
        &["application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"];
    // The status is not patched with JSON patches.
    const STATUS_PATCHES: &[&str] = &["application/merge-patch+json", "application/apply-patch+yaml"];
    Some(match operation.method {
        "post" | "put" => (reference(&definition(kind)), WHOLE),
        "patch" if operation.path.ends_with(STATUS) => (json!({ "type": "object" }), STATUS_PATCHES),
        // Without a type: a JSON patch is a list.
        "patch" => (json!({ "description": "The patch." }), PATCHES),
        "delete" => (reference(&format!("{META}.DeleteOptions")), WHOLE),
        _ => return None,
    })
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
