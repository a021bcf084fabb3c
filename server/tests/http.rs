//! The HTTP server as a program meets it: who may come in, what bad input gets, what a page says without script.

#[path = "http/addresses.rs"]
mod addresses;
#[path = "http/agents.rs"]
mod agents;
#[path = "http/events.rs"]
mod events;
#[path = "http/feature_uses.rs"]
mod feature_uses;
#[path = "http/feeds.rs"]
mod feeds;
#[path = "http/identity.rs"]
mod identity;
#[path = "http/joining.rs"]
mod joining;
#[path = "http/long_lists.rs"]
mod long_lists;
#[path = "http/objects.rs"]
mod objects;
#[path = "http/open_tools.rs"]
mod open_tools;
#[path = "http/owners.rs"]
mod owners;
#[path = "http/polls.rs"]
mod polls;
#[path = "http/registered.rs"]
mod registered;
#[path = "http/resource_bounds.rs"]
mod resource_bounds;
#[path = "http/resource_clients.rs"]
mod resource_clients;
#[path = "http/resource_openapi.rs"]
mod resource_openapi;
#[path = "http/resource_refusals.rs"]
mod resource_refusals;
#[path = "http/resource_rules.rs"]
mod resource_rules;
#[path = "http/resources.rs"]
mod resources;
#[path = "http/rest_access.rs"]
mod rest_access;
#[path = "http/settings.rs"]
mod settings;
#[path = "http/shared_space.rs"]
mod shared_space;
#[path = "http/sign_in.rs"]
mod sign_in;
#[path = "http/site.rs"]
mod site;
#[path = "http/table.rs"]
mod table;
#[path = "http/transfer.rs"]
mod transfer;
#[path = "http/watches.rs"]
mod watches;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use model::names::DomainName;
use serde_json::{Value, json};
use site::{BEARER, Site, site};
use tower::ServiceExt;

