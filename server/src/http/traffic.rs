//! Counts requests by the kind of address they are for: a fixed set of labels, whatever is asked for.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use std::time::Instant;

/// Kinds of addresses, each with its beginnings; the first that fits counts. All others are pages.
const KINDS: &[(&str, &[&str])] = &[
    ("health", &["/livez", "/readyz", "/metrics"]),
    ("agent", &["/agent/"]),
    ("stream", &["/live"]),
    ("function", &["/api/fn/"]),
    ("resources", &["/api/v1/namespaces"]),
    ("rest", &["/api/v1/", "/api/docs"]),
    ("resources", &["/api", "/apis", "/openapi", "/version"]),
    ("asset", &["/assets/", "/favicon.svg", app::PASSKEY_SCRIPT, app::OBJECT_SCRIPT]),
    (
        "export",
        &[
            "/domains.csv",
            "/domains.json",
            "/networks.csv",
            "/networks.json",
            "/settings/audit.csv",
            "/settings/audit.json",
            "/feeds/",
        ],
    ),
];

/// The kind of an address.
fn kind(path: &str) -> &'static str {
    if matches!(path, "/" | "/domains") {
        return "inventory";
    }
    let fits = |begin: &&'static str| {
        path.strip_prefix(*begin)
            .is_some_and(|rest| begin.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
    };
    KINDS.iter().find(|(_, begins)| begins.iter().any(&fits)).map_or("page", |(kind, _)| kind)
}

/// Counts a request, and the time until its response begins.
pub(super) async fn count(request: Request, next: Next) -> Response {
    let (kind, begin) = (kind(request.uri().path()), Instant::now());
    let response = next.run(request).await;
    let status = match response.status().as_u16() {
        500.. => "5xx",
        400.. => "4xx",
        300.. => "3xx",
        _ => "2xx",
    };
    metrics::counter!("domainscope_http_requests_total", "class" => kind, "status" => status).increment(1);
    metrics::histogram!("domainscope_http_seconds", "class" => kind).record(begin.elapsed().as_secs_f64());
    response
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn every_address_has_one_of_few_kinds() {
        for (path, expected) in [
            ("/", "inventory"),
            ("/domains", "inventory"),
            ("/domains/alder.example", "page"),
            ("/domains.csv", "export"),
            ("/live", "stream"),
            ("/live/compare", "stream"),
            ("/lively", "page"),
            ("/api/v1/domains", "rest"),
            ("/api/v1", "resources"),
            ("/api/v1/namespaces/default", "resources"),
            ("/apis/datumapis.com/v1alpha", "resources"),
            ("/api/fn/look_up", "function"),
            ("/assets/style.css", "asset"),
            ("/agent/v1/poll", "agent"),
            ("/readyz", "health"),
            ("/nothing/there", "page"),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }
}
