//! `/objects/KIND/NAME`: an object of the resource API as YAML for people, to copy and to edit. Reads and writes go
//! through [`resources`], so that they are authorised and checked as those of its clients are.

use super::AppState;
use app::{AccessPage, NewerObject, ObjectPage, access_document, object_document};
use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Form};
use model::ids::Caller;
use resources::kinds::{DOMAIN, NETWORK_CLAIM};
use resources::{Kind, Reply};
use serde::Deserialize;
use serde_json::Value;
use service::ApiError;
use service::policy::{Action, authorize};
use std::sync::Arc;

/// How the page was reached.
#[derive(Debug, Deserialize)]
pub struct Reached {
    #[serde(default)]
    saved: Option<String>,
}

/// What the form sends.
#[derive(Debug, Deserialize)]
pub struct Edited {
    #[serde(default)]
    yaml: String,
    /// The version that the text may overwrite, instead of the one it names.
    #[serde(default)]
    over: Option<String>,
    /// Given to try it and store nothing; for a new object.
    #[serde(default)]
    preview: Option<String>,
}

/// Kinds with a page of their own, from where people come.
fn kind_of(plural: &str) -> Option<&'static Kind> {
    [&DOMAIN, &NETWORK_CLAIM].into_iter().find(|kind| kind.plural == plural)
}

/// What saving such an object is to the policy.
fn saving(kind: &Kind) -> Action {
    if kind.plural == DOMAIN.plural { Action::Patch } else { Action::SaveNetworkClaim }
}

fn blank(kind: &Kind, name: &str, caller: &Caller) -> ObjectPage {
    ObjectPage {
        plural: kind.plural.to_string(),
        name: name.to_string(),
        is_editable: authorize(caller, saving(kind)).is_ok(),
        ..ObjectPage::default()
    }
}

fn show(state: &AppState, status: StatusCode, page: &ObjectPage) -> Response {
    let html = object_document(state.bundle.style_tags(), page);
    (status, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Html(html)).into_response()
}

/// A page that says why there is no object to show, with a way back.
fn refused(state: &AppState, plural: &str, e: &ApiError) -> Response {
    let link = match plural == NETWORK_CLAIM.plural {
        true => ("/networks", "Back to the networks"),
        false => ("/domains", "Back to the domains"),
    };
    let (title, text) = (e.kind.title().to_string(), e.detail.clone());
    let page = AccessPage { title, text, link: Some(link), ..AccessPage::default() };
    let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let html = access_document(state.bundle.style_tags(), &page);
    (status, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Html(html)).into_response()
}

fn unknown(state: &AppState, plural: &str, name: &str) -> Response {
    refused(state, plural, &ApiError::not_found(format!("There is no object {plural}/{name}.")))
}

/// `GET /object.js`.
pub async fn script() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, include_str!("object.js")).into_response()
}

/// `GET /objects/KIND/NAME`.
pub async fn page(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((plural, name)): Path<(String, String)>,
    Query(reached): Query<Reached>,
) -> Response {
    let Some(kind) = kind_of(&plural) else { return unknown(&state, &plural, &name) };
    let backend = Arc::new(state.services.clone());
    match resources::yaml_of(backend, &caller, kind, &name).await {
        Ok(yaml) => {
            let is_saved = reached.saved.is_some();
            show(&state, StatusCode::OK, &ObjectPage { yaml, is_saved, ..blank(kind, &name, &caller) })
        }
        Err(failure) if failure.code == 404 => unknown(&state, &plural, &name),
        Err(failure) => {
            let e = match failure.code {
                403 => ApiError::forbidden(failure.message),
                _ => ApiError::unavailable("The object could not be read. Try again in a moment."),
            };
            refused(&state, &plural, &e)
        }
    }
}

