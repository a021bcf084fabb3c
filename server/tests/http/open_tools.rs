//! Tools that are open to visitors without an account: pages, JSON for other origins, pages that others embed, limits.

use crate::site::{Site, site_open};
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use model::open_tools::OpenTool;
use model::open_tools::OpenTool::{Compare, Scan};
use serde_json::Value;
use std::net::IpAddr;
use tower::ServiceExt;

const PARTNER: &str = "https://www.partner.example";

/// A request of a client with an address of its own; the listener of the server sets it as an extension.
async fn ask(
    site: &Site,
    method: &str,
    path: &str,
    from: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::builder().method(method).uri(path).header("host", "scope.example");
    for (k, v) in headers {
        request = request.header(*k, *v);
    }
    let client = doh::Client(from.parse::<IpAddr>().unwrap());
    let request = request.extension(client).body(Body::empty()).unwrap();
    let answer = site.router.clone().oneshot(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
    (status, headers, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_visitors_page_shows_open_tools_and_the_way_to_sign_in_and_no_organisation() {
    let site = site_open(&[Scan, Compare], &[]).await;
    let (status, headers, page) = ask(&site, "GET", "/tools/scan?name=alder.example", "192.0.2.1", &[]).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers["cache-control"], "no-store");
    assert!(page.contains("data-visitor=\"scan,compare\"") && page.contains("Scan of alder.example"));
    assert!(page.contains("/sign-in?to=%2Ftools%2Fscan%3Fname%3Dalder.example"), "{page}");
    for absent in ["/domains", "/events", "/settings", "/tools/check", "/tools/trace", "Alder Labs", "Mira"] {
        assert!(!page.contains(absent), "{absent}");
    }
    // A link on another site asks first, as it does for accounts.
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let (_, _, page) = ask(&site, "GET", "/tools/scan?name=a.example", "192.0.2.1", &elsewhere).await;
    assert!(page.contains("Run this tool?"));
    // Of what has a permit for long, visitors get none.
    let watch = "/live/compare?name=www.alder.example&watch=1";
    assert_eq!(ask(&site, "GET", watch, "192.0.2.1", &[]).await.0, StatusCode::UNAUTHORIZED);
    // Nothing was stored.
    let none = site.scanner.store.item(model::ids::OrgId::NONE, &name("alder.example")).await.unwrap();
    assert!(none.is_none());
    assert!(site.scanner.store.observation(&name("alder.example"), &vantage()).await.unwrap().is_none());
}

#[tokio::test]
async fn the_way_back_from_a_dns_provider_names_the_domain_and_asks_first() {
    let site = crate::site::site(true).await;
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let path = "/tools/configure?service=caa&domain=alder.example&issuers=letsencrypt.org";
    let (status, page) = site.ask("GET", path, &elsewhere, "").await;
    assert_eq!(status, StatusCode::OK);
    for words in ["Run this tool?", "your DNS provider led you back", "questions about alder.example"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let (_, page) = site.ask("GET", "/tools/check?zone=alder.example", &elsewhere, "").await;
    assert!(page.contains("questions about alder.example") && !page.contains("DNS provider"), "{page}");
}

fn name(text: &str) -> model::names::DomainName {
    model::names::DomainName::trusted(text)
}

fn vantage() -> model::ids::Vantage {
    model::ids::Vantage::local()
}

#[tokio::test]
async fn a_feature_that_is_off_closes_the_tools_at_once() {
    let site = site_open(&[Scan], &[PARTNER]).await;
    let stored = features::Feature {
        state: features::State::Off,
        ..features::Feature::new(features::spec("open-tools").unwrap(), "0.1.0", model::Timestamp::now())
    };
    site.services.gates.close(&[stored]);
    assert_eq!(ask(&site, "GET", "/tools/scan", "192.0.2.1", &[]).await.0, StatusCode::SEE_OTHER);
    assert_eq!(ask(&site, "GET", "/embed/scan", "192.0.2.1", &[]).await.0, StatusCode::NOT_FOUND);
    let api = ask(&site, "GET", "/api/v1/scan?name=a.example", "192.0.2.1", &[("origin", PARTNER)]).await;
    assert_eq!(api.0, StatusCode::UNAUTHORIZED);
    assert!(!api.1.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn listed_origins_read_the_api_without_credentials_and_others_do_not() {
    let site = site_open(&[Scan], &[PARTNER]).await;
    let path = "/api/v1/scan?name=alder.example";
    let from_partner = [("origin", PARTNER), ("sec-fetch-site", "cross-site")];
    let (status, headers, body) = ask(&site, "GET", path, "192.0.2.1", &from_partner).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(headers["access-control-allow-origin"], PARTNER);
    assert!(headers.get_all("vary").iter().any(|v| v == "Origin"));
    assert!(!headers.contains_key("access-control-allow-credentials"));
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&found["name"], &found["in_inventory"]), (&"alder.example".into(), &false.into()));

    // An account that comes along counts for nothing: the page could read what belongs to it.
    let with_token = [("origin", PARTNER), ("authorization", crate::site::BEARER)];
    let (status, ..) = ask(&site, "GET", "/api/v1/domains", "192.0.2.1", &with_token).await;
    assert_eq!(status, StatusCode::OK, "a program may send any origin to its own account");
    let (_, headers, _) = ask(&site, "GET", "/api/v1/domains", "192.0.2.1", &from_partner).await;
    assert!(!headers.contains_key("access-control-allow-origin"));

    for foreign in ["https://evil.example", "https://www.partner.example.evil.example", "null"] {
        let from = [("origin", foreign), ("sec-fetch-site", "cross-site")];
        let (status, headers, _) = ask(&site, "GET", path, "192.0.2.1", &from).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{foreign}");
        assert!(!headers.contains_key("access-control-allow-origin"), "{foreign}");
        assert!(headers.get_all("vary").iter().any(|v| v == "Origin"), "{foreign}");
    }
    // A token that was revoked is an error, not a visit.
    let revoked = [("authorization", "Bearer dst_none")];
    assert_eq!(ask(&site, "GET", path, "192.0.2.1", &revoked).await.0, StatusCode::UNAUTHORIZED);
    // Programs are visitors too.
    assert_eq!(ask(&site, "GET", path, "198.51.100.1", &[]).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_preflight_is_answered_for_listed_origins_and_open_tools() {
    let site = site_open(&[Scan], &[PARTNER]).await;
    let wanted = [("origin", PARTNER), ("access-control-request-method", "GET")];
    let (status, headers, _) = ask(&site, "OPTIONS", "/api/v1/scan", "192.0.2.1", &wanted).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(headers["access-control-allow-origin"], PARTNER);
    assert_eq!(headers["access-control-allow-methods"], "GET");
    assert!(headers.get_all("vary").iter().any(|v| v == "Origin"));
    for (path, origin) in [
        ("/api/v1/scan", "https://evil.example"),
        ("/api/v1/trace", PARTNER),
        ("/api/v1/domains", PARTNER),
        ("/api/fn/look_up", PARTNER),
    ] {
        let asked = [("origin", origin), ("access-control-request-method", "GET")];
        let (status, headers, _) = ask(&site, "OPTIONS", path, "192.0.2.1", &asked).await;
        assert!(!status.is_success(), "{path} from {origin}: {status}");
        assert!(!headers.contains_key("access-control-allow-origin"), "{path} from {origin}");
    }
}

#[tokio::test]
async fn a_page_to_embed_names_who_may_and_runs_no_program() {
    let site = site_open(&[Scan], &[PARTNER, "http://localhost:3000"]).await;
    let framed = [("referer", "https://www.partner.example/"), ("sec-fetch-site", "cross-site")];
    let path = "/embed/scan?name=alder.example&theme=dark";
    let (status, headers, page) = ask(&site, "GET", path, "192.0.2.1", &framed).await;
    assert_eq!(status, StatusCode::OK);
    let policy = headers["content-security-policy"].to_str().unwrap();
    let ancestors = policy.split("; ").find(|p| p.starts_with("frame-ancestors")).unwrap();
    assert_eq!(ancestors, "frame-ancestors https://www.partner.example http://localhost:3000");
    assert!(!headers.contains_key("x-frame-options") && !headers.contains_key("set-cookie"));
    assert!(page.contains("data-theme=\"dark\"") && page.contains("Scan of alder.example"));
    assert!(page.contains("action=\"/embed/scan\"") && page.contains("name=\"theme\" value=\"dark\""));
    for ours in ["type=\"module\"", "passkey.js", "RuntimeError"] {
        assert!(!page.contains(ours), "{ours}: {page}");
    }

    // Framed by a site that is not listed: the browser shows nothing, and nothing is asked before.
    let strange = [("referer", "https://evil.example/"), ("sec-fetch-site", "cross-site")];
    let (_, headers, page) = ask(&site, "GET", path, "192.0.2.1", &strange).await;
    assert!(page.contains("Run this tool?") && !page.contains("Scan of alder.example"));
    assert!(headers["content-security-policy"].to_str().unwrap().contains(ancestors));

    // Our own pages are framed by no site.
    let (_, headers, _) = ask(&site, "GET", "/tools/scan", "192.0.2.1", &framed).await;
    assert!(headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
    assert_eq!(headers["x-frame-options"], "DENY");

    // An account counts for nothing here.
    let signed_in = [("authorization", crate::site::BEARER)];
    let (_, _, page) = ask(&site, "GET", "/embed/scan", "192.0.2.1", &signed_in).await;
    assert!(page.contains("data-visitor=\"scan\""));

    // Without origins there is no one to embed it.
    let alone = site_open(&[Scan], &[]).await;
    let (_, headers, _) = ask(&alone, "GET", "/embed/scan", "192.0.2.1", &[]).await;
    assert!(headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
}

#[tokio::test]
async fn every_open_tool_can_be_embedded() {
    let site = site_open(&OpenTool::ALL, &[PARTNER]).await;
    for tool in OpenTool::ALL {
        let path = format!("/embed/{}", tool.as_str());
        let (status, _, page) = ask(&site, "GET", &path, "192.0.2.1", &[]).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(page.contains(&format!("action=\"{path}\"")), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_network_has_so_many_look_ups_a_minute_and_the_refusal_says_when_to_retry() {
    let site = site_open(&[Scan], &[PARTNER]).await;
    let path = "/api/v1/scan?name=alder.example";
    let partner = [("origin", PARTNER)];
    // Six points a minute, two for a scan; addresses of one network count together.
    for from in ["192.0.2.1", "192.0.2.2", "192.0.2.200"] {
        assert_eq!(ask(&site, "GET", path, from, &partner).await.0, StatusCode::OK);
    }
    let (status, headers, body) = ask(&site, "GET", path, "192.0.2.77", &partner).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(headers["content-type"], "application/problem+json");
    let seconds: u64 = headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    // A script of the other origin may read when to come back.
    assert_eq!(headers["access-control-expose-headers"], "Retry-After");
    assert_eq!(headers["access-control-allow-origin"], PARTNER);
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["status"], 429);
    assert!(problem["detail"].as_str().unwrap().contains("Too many look-ups within a minute"));
    // The page says the same.
    let (status, headers, page) = ask(&site, "GET", "/tools/scan?name=alder.example", "192.0.2.1", &[]).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(headers.contains_key("retry-after") && page.contains("Too many look-ups within a minute"));
    // Other networks and accounts go on.
    assert_eq!(ask(&site, "GET", path, "2001:db8:1::1", &[]).await.0, StatusCode::OK);
    let account = [("authorization", crate::site::BEARER)];
    assert_eq!(ask(&site, "GET", path, "192.0.2.1", &account).await.0, StatusCode::OK);
}

#[tokio::test]
async fn all_visitors_together_have_a_limit_and_accounts_do_not_share_it() {
    let site = site_open(&[Scan], &[]).await;
    let path = "/api/v1/scan?name=alder.example";
    // Sixty points for all: thirty scans, of thirty networks.
    for n in 0..30 {
        let from = format!("198.51.{n}.1");
        assert_eq!(ask(&site, "GET", path, &from, &[]).await.0, StatusCode::OK, "{from}");
    }
    let (status, headers, body) = ask(&site, "GET", path, "203.0.113.1", &[]).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(headers.contains_key("retry-after") && body.contains("all visitors"), "{body}");
    let account = [("authorization", crate::site::BEARER)];
    assert_eq!(ask(&site, "GET", path, "203.0.113.1", &account).await.0, StatusCode::OK);
}
