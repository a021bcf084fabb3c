//! The resource API: what requests that clients rarely send get.

use crate::site::{BEARER, Site, site};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tower::ServiceExt as _;

pub const CLAIMS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";

/// A claim of a prefix.
pub fn claim(name: &str, prefix: &str) -> Value {
    json!({
        "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "metadata": { "name": name },
        "spec": { "addressSpace": [{ "prefix": prefix, "reference": { "resource": "services" } }] },
    })
}

/// A request of this media type; status, headers and JSON of the answer.
pub async fn send(
    site: &Site,
    method: &str,
    path: &str,
    media: &str,
    body: Vec<u8>,
) -> (StatusCode, String, Value) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
    let request = request.header("authorization", BEARER).header("content-type", media);
    let answer = site.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = answer.status();
    let warnings =
        answer.headers().get_all("warning").iter().map(|w| w.to_str().unwrap().to_string()).collect();
    let bytes = axum::body::to_bytes(answer.into_body(), 16 << 20).await.unwrap();
    (status, warnings, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test]
async fn refusals_are_status_objects_with_field_and_rule() {
    let site = site(false).await;
    let (_, made) = site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    assert_eq!(made["status"]["conditions"][0]["status"], "True", "{made}");
    let with = |path: &str, value: Value| {
        let mut object = made.clone();
        *object.pointer_mut(path).unwrap() = value;
        object
    };
    let web = format!("{CLAIMS}/web");
    for (method, path, body, code, reason, words) in [
        ("POST", CLAIMS.to_string(), claim("web", "10.9.0.0/24"), 409, "AlreadyExists", "already exists"),
        (
            "PUT",
            web.clone(),
            with("/metadata/resourceVersion", "999".into()),
            409,
            "Conflict",
            "has been modified",
        ),
        ("PUT", web.clone(), with("/metadata/uid", "other".into()), 422, "Invalid", "metadata.uid"),
        (
            "PUT",
            web.clone(),
            with("/spec/addressSpace/0/prefix", "10.0.0.1/24".into()),
            422,
            "Invalid",
            "host bits set",
        ),
        ("PUT", web.clone(), with("/kind", "Domain".into()), 400, "BadRequest", "must be \"NetworkClaim\""),
        ("POST", CLAIMS.to_string(), claim("Not_A_Name", "10.9.0.0/24"), 422, "Invalid", "RFC 1123"),
        ("POST", CLAIMS.to_string(), json!([]), 400, "BadRequest", "not an object"),
        ("PUT", format!("{web}/status"), made.clone(), 405, "MethodNotAllowed", "PUT"),
        ("GET", format!("{CLAIMS}/nothing"), Value::Null, 404, "NotFound", "nothing"),
        ("GET", format!("{CLAIMS}?continue=x"), Value::Null, 400, "BadRequest", "continue"),
        (
            "GET",
            format!("{CLAIMS}?fieldSelector=spec.x%3D1"),
            Value::Null,
            400,
            "BadRequest",
            "field label not supported",
        ),
        (
            "GET",
            format!("{CLAIMS}?watch=1&resourceVersion=99999"),
            Value::Null,
            504,
            "Timeout",
            "Too large resource version",
        ),
        (
            "GET",
            "/apis/datumapis.com/v1alpha/namespaces/org-999/domains".into(),
            Value::Null,
            403,
            "Forbidden",
            "org-999",
        ),
        ("GET", "/apis/datumapis.com/v1alpha/nothing".into(), Value::Null, 404, "NotFound", "could not find"),
    ] {
        let (status, e) = site.api(method, &path, body).await;
        assert_eq!((status.as_u16(), e["reason"].as_str()), (code, Some(reason)), "{method} {path}: {e}");
        assert_eq!((e["kind"].as_str(), e["code"].as_u64()), (Some("Status"), Some(u64::from(code))));
        assert!(e["message"].as_str().unwrap().contains(words), "{e}");
    }
    let domain = json!({ "metadata": { "name": "no-domain" }, "spec": { "name": "exa mple.com" } });
    let (status, e) =
        site.api("POST", "/apis/datumapis.com/v1alpha/namespaces/default/domains", domain).await;
    assert_eq!(
        (status.as_u16(), e["details"]["causes"][0]["field"].as_str()),
        (422, Some("spec.name")),
        "{e}"
    );
    let large = send(&site, "POST", CLAIMS, "application/json", vec![b' '; 10 << 20]).await;
    assert_eq!(
        (large.0.as_u16(), large.2["reason"].as_str()),
        (413, Some("RequestEntityTooLarge")),
        "{}",
        large.2
    );
    let large = send(&site, "POST", CLAIMS, "application/json", vec![b' '; 4 << 20]).await;
    assert_eq!((large.0.as_u16(), large.2["reason"].as_str()), (413, Some("RequestEntityTooLarge")));
    let (status, text) = site.ask("GET", CLAIMS, &[], "").await;
    assert!(status == StatusCode::UNAUTHORIZED && text.contains("\"Status\""), "{text}");
}

