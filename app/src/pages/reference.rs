//! The reference of the REST API at `/api/docs`, made of its OpenAPI document. The server renders it whole, without the
//! browser bundle.

use crate::components::icon;
use leptos::prelude::*;
use serde_json::Value;

/// The complete document; `head_html` carries the style sheet and no script, `api` is the OpenAPI document.
pub fn reference_document(head_html: &str, api: &Value) -> String {
    let head = leptos::tachys::html::InertElement::new(head_html.to_string());
    let groups: Vec<Group> = list(&api["tags"]).map(|tag| Group::of(tag, api)).collect();
    let contents = groups.iter().map(Group::contents).collect_view();
    let calls = groups.iter().map(Group::calls).collect_view();
    let types = fields(&api["components"]["schemas"]).map(|(name, schema)| type_card(name, schema));
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>"API reference · Domainscope"</title>
                <script inner_html=crate::THEME_SCRIPT></script>
                {head}
            </head>
            <body>
                <icon::Sprite/>
                <a class="absolute left-3 -top-12 z-50 bg-surface py-2 px-3 rounded-md focus:top-3" href="#main">"Skip to content"</a>
                <main class="content" id="main">
                    <div class="page-head">
                        <h1>{text(&api["info"]["title"])}</h1>
                        <span class="sub text-muted">"version "{text(&api["info"]["version"])}" · "<a href="/api/v1/openapi.json">"openapi.json"</a>" (OpenAPI 3.1) · "<a href="/settings/tokens">"API tokens"</a></span>
                    </div>
                    <div class="grid grid-cols-1 gap-4 content-start">
                        <section class="card"><div class="card-body grid grid-cols-1 gap-4 content-start">{prose(&api["info"]["description"])}</div></section>
                        <nav class="card tbl-wrap" aria-label="Calls">
                            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Calls">
                                <table class="tbl tbl-tight">
                                    <thead><tr><th scope="col">"Call"</th><th scope="col">"What it does"</th></tr></thead>
                                    {contents}
                                </table>
                            </div>
                        </nav>
                        {calls}
                        <h2>"Types"</h2>
                        {types.collect_view()}
                    </div>
                </main>
            </body>
        </html>
    }
    .into_any()
    .to_html()
}

/// The calls of one tag.
struct Group<'a> {
    name: &'a str,
    about: &'a str,
    calls: Vec<Call<'a>>,
}

/// One call: an address and a method.
struct Call<'a> {
    id: &'a str,
    method: String,
    path: String,
    value: &'a Value,
}

impl<'a> Group<'a> {
    fn of(tag: &'a Value, api: &'a Value) -> Self {
        let name = text(&tag["name"]);
        let base = text(&api["servers"][0]["url"]);
        let mut calls = Vec::new();
        for (path, methods) in fields(&api["paths"]) {
            for (method, value) in fields(methods).filter(|(_, call)| call["tags"][0] == name) {
                let (method, path) = (method.to_uppercase(), format!("{base}{path}"));
                calls.push(Call { id: text(&value["operationId"]), method, path, value });
            }
        }
        Group { name, about: text(&tag["description"]), calls }
    }

    fn contents(&self) -> AnyView {
        let rows = self.calls.iter().map(|call| {
            view! {
                <tr>
                    <th scope="row" class="mono whitespace-nowrap"><a href=format!("#{}", call.id)>{call.method.clone()}" "{call.path.clone()}</a></th>
                    <td>{code_spans(text(&call.value["summary"]))}</td>
                </tr>
            }
        });
        view! { <tbody>{rows.collect_view()}</tbody> }.into_any()
    }

    fn calls(&self) -> AnyView {
        let mut title = self.name.to_string();
        if let Some(first) = title.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let calls = self.calls.iter().map(Call::card);
        view! {
            <div><h2>{title}</h2><p class="text-muted">{self.about.to_string()}</p></div>
            {calls.collect_view()}
        }
        .into_any()
    }
}

