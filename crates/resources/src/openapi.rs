//! OpenAPI descriptions, versions 2 and 3, derived from the kinds.

mod schemas;

use crate::kind::{GROUP, Kind, VERSION, Verb};
use crate::kinds;
use crate::namespaces;
use schemas::{Described, GRACE, META, ORPHANS, POLICY, schemas};
use serde_json::{Map, Value, json};

/// The answer for a path of descriptions, if it is one.
pub(crate) fn document(path: &[&str]) -> Option<Value> {
    Some(match path {
        ["openapi", "v2"] => v2(),
        ["openapi", "v3"] => index(),
        ["openapi", "v3", "apis", g, v] if (*g, *v) == (GROUP, VERSION) => v3(&of_kinds(), &paths(true)),
        ["openapi", "v3", "api", "v1"] => v3(&[namespace()], &core_paths(true)),
        _ => return None,
    })
}

fn index() -> Value {
    let entry = |path: String| {
        let url = format!("/openapi/v3/{path}?hash={}", env!("CARGO_PKG_VERSION"));
        (path, json!({ "serverRelativeURL": url }))
    };
    let paths: Map<String, Value> =
        [entry("api/v1".into()), entry(format!("apis/{GROUP}/{VERSION}"))].into_iter().collect();
    json!({ "paths": paths })
}

fn of_kinds() -> Vec<Described> {
    let one = |kind: &Kind| Described {
        definition: definition(kind),
        kind: kind.name,
        plural: kind.plural,
        description: kind.description,
        schema: (kind.schema)(),
        api_version: Kind::api_version(),
        gvk,
    };
    kinds::ALL.into_iter().map(one).collect()
}

fn namespace() -> Described {
    Described {
        definition: NAMESPACE.into(),
        kind: namespaces::KIND,
        plural: namespaces::PLURAL,
        description: namespaces::DESCRIPTION,
        schema: namespaces::schema(),
        api_version: "v1".into(),
        gvk: core_gvk,
    }
}

/// The definition of a namespace, as API servers call it.
const NAMESPACE: &str = "io.k8s.api.core.v1.Namespace";

fn core_gvk(kind: &str) -> Value {
    json!({ "group": "", "version": "v1", "kind": kind })
}

fn definition(kind: &Kind) -> String {
    format!("com.datumapis.{VERSION}.{}", kind.name)
}

fn gvk(kind: &str) -> Value {
    json!({ "group": GROUP, "version": VERSION, "kind": kind })
}

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
    fn new(
        path: &str,
        method: &'static str,
        word: &'static str,
        action: &'static str,
        response: &str,
    ) -> Self {
        Operation { path: path.into(), method, word, action, response: response.into() }
    }

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
    let operation = Operation::new;
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
    for kind in kinds::ALL {
        for o in operations(kind) {
            let mut operation = described(&o, (o.id(kind), kind.plural, gvk(kind.name)), v3);
            if let Some((schema, media)) = sent(kind, &o, v3) {
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

/// Addresses of the core group.
fn core_paths(v3: bool) -> Map<String, Value> {
    let list = format!("/api/v1/{}", namespaces::PLURAL);
    let one = format!("{list}/{{name}}");
    let each = [
        Operation::new(&list, "get", "list", "list", &format!("{NAMESPACE}List")),
        Operation::new(&one, "get", "read", "get", NAMESPACE),
    ];
    let entry = |o: Operation| {
        let names =
            (format!("{}{}", o.word, namespaces::KIND), namespaces::PLURAL, core_gvk(namespaces::KIND));
        let operation = described(&o, names, v3);
        (o.path, json!({ "get": operation }))
    };
    each.into_iter().map(entry).collect()
}

fn reference(definition: &str, v3: bool) -> Value {
    let prefix = if v3 { "#/components/schemas/" } else { "#/definitions/" };
    json!({ "$ref": format!("{prefix}{definition}") })
}

/// An operation without its body; of what kind of object: its identifier, the plural and the kind.
fn described(o: &Operation, (id, plural, gvk): (String, &str, Value), v3: bool) -> Value {
    let schema = reference(&o.response, v3);
    let body = if v3 {
        json!({ "description": "OK", "content": { "application/json": { "schema": schema } } })
    } else {
        json!({ "description": "OK", "schema": schema })
    };
    let code = if o.action == "post" { "201" } else { "200" };
    json!({
        "operationId": id,
        "description": format!("{} {plural}", o.action),
        "parameters": parameters(o, v3),
        "responses": { code: body },
        "x-kubernetes-action": o.action,
        "x-kubernetes-group-version-kind": gvk,
    })
}

/// The schema and the media types of the body of an operation; `None`: it has none.
fn sent(kind: &Kind, operation: &Operation, v3: bool) -> Option<(Value, &'static [&'static str])> {
    const WHOLE: &[&str] = &["application/json", "application/yaml"];
    const PATCHES: &[&str] =
        &["application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"];
    // The status is not patched with JSON patches.
    const STATUS_PATCHES: &[&str] = &["application/merge-patch+json", "application/apply-patch+yaml"];
    Some(match operation.method {
        "post" | "put" => (reference(&definition(kind), v3), WHOLE),
        "patch" if operation.path.ends_with(STATUS) => (json!({ "type": "object" }), STATUS_PATCHES),
        // Without a type: a JSON patch is a list.
        "patch" => (json!({ "description": "The patch." }), PATCHES),
        "delete" => (reference(&format!("{META}.DeleteOptions"), v3), WHOLE),
        _ => return None,
    })
}

fn info() -> Value {
    json!({ "title": "Domainscope", "version": env!("CARGO_PKG_VERSION") })
}

/// OpenAPI 2.
pub(crate) fn v2() -> Value {
    let mut all = of_kinds();
    all.push(namespace());
    let mut paths = paths(false);
    paths.append(&mut core_paths(false));
    json!({ "swagger": "2.0", "info": info(), "paths": paths, "definitions": schemas("#/definitions/", &all) })
}

/// OpenAPI 3 of one group and version.
fn v3(described: &[Described], paths: &Map<String, Value>) -> Value {
    json!({
        "openapi": "3.0.0", "info": info(), "paths": paths,
        "components": { "schemas": schemas("#/components/schemas/", described) },
    })
}