#[tokio::test]
async fn each_broken_rule_of_a_claim_or_a_domain_is_a_cause_with_its_field() {
    let site = site(false).await;
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    let held = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    assert_eq!(site.api("POST", domains, held.clone()).await.0.as_u16(), 201);
    let with = |request: Value| {
        let mut object = claim("web", "10.0.0.0/24");
        object["spec"]["addressSpace"][0] = request;
        object["spec"]["addressSpace"][0]["reference"] = json!({ "resource": "services" });
        object
    };
    let long = "é".repeat(256);
    let mut renamed = site.api("GET", &format!("{domains}/q7.io"), Value::Null).await.1;
    renamed["spec"]["name"] = "q8.io".into();
    let entry = |field: &str| format!("spec.addressSpace[0].{field}");
    for (method, path, body, field, rule) in [
        ("POST", CLAIMS, with(json!({ "prefix": "10.0.0.1/24" })), entry("prefix"), "host bits"),
        ("POST", CLAIMS, with(json!({ "prefix": "2001:db8::1/64" })), entry("prefix"), "host bits"),
        ("POST", CLAIMS, with(json!({ "prefix": "10.0.0.0/33" })), entry("prefix"), "prefix"),
        (
            "POST",
            CLAIMS,
            with(json!({ "prefix": "11.0.0.0/24", "from": "10.0.0.0/8" })),
            entry("prefix"),
            "outside the block 10.0.0.0/8",
        ),
        (
            "POST",
            CLAIMS,
            with(json!({ "prefix": "10.0.0.0/24", "from": "2001:db8::/32" })),
            entry("prefix"),
            "is IPv4, the block 2001:db8::/32 is IPv6",
        ),
        (
            "POST",
            CLAIMS,
            with(json!({ "prefix": "2001:db8::/48", "from": "10.0.0.0/8" })),
            entry("prefix"),
            "is IPv6, the block 10.0.0.0/8 is IPv4",
        ),
        (
            "POST",
            CLAIMS,
            with(json!({ "from": "10.0.0.0/24", "prefixLength": 23 })),
            entry("prefixLength"),
            "from 24 to 32",
        ),
        (
            "POST",
            CLAIMS,
            with(json!({ "prefix": "10.0.0.0/24", "description": long })),
            entry("description"),
            "255",
        ),
        ("PUT", &format!("{domains}/q7.io"), renamed, "spec.name".into(), "immutable"),
        (
            "POST",
            domains,
            json!({ "metadata": { "name": "no-domain" }, "spec": { "name": "exa mple.com" } }),
            "spec.name".into(),
            "",
        ),
        (
            "POST",
            domains,
            json!({ "metadata": { "name": "com" }, "spec": { "name": "com" } }),
            "spec.name".into(),
            "",
        ),
    ] {
        let (status, e) = site.api(method, path, body).await;
        assert_eq!((status.as_u16(), e["reason"].as_str()), (422, Some("Invalid")), "{field} {rule}: {e}");
        let causes = e["details"]["causes"].as_array().unwrap();
        let found =
            causes.iter().find(|c| c["field"] == field.as_str()).unwrap_or_else(|| panic!("{field}: {e}"));
        assert!(found["message"].as_str().unwrap().contains(rule), "{rule}: {e}");
    }
    let (_, list) = site.api("GET", CLAIMS, Value::Null).await;
    assert_eq!(list["items"], json!([]), "nothing of it was stored");
    // 255 characters are allowed, of any script.
    let fits = with(json!({ "prefix": "10.0.0.0/24", "description": "é".repeat(255) }));
    assert_eq!(site.api("POST", CLAIMS, fits).await.0.as_u16(), 201);
    // An identity that the server sets can't be changed.
    let (_, made) = site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await;
    for (field, value) in [("name", "other"), ("uid", "other"), ("namespace", "org-999")] {
        let mut other = made.clone();
        other["metadata"][field] = value.into();
        let (status, e) = site.api("PUT", &format!("{CLAIMS}/web"), other).await;
        assert!(status.is_client_error() && e["kind"] == "Status", "{field}: {status} {e}");
    }
    assert_eq!(site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await.1, made);
}