impl Call<'_> {
    fn card(&self) -> AnyView {
        let parameters = list(&self.value["parameters"]).map(|p| {
            let required = if p["required"] == true { " · required" } else { "" };
            let place = format!("{}{required}", text(&p["in"]));
            row(text(&p["name"]), type_of(&p["schema"]), &place, text(&p["description"]))
        });
        let body = &self.value["requestBody"]["content"]["application/json"]["schema"];
        let body = (!body.is_null()).then(|| row("body", type_of(body), "JSON · required", ""));
        let responses = fields(&self.value["responses"]).map(|(status, response)| {
            let content = fields(&response["content"]).next();
            let what = content.map_or_else(|| ().into_any(), |(_, c)| type_of(&c["schema"]));
            let status = if status == "default" { "other" } else { status };
            row(status, what, "response", text(&response["description"]))
        });
        let about = text(&self.value["description"]);
        let about = (!about.is_empty()).then(|| prose(&self.value["description"]));
        view! {
            <section class="card tbl-wrap" id=self.id.to_string()>
                <div class="card-head"><h3 class="flex items-center gap-2 flex-wrap"><span class="tag mono">{self.method.clone()}</span><span class="mono wrap">{self.path.clone()}</span></h3></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start"><p>{code_spans(text(&self.value["summary"]))}</p>{about}</div>
                {table(view! { {parameters.collect_view()}{body}{responses.collect_view()} }.into_any(), self.id)}
            </section>
        }
        .into_any()
    }
}

fn type_card(name: &str, schema: &Value) -> AnyView {
    // A type that extends another names its own keys in one of the parts.
    let parts = list(&schema["allOf"]).chain(list(&schema["oneOf"])).chain(std::iter::once(schema));
    let rows: Vec<AnyView> = parts
        .flat_map(|part| {
            let required: Vec<&str> = list(&part["required"]).map(text).collect();
            fields(&part["properties"]).map(move |(key, property)| {
                let place = if required.contains(&key) { "always there" } else { "may be absent" };
                row(key, type_of(property), place, text(&property["description"]))
            })
        })
        .collect();
    let keys = (!rows.is_empty()).then(|| table(rows.into_any(), name));
    let extends = list(&schema["allOf"]).filter(|part| part["$ref"].is_string()).map(|part| {
        view! { <p>"With all keys of "{type_of(part)}"."</p> }
    });
    view! {
        <section class="card tbl-wrap" id=format!("type-{name}")>
            <div class="card-head"><h3 class="mono">{name.to_string()}</h3></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">{prose(&schema["description"])}{extends.collect_view()}</div>
            {keys}
        </section>
    }
    .into_any()
}

fn table(rows: AnyView, about: &str) -> AnyView {
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label=format!("Keys of {about}")>
            <table class="tbl tbl-tight">
                <thead><tr><th scope="col">"Name"</th><th scope="col">"Type"</th><th scope="col">"Where"</th><th scope="col">"Meaning"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(name: &str, of: AnyView, place: &str, meaning: &str) -> AnyView {
    view! {
        <tr>
            <th scope="row" class="mono">{name.to_string()}</th>
            <td>{of}</td>
            <td class="text-muted whitespace-nowrap">{place.to_string()}</td>
            <td>{code_spans(meaning)}</td>
        </tr>
    }
    .into_any()
}

/// The type of a schema in words, with links to named ones.
fn type_of(schema: &Value) -> AnyView {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default().to_string();
        return view! { <a class="mono" href=format!("#type-{name}")>{name.clone()}</a> }.into_any();
    }
    if schema["enum"].is_array() {
        let words: Vec<String> = list(&schema["enum"])
            .map(|word| word.as_str().map_or_else(|| word.to_string(), |w| format!("“{w}”")))
            .collect();
        return words.join(", ").into_any();
    }
    if schema["type"] == "array" {
        return view! { "list of "{type_of(&schema["items"])} }.into_any();
    }
    let several: Vec<&Value> = list(&schema["oneOf"]).chain(list(&schema["allOf"])).collect();
    if !several.is_empty() {
        let each = several.iter().enumerate().map(|(n, one)| {
            let or = (n > 0).then_some(" or ");
            view! { {or}{type_of(one)} }
        });
        return each.collect_view().into_any();
    }
    let words: Vec<&str> = match &schema["type"] {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().map(text).collect(),
        _ => vec!["any value"],
    };
    let format = text(&schema["format"]);
    let format = if format.is_empty() { String::new() } else { format!(" ({format})") };
    format!("{}{format}", words.join(" or ")).into_any()
}

/// Paragraphs, with code spans.
fn prose(value: &Value) -> AnyView {
    let paragraphs = text(value).split("\n\n").filter(|p| !p.is_empty());
    paragraphs.map(|p| view! { <p>{code_spans(p)}</p> }).collect_view().into_any()
}

/// Text in which what stands between backticks is code.
fn code_spans(words: &str) -> AnyView {
    let parts = words.split('`').enumerate().map(|(n, part)| {
        let part = part.to_string();
        if n % 2 == 1 { view! { <code>{part}</code> }.into_any() } else { part.into_any() }
    });
    parts.collect_view().into_any()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}