#[tokio::test]
async fn without_credentials_people_are_led_to_sign_in_and_programs_get_a_problem() {
    let site = site(false).await;
    for path in ["/domains", "/domains.csv", "/domains/q7.io?x=1&y=2", "/events", "/no/such/page"] {
        let request = Request::get(path).header("host", "localhost:8080").body(Body::empty()).unwrap();
        let answer = site.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        let to = answer.headers()["location"].to_str().unwrap();
        let back: Vec<_> = url::form_urlencoded::parse(to.split_once('?').unwrap().1.as_bytes()).collect();
        assert_eq!(back, [("to".into(), path.into())], "{to}");
    }
    for path in ["/api/v1/domains", "/live"] {
        let (status, text) = site.ask("GET", path, &[], "").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(text.contains("sign-in-required"), "{path}: {text}");
    }
    for wrong in ["Bearer k3y", "Bearer ", "Bearer dst_AAAA", &BEARER.replace("dst_", "dss_")] {
        let (status, _) = site.ask("GET", "/api/v1/domains", &[("authorization", wrong)], "").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let token = ("authorization", BEARER);
    assert_eq!(site.ask("GET", "/domains", &[token], "").await.0, StatusCode::OK);
    let evil = [token, ("origin", "https://evil.example"), ("content-type", "application/json")];
    let (status, _) = site.ask("POST", "/api/v1/domains", &evil, r#"{"names":["q7.io"]}"#).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(site.ask("GET", "/livez", &[], "").await.0, StatusCode::OK);
    assert_eq!(site.ask("GET", "/readyz", &[], "").await.0, StatusCode::OK);
}

#[tokio::test]
async fn bad_names_are_refused_line_by_line_and_the_rest_goes_in() {
    let site = site(false).await;
    let names = json!({ "names": [
        "http://WWW.Example.COM/path", "exa mple.com", "co.uk", format!("{}.com", "a".repeat(300)),
        "i❤.ws", "xn--0000000000.com", "q7.io", "Q7.IO.", "192.0.2.1", "alder"
    ]});
    let (status, lines) = site.api("POST", "/api/v1/domains", names).await;
    assert_eq!(status, StatusCode::OK, "{lines}");
    let result = |i: usize| lines[i]["result"]["result"].as_str().unwrap().to_string();
    let words: Vec<_> = (0..10).map(result).collect();
    assert_eq!(
        words,
        [
            "added",
            "refused",
            "refused",
            "refused",
            "added",
            "refused",
            "added",
            "duplicate",
            "refused",
            "refused"
        ]
    );
    assert_eq!(lines[0]["result"]["name"], "example.com");
    assert!(lines[0]["result"]["note"].as_str().unwrap().contains("www.example.com"));
    assert!(lines[1]["result"]["reason"].as_str().unwrap().contains("contains a space"));
    assert!(lines[2]["result"]["reason"].as_str().unwrap().contains("public suffix"));
    assert!(lines[3]["result"]["reason"].as_str().unwrap().contains("304 characters"));
    let (_, page) = site.api("GET", "/api/v1/domains", Value::Null).await;
    assert_eq!(page["total"], 3);
    let (_, again) = site.api("POST", "/api/v1/domains", json!({ "text": "q7.io" })).await;
    assert_eq!(again[0]["result"]["result"], "duplicate");
    let (status, e) = site.api("POST", "/api/v1/domains", json!({ "text": " \n " })).await;
    assert_eq!((status, e["type"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("/problems/invalid")));
    let (status, _) = site.api("GET", "/api/v1/domains/nothere.example", Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, e) = site.api("GET", "/api/v1/domains/exa%20mple.com", Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(e["detail"].as_str().unwrap().contains("exa mple.com"), "{e}");
}

#[tokio::test]
async fn a_network_that_is_down_is_said_and_never_looks_healthy() {
    let site = site(false).await;
    site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io"], "tags": ["core"] })).await;
    let name = DomainName::trusted("q7.io");
    let result = site.scanner.scan(&name, true).await.unwrap();
    assert!(result.failed && result.sentence.contains("The network is down"), "{}", result.sentence);
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(detail["item"]["status"]["kind"], "unknown");
    assert_eq!(detail["observation"]["registration"]["error"]["label"], "unreachable");
    let token = ("authorization", BEARER);
    let (status, page) = site.ask("GET", "/domains/q7.io", &[token], "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("The network is down") && page.contains("Unknown"), "the page says so");
    let (status, list) = site.ask("GET", "/domains?q=q7", &[token], "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        list.contains("q7.io") && list.contains("Last Change Detected"),
        "the table reads without script"
    );
}

#[tokio::test]
async fn owners_words_are_checked_and_kept() {
    let site = site(false).await;
    site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io"] })).await;
    let patch =
        json!({ "note": "paid by card", "tags": ["prod", " prod ", "core"], "manual_expires": "2027-03-01" });
    let (status, _) = site.api("PATCH", "/api/v1/domains/q7.io", patch).await;
    assert_eq!(status, StatusCode::OK);
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(detail["item"]["tags"], json!(["core", "prod"]));
    assert_eq!(detail["row"]["expires"], "2027-03-01");
    assert_eq!(detail["row"]["expires_by_hand"], true);
    let (status, e) = site.api("PATCH", "/api/v1/domains/q7.io", json!({ "tags": ["a,b"] })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{e}");
    let (status, _) = site.api("PATCH", "/api/v1/domains/other.example", json!({ "note": "x" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    // A field left out stays, a field that is null is cleared.
    site.api("PATCH", "/api/v1/domains/q7.io", json!({ "auto_renew": true })).await;
    site.api("PATCH", "/api/v1/domains/q7.io", json!({ "manual_expires": null })).await;
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!((&detail["row"]["expires"], &detail["item"]["auto_renew"]), (&Value::Null, &json!(true)));
    let (status, _) = site.api("DELETE", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(site.api("GET", "/api/v1/domains/q7.io", Value::Null).await.0, StatusCode::NOT_FOUND);
}

/// Calls a server function as the browser part of a page does: no HTML is accepted, the answer is read by script.
async fn function(site: &Site, name: &str, headers: &[(&str, &str)], body: &str) -> (StatusCode, Value) {
    let form = ("content-type", "application/x-www-form-urlencoded");
    let headers: Vec<_> = [form].into_iter().chain(headers.iter().copied()).collect();
    let (status, text) = site.ask("POST", &format!("/api/fn/{name}"), &headers, body).await;
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn a_refused_function_says_why_in_its_status_too() {
    let site = site(false).await;
    let key = ("authorization", BEARER);
    let cases = [
        ("detail", "name=nothere.example", StatusCode::NOT_FOUND, "not-found"),
        ("detail", "name=exa%20mple.com", StatusCode::BAD_REQUEST, "invalid"),
        ("detail", "", StatusCode::BAD_REQUEST, "invalid"),
        ("tag", "tag=a,b&names[0]=q7.io", StatusCode::BAD_REQUEST, "invalid"),
        ("no_such_function", "", StatusCode::NOT_FOUND, "not-found"),
    ];
    for (name, body, expected, kind) in cases {
        let (status, said) = function(&site, name, &[key], body).await;
        let problem = format!("/problems/{kind}");
        assert_eq!((status, said["type"].as_str()), (expected, Some(&*problem)), "{name} {body}: {said}");
        assert_eq!(said["status"], expected.as_u16());
        assert!(said["detail"].as_str().is_some_and(|s| s.len() > 10), "{said}");
    }
    let (status, said) = function(&site, "frame", &[], "").await;
    assert_eq!(
        (status, said["type"].as_str()),
        (StatusCode::UNAUTHORIZED, Some("/problems/sign-in-required"))
    );
    let other = [key, ("sec-fetch-site", "cross-site")];
    let (status, said) = function(&site, "remove", &other, "names[0]=q7.io").await;
    assert_eq!((status, said["type"].as_str()), (StatusCode::FORBIDDEN, Some("/problems/forbidden")));
    let (status, said) = function(&site, "frame", &[key], "").await;
    assert_eq!((status, &said["session"]["caller"]["who"]), (StatusCode::OK, &json!("token test")));
}

#[tokio::test]
async fn what_can_not_be_read_is_refused_in_the_same_form() {
    let site = site(false).await;
    let key = ("authorization", BEARER);
    let json = ("content-type", "application/json");
    let cases = [
        ("POST", "/api/v1/domains", "{", StatusCode::BAD_REQUEST),
        ("POST", "/api/v1/domains", "{\"nmaes\": []}", StatusCode::UNPROCESSABLE_ENTITY),
        ("PUT", "/api/v1/domains", "{}", StatusCode::METHOD_NOT_ALLOWED),
        ("GET", "/api/v1/compare", "", StatusCode::BAD_REQUEST),
        ("GET", "/live/compare", "", StatusCode::BAD_REQUEST),
        ("GET", "/api/v1/domains/q7.io/snapshots/x", "", StatusCode::BAD_REQUEST),
        ("GET", "/api/v1/nothing", "", StatusCode::NOT_FOUND),
    ];
    for (method, path, body, expected) in cases {
        let (status, said) = site.ask(method, path, &[key, json], body).await;
        assert_eq!(status, expected, "{method} {path}: {said}");
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{method} {path}: {said}"));
        assert_eq!(said["status"], expected.as_u16(), "{said}");
        assert!(said["title"].is_string() && said["detail"].as_str().is_some_and(|s| s.len() > 10), "{said}");
        // Keys of before problem details; clients of version 1 may still read them.
        assert!(said["failure"].is_string() && said["sentence"] == said["detail"], "{said}");
        let meaning = said["type"].as_str().unwrap();
        assert_eq!(site.ask("GET", meaning, &[], "").await.0, StatusCode::OK, "{meaning}");
    }
}

#[tokio::test]
async fn a_removal_is_undone_whole() {
    let site = site(false).await;
    let key = ("authorization", BEARER);
    site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io", "alder.example"] })).await;
    let said = json!({ "note": "paid by card", "tags": ["prod"], "manual_expires": "2027-03-01",
        "auto_renew": false, "ownership": "watched" });
    site.api("PATCH", "/api/v1/domains/q7.io", said).await;
    let (_, before) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    let (status, removed) = function(&site, "remove", &[key], "names[0]=q7.io&names[1]=alder.example").await;
    assert_eq!((status, removed.as_array().map(Vec::len)), (StatusCode::OK, Some(2)), "{removed}");
    assert_eq!(site.api("GET", "/api/v1/domains/q7.io", Value::Null).await.0, StatusCode::NOT_FOUND);

    let put_back = |items: Value| {
        let site = &site;
        async move { site.api("POST", "/api/fn/restore", json!({ "items": items })).await }
    };
    let mut forged = removed.clone();
    forged[1]["tags"] = json!(["a,b"]);
    assert_eq!(put_back(forged).await.0, StatusCode::BAD_REQUEST);
    let mut forged = removed.clone();
    forged[1]["note"] = json!("x".repeat(10_001));
    assert_eq!(put_back(forged).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(site.api("GET", "/api/v1/domains/alder.example", Value::Null).await.0, StatusCode::NOT_FOUND);

    // An organisation named by the visitor counts for nothing.
    let mut elsewhere = removed;
    elsewhere[0]["org"] = json!(7);
    elsewhere[1]["org"] = json!(7);
    assert_eq!(put_back(elsewhere.clone()).await, (StatusCode::OK, json!(2)));
    let (_, after) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    for field in ["note", "tags", "manual_expires", "auto_renew", "ownership", "added_at", "was_delegated"] {
        assert_eq!(after["item"][field], before["item"][field], "{field}");
    }
    assert_eq!(after["row"]["expires"], "2027-03-01", "judged from what was put back");
    assert_eq!(after["item"]["status"], before["item"]["status"]);
    assert_eq!(put_back(elsewhere).await, (StatusCode::OK, json!(0)), "once");
}

#[tokio::test]
async fn metrics_are_for_this_machine_the_key_and_an_address_of_their_own() {
    let site = site(false).await;
    let ask = |router: &axum::Router, peer: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get("/metrics").extension(doh::Client(peer.parse().unwrap()));
        for (k, v) in headers {
            request = request.header(*k, *v);
        }
        let router = router.clone();
        async move {
            let answer = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let status = answer.status();
            let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
            assert_eq!(status == StatusCode::OK, !String::from_utf8_lossy(&body).contains("are for"));
            status
        }
    };
    let here = ("host", "localhost:8080");
    for (peer, headers) in [
        ("127.0.0.1", &[here][..]),
        ("::1", &[("host", "[::1]:8080")]),
        ("192.0.2.1", &[("host", "scope.example"), ("authorization", BEARER)]),
    ] {
        assert_eq!(ask(&site.router, peer, headers).await, StatusCode::OK, "{peer} {headers:?}");
    }
    for (peer, headers) in [
        ("192.0.2.1", &[here][..]),
        ("127.0.0.1", &[("host", "scope.example")]),
        ("127.0.0.1", &[here, ("x-forwarded-for", "192.0.2.1")]),
        ("192.0.2.1", &[("host", "scope.example"), ("authorization", "Bearer k3x")]),
    ] {
        assert_eq!(ask(&site.router, peer, headers).await, StatusCode::UNAUTHORIZED, "{peer} {headers:?}");
    }
    assert_eq!(ask(&site.health, "192.0.2.1", &[("host", "scope.example")]).await, StatusCode::OK);
    let page = Request::get("/domains").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(site.health.clone().oneshot(page).await.unwrap().status(), StatusCode::NOT_FOUND);
}