#[tokio::test]
async fn yaml_chunks_finalizers_and_patches() {
    let site = site(false).await;
    for i in 0..5 {
        let yaml = format!(
            "kind: NetworkClaim\nmetadata: {{ name: c{i}, labels: {{ odd: '{}' }} }}\nspec:\n  addressSpace:\n  - prefix: 10.0.{i}.0/24\n    reference: {{ resource: x }}\n",
            i % 2
        );
        let (status, _, e) = send(&site, "POST", CLAIMS, "application/yaml", yaml.into_bytes()).await;
        assert_eq!(status.as_u16(), 201, "{e}");
    }
    let (mut path, mut names) = (format!("{CLAIMS}?limit=2"), Vec::new());
    let mut versions = std::collections::BTreeSet::new();
    loop {
        let (_, page) = site.api("GET", &path, Value::Null).await;
        names.extend(page["items"].as_array().unwrap().iter().map(|o| o["metadata"]["name"].clone()));
        versions.insert(page["metadata"]["resourceVersion"].to_string());
        let Some(token) = page["metadata"]["continue"].as_str() else { break };
        path = format!("{CLAIMS}?limit=2&continue={token}");
    }
    assert_eq!((names.len(), versions.len()), (5, 1), "one list at one position");
    let (_, odd) = site.api("GET", &format!("{CLAIMS}?labelSelector=odd%3D1"), Value::Null).await;
    assert_eq!(odd["items"].as_array().unwrap().len(), 2);
    // Marked while a finalizer holds it, gone with the last one.
    let c0 = format!("{CLAIMS}/c0");
    let merge = "application/merge-patch+json";
    let hold = br#"{"metadata":{"finalizers":["story.example/hold"]}}"#.to_vec();
    let (_, _, held) = send(&site, "PATCH", &c0, merge, hold).await;
    assert_eq!(held["metadata"]["generation"], 1);
    let (_, marked) = site.api("DELETE", &c0, Value::Null).await;
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    send(&site, "PATCH", &c0, merge, br#"{"metadata":{"finalizers":null}}"#.to_vec()).await;
    assert_eq!(site.api("GET", &c0, Value::Null).await.0, StatusCode::NOT_FOUND);
    // Preconditions, a patch that tests, and one that changes nothing.
    let c1 = format!("{CLAIMS}/c1");
    let wrong = json!({ "kind": "DeleteOptions", "preconditions": { "uid": "other" } });
    assert_eq!(site.api("DELETE", &c1, wrong).await.0, StatusCode::CONFLICT);
    let (_, before) = site.api("GET", &c1, Value::Null).await;
    let test = br#"[{"op":"test","path":"/metadata/name","value":"other"}]"#.to_vec();
    let (status, _, _) = send(&site, "PATCH", &c1, "application/json-patch+json", test).await;
    assert_eq!(status.as_u16(), 422);
    let (_, _, same) =
        send(&site, "PATCH", &c1, merge, br#"{"metadata":{"labels":{"odd":"1"}}}"#.to_vec()).await;
    assert_eq!(same, before, "nothing changed, nothing was written");
    let body =
        br#"{"spec":{"addressSpace":[{"prefix":"10.0.9.0/24","reference":{"resource":"x"}}]}}"#.to_vec();
    let (_, _, moved) = send(&site, "PATCH", &c1, merge, body).await;
    assert_eq!(
        (moved["metadata"]["generation"].as_i64(), moved["status"]["addressSpace"][0]["prefix"].as_str()),
        (Some(2), Some("10.0.9.0/24")),
        "{moved}"
    );
    assert_eq!(site.api("DELETE", CLAIMS, Value::Null).await.0, StatusCode::OK);
    let (_, none) = site.api("GET", CLAIMS, Value::Null).await;
    assert_eq!(none["items"], json!([]));
}

#[tokio::test]
async fn a_watch_reports_each_change_once_and_says_when_its_position_was_pruned() {
    let site = site(false).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let (hub, store) = (site.scanner.hub.clone(), site.scanner.store.clone());
    tokio::spawn(hub.follow(store.clone(), Duration::from_millis(100), stop));
    site.api("POST", CLAIMS, claim("first", "10.0.0.0/24")).await;
    let (_, list) = site.api("GET", CLAIMS, Value::Null).await;
    let from = list["metadata"]["resourceVersion"].as_str().unwrap().to_string();
    let request = Request::get(format!("{CLAIMS}?watch=true&resourceVersion={from}"));
    let request = request
        .header("host", "localhost:8080")
        .header("authorization", BEARER)
        .header("accept-encoding", "gzip");
    let answer = site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json;stream=watch");
    assert!(!answer.headers().contains_key("content-encoding"), "not gathered for compression");
    let mut lines = answer.into_body().into_data_stream();
    site.api("POST", CLAIMS, claim("second", "10.0.1.0/24")).await;
    site.api("DELETE", &format!("{CLAIMS}/first"), Value::Null).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let chunk = tokio::time::timeout(Duration::from_secs(30), lines.next())
            .await
            .expect("an event")
            .unwrap()
            .unwrap();
        for line in chunk.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            let event: Value = serde_json::from_slice(line).unwrap();
            seen.push((event["type"].as_str().unwrap().to_string(), event["object"].clone()));
        }
    }
    let words: Vec<_> =
        seen.iter().map(|(t, o)| (t.as_str(), o["metadata"]["name"].as_str().unwrap())).collect();
    assert_eq!(words, [("ADDED", "second"), ("DELETED", "first")]);
    assert_eq!(seen[1].1["spec"]["addressSpace"][0]["prefix"], "10.0.0.0/24", "its last state");
    let later = model::Timestamp::now() + jiff::SignedDuration::from_hours(25);
    store.prune_log(later, 400).await.unwrap();
    let (status, e) =
        site.api("GET", &format!("{CLAIMS}?watch=true&resourceVersion={from}"), Value::Null).await;
    assert_eq!((status.as_u16(), e["type"].as_str()), (200, Some("ERROR")), "{e}");
    assert_eq!((e["object"]["code"].as_i64(), e["object"]["reason"].as_str()), (Some(410), Some("Expired")));
    // What a watch may begin with is the client's choice.
    for (options, words) in [
        ("sendInitialEvents=true", "resourceVersionMatch: Forbidden: must be NotOlderThan"),
        ("resourceVersionMatch=NotOlderThan", "is forbidden for a watch"),
    ] {
        let (status, e) = site.api("GET", &format!("{CLAIMS}?watch=true&{options}"), Value::Null).await;
        assert_eq!((status.as_u16(), e["reason"].as_str()), (422, Some("Invalid")), "{e}");
        assert!(e["message"].as_str().unwrap().contains(words), "{e}");
    }
}
