//! What every server function needs of its request: services, caller, clock, and the way back after a form.

use crate::clock::Clock;
use leptos::prelude::use_context;
use model::Timestamp;
use model::ids::Caller;
use model::names::DomainName;
use service::SharedBackend;
use service::{ApiError, ApiResult};

/// The backend and who asks it.
pub(super) fn backend() -> ApiResult<(SharedBackend, Caller)> {
    let backend = use_context::<SharedBackend>()
        .ok_or_else(|| ApiError::unavailable("The server is not ready to answer yet."))?;
    let caller = use_context::<Caller>().ok_or_else(|| ApiError::sign_in_required("Sign in to see this."))?;
    Ok((backend, caller))
}

/// The server's clock.
pub(super) fn now() -> Timestamp {
    use_context::<Clock>().map_or_else(Timestamp::now, |c| (c.0)())
}

/// A name out of an address or a form.
pub(super) fn name(text: &str) -> ApiResult<DomainName> {
    DomainName::read(text).map(|u| u.name).map_err(|e| ApiError::invalid(e.to_string()))
}

/// Names out of a form.
pub(super) fn names(texts: &[String]) -> ApiResult<Vec<DomainName>> {
    if texts.is_empty() {
        return Err(ApiError::invalid("No domain was selected."));
    }
    texts.iter().map(|t| name(t)).collect()
}

/// Sends a browser without JavaScript back to where the form was, with what was done (`kind.count`).
pub(super) fn done(what: &str, count: u64) {
    go_back(&[("done", format!("{what}.{count}"))]);
}

/// Leads a browser that posted a form to a page of ours.
pub(super) fn go_to(path: &str) {
    if let Some(parts) = use_context::<axum::http::request::Parts>()
        && use_context::<leptos_axum::ResponseOptions>().is_some()
        && let Some(accept) = parts.headers.get(axum::http::header::ACCEPT)
        && accept.to_str().is_ok_and(|a| a.contains("text/html"))
    {
        leptos_axum::redirect(path);
    }
}

/// The same with any pairs.
pub(super) fn go_back(pairs: &[(&str, String)]) {
    use leptos_axum::ResponseOptions;
    let (Some(parts), Some(_)) =
        (use_context::<axum::http::request::Parts>(), use_context::<ResponseOptions>())
    else {
        return;
    };
    let header = |name: axum::http::header::HeaderName| {
        parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    };
    if !header(axum::http::header::ACCEPT).contains("text/html") {
        return;
    }
    leptos_axum::redirect(&back_to(header(axum::http::header::REFERER), pairs));
}

/// Where to send a browser after a form: the page it came from, its own path only, with these pairs in place of
/// those of an earlier form.
fn back_to(referer: &str, pairs: &[(&str, String)]) -> String {
    let rest = referer.split_once("://").map_or(referer, |(_, r)| r);
    let local = rest.find('/').map_or("/domains", |i| &rest[i..]);
    let local = local.split('#').next().unwrap_or(local);
    let (path, query) = local.split_once('?').unwrap_or((local, ""));
    // Two slashes would make it an address of another host.
    let path = format!("/{}", path.trim_start_matches(['/', '\\']));
    let kept = crate::query::pairs(query)
        .into_iter()
        .filter(|(k, _)| !matches!(k.as_str(), "done" | "refused" | "__err" | "__path"));
    let all: Vec<String> = kept
        .chain(pairs.iter().map(|(k, v)| ((*k).to_string(), v.clone())))
        .map(|(k, v)| format!("{}={}", model::inventory::percent(&k), model::inventory::percent(&v)))
        .collect();
    if all.is_empty() { path } else { format!("{path}?{}", all.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::back_to;

    #[test]
    fn a_form_leads_back_to_its_own_page_only() {
        let done = [("done", "rescan.3".to_string())];
        assert_eq!(back_to("http://h:1/domains?q=a%20b&done=x.1#y", &done), "/domains?q=a%20b&done=rescan.3");
        assert_eq!(back_to("http://h//evil.example/x", &done), "/evil.example/x?done=rescan.3");
        assert_eq!(back_to("", &done), "/domains?done=rescan.3");
    }
}
