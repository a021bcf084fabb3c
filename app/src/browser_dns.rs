//! The browser as a vantage point: asks public resolvers directly, in their JSON form, and tries whether a host can be
//! reached at all. In: a resolver's row and a question. Out: the model's answer, the same the server's own clients
//! give. Works only on pages whose content security policy names the resolvers ([`ASKING_PAGES`]); on the server it
//! only has to compile.

use crate::browser;
use gloo_net::http::{Request, RequestBuilder};
use leptos::prelude::window;
use model::compare::ResolverAnswer;
use model::doh_json;
use model::resolvers::PublicResolver;
use std::sync::OnceLock;
use web_sys::{AbortSignal, ReferrerPolicy, RequestCache, RequestCredentials, RequestMode};

/// Pages that may ask. The policy belongs to the document, so they are opened by a full load, never by the router.
pub const ASKING_PAGES: [&str; 2] = ["/tools/compare", "/tools/fqdn"];

/// Patience with a resolver, milliseconds.
const PATIENCE_MS: u32 = 6000;

static DOCUMENT: OnceLock<String> = OnceLock::new();

/// True for addresses that need a document of their own.
pub(crate) fn is_asking_page(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    ASKING_PAGES.contains(&path)
}

/// Keeps the address this document was loaded from; called once, before the router changes it.
#[cfg_attr(not(feature = "hydrate"), allow(dead_code))]
pub(crate) fn document_loaded() {
    let _ = DOCUMENT.set(window().location().pathname().unwrap_or_default());
}

/// True when this document's policy lets it ask.
pub(crate) fn may_ask() -> bool {
    DOCUMENT.get().is_some_and(|path| is_asking_page(path))
}

/// Queries one resolver. A failure is in the answer's `error`.
pub(crate) async fn ask(resolver: &PublicResolver, name: &str, rtype: &str) -> ResolverAnswer {
    let asked_at = browser::now();
    let failed = |why: &str| doh_json::failed(&resolver.id, why, asked_at);
    let Some(base) = resolver.json.as_deref() else { return failed("it has nothing a browser may ask") };
    let start = clock_ms();
    match fetch(&doh_json::url(base, name, rtype)).await {
        Ok(text) => {
            let taken = start.zip(clock_ms()).map(|(a, b)| b - a);
            doh_json::read(&resolver.id, &text, asked_at, taken).unwrap_or_else(|e| failed(&e.to_string()))
        }
        Err(why) => failed(&why),
    }
}

/// True when the host answers on HTTPS: this uses the resolver of the visitor's own machine. False may also mean that
/// it offers no HTTPS, or a certificate the browser refuses.
pub(crate) async fn reaches(host: &str) -> bool {
    let request = plain(&format!("https://{host}/")).mode(RequestMode::NoCors);
    request.send().await.is_ok()
}

/// A request without credentials, referrer or HTTP cache.
fn plain(url: &str) -> RequestBuilder {
    Request::get(url)
        .cache(RequestCache::NoStore)
        .credentials(RequestCredentials::Omit)
        .referrer_policy(ReferrerPolicy::NoReferrer)
        .abort_signal(Some(&AbortSignal::timeout_with_u32(PATIENCE_MS)))
}

async fn fetch(url: &str) -> Result<String, String> {
    let response =
        plain(url).header("accept", "application/dns-json").send().await.map_err(|e| in_words(&e))?;
    if !response.ok() {
        return Err(format!("it answers with HTTP status {}", response.status()));
    }
    response.text().await.map_err(|e| in_words(&e))
}

fn in_words(e: &gloo_net::Error) -> String {
    match e {
        gloo_net::Error::JsError(e) if e.name == "TimeoutError" || e.name == "AbortError" => {
            format!("no answer within {} s", PATIENCE_MS / 1000)
        }
        _ => "this browser can’t reach it: offline, blocked by the network, or by an extension".into(),
    }
}

fn clock_ms() -> Option<f64> {
    window().performance().map(|p| p.now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_pages_are_recognized_by_their_path() {
        assert!(is_asking_page("/tools/fqdn") && is_asking_page("/tools/compare?name=a.example"));
        for other in ["/tools", "/tools/fqdnx", "/domains?from=/tools/fqdn", "/tools/scan"] {
            assert!(!is_asking_page(other), "{other}");
        }
    }
}