/// `POST /objects/KIND/NAME`: the text replaces the object, as an update by a client would.
pub async fn save(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((plural, name)): Path<(String, String)>,
    Form(edited): Form<Edited>,
) -> Response {
    let Some(kind) = kind_of(&plural) else { return unknown(&state, &plural, &name) };
    if let Err(e) = authorize(&caller, saving(kind)) {
        return refused(&state, &plural, &e);
    }
    let segment: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let over = edited.over.filter(|version| !version.is_empty());
    let text = over.and_then(|version| resources::with_version(&edited.yaml, &version));
    let request = resources::Request {
        method: "PUT".into(),
        path: format!("/apis/{}/{plural}/{segment}", Kind::api_version()),
        query: "fieldValidation=Strict".into(),
        accept: "application/json".into(),
        content_type: "application/yaml".into(),
        user_agent: "domainscope-page".into(),
        body: text.unwrap_or_else(|| edited.yaml.clone()).into_bytes(),
    };
    let Reply::Whole { status, body, .. } = state.resources.answer(&caller, request).await else {
        return unknown(&state, &plural, &name);
    };
    if status < 300 {
        let to = format!("/objects/{plural}/{segment}?saved=1");
        return match HeaderValue::from_str(&to) {
            Ok(to) => (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response(),
            Err(_) => unknown(&state, &plural, &name),
        };
    }
    let refused = ObjectPage { yaml: edited.yaml, ..blank(kind, &name, &caller) };
    let page = match status {
        409 => outdated(&state, &caller, kind, refused).await,
        404 => {
            let gone = format!("{name} was deleted after you opened it. Your text is below.");
            ObjectPage { errors: vec![gone], ..refused }
        }
        _ => {
            let errors = reasons(&serde_json::from_slice(&body).unwrap_or_default());
            ObjectPage { errors, ..refused }
        }
    };
    show(&state, StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), &page)
}

/// `POST /objects/KIND`: the text becomes a new object, as one that a client creates would, or is tried.
pub async fn create(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(plural): Path<String>,
    Form(edited): Form<Edited>,
) -> Response {
    // A domain is added on its own page.
    let Some(kind) = kind_of(&plural).filter(|kind| kind.plural == NETWORK_CLAIM.plural) else {
        return unknown(&state, &plural, "");
    };
    if let Err(e) = authorize(&caller, saving(kind)) {
        return refused(&state, &plural, &e);
    }
    let tried = if edited.preview.is_some() { "&dryRun=All" } else { "" };
    let request = resources::Request {
        method: "POST".into(),
        path: format!("/apis/{}/{plural}", Kind::api_version()),
        query: format!("fieldValidation=Strict{tried}"),
        accept: "application/json".into(),
        content_type: "application/yaml".into(),
        user_agent: "domainscope-page".into(),
        body: edited.yaml.clone().into_bytes(),
    };
    let Reply::Whole { status, body, .. } = state.resources.answer(&caller, request).await else {
        return unknown(&state, &plural, "");
    };
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let new = ObjectPage { yaml: edited.yaml, ..blank(kind, "", &caller) };
    if status >= 300 {
        let page = ObjectPage { errors: reasons(&answer), ..new };
        return show(&state, StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), &page);
    }
    if !tried.is_empty() {
        return show(&state, StatusCode::OK, &ObjectPage { preview: outcome(&answer), ..new });
    }
    let name = answer["metadata"]["name"].as_str().unwrap_or_default();
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    match HeaderValue::from_str(&format!("/networks?q={name}&done=claimed.1")) {
        Ok(to) => (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response(),
        Err(_) => unknown(&state, &plural, &name),
    }
}

/// What a claim would get: each of its records in words.
fn outcome(claim: &Value) -> Vec<String> {
    let records = claim["status"]["addressSpace"].as_array().into_iter().flatten();
    let words = records.map(|r| {
        let prefix = r["prefix"].as_str().unwrap_or("No prefix");
        match (r["status"].as_str(), r["message"].as_str()) {
            (Some("allocated"), _) => format!("{prefix} would be allocated."),
            (_, Some(message)) => format!("{prefix}: {message}"),
            _ => format!("{prefix} is unavailable."),
        }
    });
    words.collect()
}

/// The page after a conflict: the text that was sent, and the object as it is now.
async fn outdated(state: &AppState, caller: &Caller, kind: &'static Kind, refused: ObjectPage) -> ObjectPage {
    let backend = Arc::new(state.services.clone());
    let live = resources::yaml_of(backend, caller, kind, &refused.name).await.ok();
    let newer = live.and_then(|yaml| Some(NewerObject { version: resources::version_of(&yaml)?, yaml }));
    let words = match newer {
        Some(_) => {
            "The object was changed after you opened it. Compare your text with the object as it is now, \
             then save over it or discard your text."
        }
        None => "The object was changed after you opened it. Save once more to compare it with your text.",
    };
    ObjectPage { errors: vec![words.into()], newer, ..refused }
}

/// The sentences of a `Status`: each cause with its field, or its message.
fn reasons(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let each: Vec<String> = causes
        .filter_map(|c| Some((c["field"].as_str().unwrap_or_default(), c["message"].as_str()?)))
        .map(|(field, message)| match field {
            "" | "body" => message.to_string(),
            field => format!("{field}: {message}"),
        })
        .collect();
    match (each.is_empty(), status["message"].as_str()) {
        (true, Some(message)) => vec![message.to_string()],
        (true, None) => vec!["The server could not save it.".to_string()],
        _ => each,
    }
}
