//! The description of the REST API: `/api/v1/openapi.json` (OpenAPI 3.1), and `/api/docs`, a page made of it. Neither has
//! anything of an organisation in it, so both are read without signing in.

use super::v1::Problem;
use crate::http::AppState;
use axum::Json;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::LazyLock;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What holds for all calls. The page shows each paragraph by itself.
const ABOUT: &str = "\
Send an API token with each request: `Authorization: Bearer dst_…`. Its scope decides what it may do: `read`, `write` or `admin`.

A response that is not a success is a problem document (RFC 9457, `application/problem+json`): `type` names the problem and leads \
to its description, `detail` says what is wrong with this request. 400: the request can't be read. 401: no valid credentials. 403: \
the role or scope does not suffice. 404: no such thing in this organisation. 409: it conflicts with what is there. 412: it was \
changed meanwhile. 422: a value breaks a rule. 429 and 503: try again after `Retry-After` seconds.

Lists with `items` come in parts: repeat the request with `cursor` set to `next` of the part before, until `next` is `null`. The \
inventory and the event log have numbered pages instead.

To change only what you have read, send its `ETag` as `If-Match`. To read only what is new, send it as `If-None-Match`.

To create something once although the request may be repeated, send an `Idempotency-Key` of your own. A repeated request gets the \
first response, without the secret that is shown once.

Keys may be added to responses; none changes its name or meaning before a version 2.";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Domainscope API",
        version = "1",
        description = ABOUT,
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT")
    ),
    servers((url = "/api/v1")),
    tags(
        (name = "domains", description = "The inventory and its history"),
        (name = "ownership", description = "Proofs of control over a domain"),
        (name = "services", description = "DNS records that services need"),
        (name = "events", description = "What changed"),
        (name = "notifications", description = "Channels, rules and messages"),
        (name = "tools", description = "Questions to servers of other parties, under the limits of look-ups"),
        (name = "access", description = "Members, invitations, tokens, the organisation, the audit log"),
        (name = "features", description = "What can be turned on and off"),
        (name = "fleet", description = "Points of presence"),
        (name = "networks", description = "Address space behind the names"),
        (name = "reference", description = "This description"),
    ),
    components(schemas(Problem)),
    security(("token" = [])),
    modifiers(&Token)
)]
struct Description;

struct Token;

impl Modify for Token {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API token of an organisation"))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// The document. Every call can fail with problem details, which is added here for all of them.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let calls = super::documented().merge(OpenApiRouter::new().routes(routes!(openapi)));
    let (_, calls) = calls.split_for_parts();
    let mut api = Description::openapi();
    api.merge(calls);
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    let problem = json!({
        "description": "Problem details (RFC 9457)",
        "headers": { "Retry-After": {
            "description": "Seconds until the request may succeed, where a limit refused it",
            "schema": { "type": "integer" }
        } },
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
    });
    for (_, path) in document["paths"].as_object_mut().into_iter().flatten() {
        for (_, call) in path.as_object_mut().into_iter().flatten() {
            for (status, response) in call["responses"].as_object_mut().into_iter().flatten() {
                // The format requires one.
                if !response["description"].is_string() {
                    response["description"] = if status == "201" { "Created" } else { "Success" }.into();
                }
            }
            call["responses"]["default"] = problem.clone();
        }
    }
    document
});

/// This description, as OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "reference", security(()), responses((status = 200, body = Object)))]
pub async fn openapi() -> Response {
    Json(&*DOCUMENT).into_response()
}

/// The same for people.
pub async fn page(State(state): State<AppState>) -> Html<String> {
    Html(app::reference_document(state.bundle.style_tags(), &DOCUMENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn references<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                out.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|v| references(v, out));
            }
            Value::Array(list) => list.iter().for_each(|v| references(v, out)),
            _ => {}
        }
    }

    #[test]
    fn every_call_has_a_summary_a_name_of_its_own_and_its_parameters() {
        assert!(DOCUMENT["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut all = Vec::new();
        references(&DOCUMENT, &mut all);
        assert!(all.len() > 20, "{}", all.len());
        for reference in all {
            let found = DOCUMENT.pointer(reference.trim_start_matches('#'));
            assert!(found.is_some(), "{reference} leads nowhere");
        }
        let mut names = BTreeSet::new();
        let tags: BTreeSet<_> =
            DOCUMENT["tags"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        for (path, calls) in DOCUMENT["paths"].as_object().unwrap() {
            for (method, call) in calls.as_object().unwrap() {
                assert!(call["summary"].is_string(), "{method} {path} has no summary");
                assert!(names.insert(call["operationId"].as_str().unwrap()), "{method} {path}: name taken");
                assert!(tags.contains(call["tags"][0].as_str().unwrap()), "{method} {path}: unknown tag");
                let declared = call["parameters"].as_array().into_iter().flatten();
                let declared: Vec<_> =
                    declared.filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
                let used: Vec<_> = path.split('{').skip(1).map(|p| p.split('}').next().unwrap()).collect();
                assert_eq!(declared, used, "{method} {path}");
            }
        }
    }

    #[test]
    fn the_page_has_every_call_and_no_markup_of_the_document() {
        let page = app::reference_document("", &DOCUMENT);
        for (path, calls) in DOCUMENT["paths"].as_object().unwrap() {
            for (_, call) in calls.as_object().unwrap() {
                let id = format!("id=\"{}\"", call["operationId"].as_str().unwrap());
                assert!(page.contains(&id) && page.contains(path.as_str()), "{path}");
            }
        }
        assert!(page.contains("id=\"type-Token\""));
        let hostile = json!({ "info": { "description": "<b>x</b>" }, "tags": [], "paths": {} });
        assert!(app::reference_document("", &hostile).contains("&lt;b&gt;"));
    }
}
