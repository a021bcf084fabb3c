//! The description of the REST API: `/api/v1/openapi.json` (OpenAPI 3.1) and a readable page made of it. Neither holds
//! anything of an organisation, so that both can be read without signing in.

use super::v1::Problem;
use crate::http::AppState;
use axum::Json;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::LazyLock;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Domainscope API",
        version = "1",
        description = "Keys may be added; none changes its name or meaning before a version 2. Errors are problem \
                       details (RFC 9457).",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/api/v1")),
    tags(
        (name = "domains", description = "The inventory and its history"),
        (name = "events", description = "What changed"),
        (name = "tools", description = "Questions to servers of other parties, under the limits of look-ups"),
        (name = "access", description = "Members, invitations, tokens, the organisation, the audit log"),
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
            .description(Some("An API token: Authorization: Bearer dst_…"))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// The document. Every call can fail with problem details: said here once for all.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let (_, mut api) = super::documented().split_for_parts();
    let mut own = Description::openapi();
    own.merge(std::mem::take(&mut api));
    let mut document = serde_json::to_value(&own).unwrap_or_default();
    let problem = serde_json::json!({
        "description": "Problem details",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
    });
    for (_, path) in document["paths"].as_object_mut().into_iter().flatten() {
        for (_, operation) in path.as_object_mut().into_iter().flatten() {
            operation["responses"]["default"] = problem.clone();
        }
    }
    document
});

/// `GET /api/v1/openapi.json`.
pub async fn openapi() -> Response {
    Json(&*DOCUMENT).into_response()
}

/// `GET /api/v1/docs`: the same for people.
pub async fn page(State(state): State<AppState>) -> Html<String> {
    Html(render(state.bundle.style_tags(), &DOCUMENT))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The schema that a reference or an array of references names.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        return format!("<a href=\"#{0}\">{0}</a>", escape(name));
    }
    if schema["type"] == "array" {
        return format!("list of {}", type_of(&schema["items"]));
    }
    if let Some(several) = schema["oneOf"].as_array().or(schema["allOf"].as_array()) {
        let each: Vec<String> = several.iter().map(type_of).collect();
        return each.join(" or ");
    }
    match &schema["type"] {
        Value::String(word) => escape(word),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).map(escape).collect::<Vec<_>>().join(" or ")
        }
        _ => "object".into(),
    }
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn render(styles: &str, document: &Value) -> String {
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <title>API · Domainscope</title><script>{}</script>{styles}</head><body>\
         <main class=\"content\" id=\"main\"><div class=\"page-head\"><h1>Domainscope API</h1>\
         <span class=\"sub\">version 1 · <a href=\"/api/v1/openapi.json\">openapi.json</a></span></div>\
         <div class=\"stack\"><p>{} Send a token as <code>Authorization: Bearer dst_…</code>.</p>",
        app::THEME_SCRIPT,
        text(&document["info"]["description"]),
    );
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            call(&mut out, path, method, operation);
        }
    }
    out.push_str("<h2>Types</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        schema_card(&mut out, name, schema);
    }
    out.push_str("</div></main></body></html>");
    out
}

fn call(out: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        out,
        "<section class=\"card\"><div class=\"card-head\"><h2 class=\"mono\">{} {}</h2></div>\
         <div class=\"card-body stack\"><p>{}</p>",
        method.to_uppercase(),
        escape(path),
        text(&operation["summary"]),
    );
    let mut facts = String::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let _ = write!(
            facts,
            "<div><dt class=\"mono\">{}</dt><dd>{} <small>in {}</small></dd></div>",
            text(&parameter["name"]),
            text(&parameter["description"]),
            text(&parameter["in"]),
        );
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        let _ = write!(facts, "<div><dt>Body</dt><dd>{}</dd></div>", type_of(body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let content = response["content"].as_object().and_then(|all| all.values().next());
        let what = content.map(|c| type_of(&c["schema"])).unwrap_or_default();
        let _ = write!(
            facts,
            "<div><dt>{}</dt><dd>{} {what}</dd></div>",
            if status == "default" { "error" } else { status },
            text(&response["description"]),
        );
    }
    let _ = write!(out, "</div><dl class=\"facts\">{facts}</dl></section>");
}

fn schema_card(out: &mut String, name: &str, schema: &Value) {
    let _ = write!(
        out,
        "<section class=\"card\" id=\"{0}\"><div class=\"card-head\"><h3>{0}</h3></div><div class=\"card-body\"><p>{1}</p></div><dl class=\"facts\">",
        escape(name),
        text(&schema["description"]),
    );
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let _ = write!(
            out,
            "<div><dt class=\"mono\">{}</dt><dd>{} <small>{}</small></dd></div>",
            escape(key),
            type_of(property),
            text(&property["description"]),
        );
    }
    out.push_str("</dl></section>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_openapi_3_1_and_every_reference_leads_somewhere() {
        assert!(DOCUMENT["openapi"].as_str().unwrap().starts_with("3.1"));
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
        let mut all = Vec::new();
        references(&DOCUMENT, &mut all);
        assert!(all.len() > 20, "{}", all.len());
        for reference in all {
            let found = DOCUMENT.pointer(reference.trim_start_matches('#'));
            assert!(found.is_some(), "{reference}");
        }
        let mut names = std::collections::BTreeSet::new();
        for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                assert!(operation["summary"].is_string(), "{method} {path} says what it does");
                assert!(names.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
                let declared = operation["parameters"].as_array().into_iter().flatten();
                let declared: Vec<_> =
                    declared.filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
                let used: Vec<_> = path.split('{').skip(1).map(|p| p.split('}').next().unwrap()).collect();
                assert_eq!(declared, used, "{method} {path}");
            }
        }
    }

    #[test]
    fn the_page_has_every_call_and_no_markup_of_the_document() {
        let page = render("", &DOCUMENT);
        assert!(page.contains("DELETE /tokens/{id}") && page.contains("id=\"TokenV1\""));
        let hostile = serde_json::json!({ "info": { "description": "<script>" }, "paths": {} });
        assert!(render("", &hostile).contains("&lt;script&gt;"));
    }
}
