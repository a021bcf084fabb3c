//! The resource API: what bad input gets, who is refused, and what is warned of and audited.

use crate::registered::token;
use crate::resources::{CLAIMS, claim, send};
use crate::site::{BEARER, Site, site};
use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::stream;
use model::account::TokenScope;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tower::ServiceExt as _;

const API: &str = "/apis/datumapis.com/v1alpha";
const DOMAINS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

fn domain(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "name": name } })
}

/// A claim of one entry.
fn entry(request: Value) -> Value {
    let mut object = claim("new", "10.0.0.0/24");
    object["spec"]["addressSpace"][0] = request;
    object["spec"]["addressSpace"][0]["reference"] = json!({ "resource": "services" });
    object
}

/// What came of a request: the status, and the cause of the answer at a field.
async fn cause(
    site: &Site,
    (method, path, media): (&str, &str, &str),
    body: Vec<u8>,
    field: &str,
) -> (u16, Value, String) {
    let (status, _, e) = send(site, method, path, media, body).await;
    assert_eq!(
        (e["kind"].as_str(), e["status"].as_str()),
        (Some("Status"), Some("Failure")),
        "{method} {path}: {e}"
    );
    assert_eq!(e["code"].as_u64(), Some(u64::from(status.as_u16())), "{e}");
    let causes = e["details"]["causes"].as_array().unwrap_or_else(|| panic!("{method} {path}: {e}"));
    let found = causes.iter().find(|c| c["field"] == field).unwrap_or_else(|| panic!("{field}: {e}"));
    let rule = found["message"].as_str().unwrap().to_string();
    (status.as_u16(), e, rule)
}

/// Each is answered with a `Status` that names the field and the rule, and nothing of it is stored.
#[tokio::test]
async fn what_bad_input_gets() {
    let site = site(false).await;
    let (_, web) = site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    let (_, held) = site.api("POST", DOMAINS, domain("q7.io")).await;
    let with = |object: &Value, path: &str, value: Value| {
        let mut object = object.clone();
        *object.pointer_mut(path).unwrap() = value;
        object
    };
    let strict = format!("{CLAIMS}?fieldValidation=Strict");
    let unknown = entry(json!({ "prefix": "10.1.0.0/24", "colour": 2 }));
    let (one_claim, one_domain) = (format!("{CLAIMS}/web"), format!("{DOMAINS}/q7.io"));
    let future = format!("{CLAIMS}?watch=1&resourceVersion=99999");
    let prefix = "spec.addressSpace[0].prefix";
    let long = "é".repeat(256);
    for (method, path, body, code, field, rule) in [
        ("POST", strict.as_str(), unknown.clone(), 400, "spec.addressSpace[0].colour", "unknown field"),
        ("POST", CLAIMS, entry(json!({ "prefix": "10.0.0.1/24" })), 422, prefix, "host bits"),
        ("POST", CLAIMS, entry(json!({ "prefix": "2001:db8::1/64" })), 422, prefix, "host bits"),
        (
            "POST",
            CLAIMS,
            entry(json!({ "prefix": "11.0.0.0/24", "from": "10.0.0.0/8" })),
            422,
            prefix,
            "outside the block 10.0.0.0/8",
        ),
        (
            "POST",
            CLAIMS,
            entry(json!({ "prefix": "10.1.0.0/24", "from": "2001:db8::/32" })),
            422,
            prefix,
            "is IPv4, the block 2001:db8::/32 is IPv6",
        ),
        (
            "POST",
            CLAIMS,
            entry(json!({ "prefix": "10.1.0.0/24", "description": long })),
            422,
            "spec.addressSpace[0].description",
            "255",
        ),
        (
            "PUT",
            &one_claim,
            with(&web, "/metadata/name", "other".into()),
            400,
            "metadata.name",
            "does not match the name on the URL",
        ),
        (
            "PUT",
            &one_claim,
            with(&web, "/metadata/namespace", "org-999".into()),
            400,
            "metadata.namespace",
            "does not match the namespace",
        ),
        ("PUT", &one_claim, with(&web, "/metadata/uid", "other".into()), 422, "metadata.uid", "immutable"),
        ("PUT", &one_claim, with(&web, "/kind", "Domain".into()), 400, "kind", "must be \"NetworkClaim\""),
        (
            "PUT",
            &one_claim,
            with(&web, "/apiVersion", "v1".into()),
            400,
            "apiVersion",
            "must be \"datumapis.com/v1alpha\"",
        ),
        (
            "PUT",
            &one_claim,
            with(&web, "/metadata/resourceVersion", "999".into()),
            409,
            "metadata.resourceVersion",
            "that of the stored object",
        ),
        ("PUT", &one_domain, with(&held, "/spec/name", "q8.io".into()), 422, "spec.name", "immutable"),
        (
            "POST",
            DOMAINS,
            json!({ "metadata": { "name": "no-domain" }, "spec": { "name": "exa mple.com" } }),
            422,
            "spec.name",
            "",
        ),
        ("POST", DOMAINS, domain("com"), 422, "spec.name", ""),
        ("POST", CLAIMS, claim("Not_A_Name", "10.9.0.0/24"), 422, "metadata.name", "RFC 1123"),
        ("POST", CLAIMS, json!([]), 400, "body", "not an object"),
        (
            "DELETE",
            &one_claim,
            json!({ "preconditions": { "uid": "other" } }),
            409,
            "preconditions.uid",
            "that of the stored object",
        ),
        ("DELETE", &one_claim, json!({ "kind": "Domain" }), 400, "body", "DeleteOptions"),
        ("DELETE", &one_claim, json!({ "dryRun": "All" }), 400, "body", "dryRun"),
        ("GET", &future, Value::Null, 504, "resourceVersion", "Too large resource version"),
    ] {
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (status, e, said) = cause(&site, (method, path, JSON), text, field).await;
        assert!(status == code && said.contains(rule), "{method} {path} {field}: {e}");
    }
    let nested = "[".repeat(100_000).into_bytes();
    for (media, body, code, rule) in [
        (JSON, vec![b' '; 4 << 20], 413, "at most 3145728 octets"),
        (JSON, vec![b' '; 10 << 20], 413, "at most 3145728 octets"),
        (JSON, b"{".to_vec(), 400, "is not JSON"),
        (YAML, b"a: [".to_vec(), 400, "is not YAML"),
        (JSON, nested.clone(), 400, "nested more than 64 levels deep"),
        (YAML, nested, 400, "is not YAML"),
    ] {
        let (status, e, said) = cause(&site, ("POST", CLAIMS, media), body, "body").await;
        assert!(status == code && said.contains(rule), "{media}: {e}");
    }
    // Unknown fields are warned of where the client does not ask for more.
    let body = unknown.to_string().into_bytes();
    let (status, warnings, made) = send(&site, "POST", &format!("{CLAIMS}?dryRun=All"), JSON, body).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    assert!(warnings.contains("unknown field \\\"spec.addressSpace[0].colour\\\""), "{warnings}");
    let (_, list) = site.api("GET", CLAIMS, Value::Null).await;
    assert_eq!(list["items"], json!([web]), "nothing of it was stored");
    assert_eq!(site.api("GET", &one_domain, Value::Null).await.1["metadata"], held["metadata"]);
}

/// A body of 10 MB that counts how often it is read.
fn unread() -> (Body, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::default());
    let counter = reads.clone();
    let parts = stream::repeat_with(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(Bytes::from(vec![b'{'; 1 << 20]))
    });
    (Body::from_stream(futures::StreamExt::take(parts, 10)), reads)
}

#[tokio::test]
async fn who_may_not_write_is_refused_before_the_body_is_read() {
    let site = site(false).await;
    for (path, object) in [
        (format!("{API}/clusterclaims"), json!({ "metadata": { "name": "site" }, "spec": { "value": "x" } })),
        (DOMAINS.into(), domain("q7.io")),
        (
            format!("{API}/features"),
            json!({ "metadata": { "name": "a.billing.example" }, "spec": { "version": "1" } }),
        ),
        (CLAIMS.into(), claim("web", "10.0.0.0/24")),
    ] {
        let (status, made) = site.api("POST", &path, object).await;
        assert_eq!(status.as_u16(), 201, "{made}");
    }
    let [read, write] = [token(&site, TokenScope::Read).await, token(&site, TokenScope::Write).await];
    let refused = |token: &str, method: &str, path: &str, media: &str, is_long: bool| {
        let (body, reads) = unread();
        let request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
        let request = request.header("authorization", token).header("content-type", media);
        // A length of 10 MB is no reason to be told of the limit first.
        let request = if is_long { request.header("content-length", "10485760") } else { request };
        let answer = site.router.clone().oneshot(request.body(body).unwrap());
        async move {
            let answer = answer.await.unwrap();
            let status = answer.status().as_u16();
            let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            (status, serde_json::from_slice::<Value>(&bytes).unwrap(), reads.load(Ordering::SeqCst))
        }
    };
    // Kind, an object of it, and the verbs that it does not have.
    for (plural, name, lacks) in [
        ("clusterclaims", "site", &[][..]),
        ("domains", "q7.io", &[]),
        ("domainevents", "event-1", &["POST", "DELETE all", "PUT", "PATCH", "DELETE"]),
        ("features", "a.billing.example", &["DELETE all"]),
        ("networkclaims", "web", &[]),
    ] {
        let (all, one) = (format!("{API}/{plural}"), format!("{API}/{plural}/{name}"));
        for (verb, method, path, media) in [
            ("POST", "POST", &all, JSON),
            ("DELETE all", "DELETE", &all, JSON),
            ("PUT", "PUT", &one, YAML),
            ("PATCH", "PATCH", &one, MERGE),
            ("PATCH", "PATCH", &one, PATCH),
            ("PATCH", "PATCH", &one, APPLY),
            ("DELETE", "DELETE", &one, JSON),
        ] {
            let code = if lacks.contains(&verb) { 405 } else { 403 };
            for query in ["", "?dryRun=All", "?fieldManager=git&force=true", "?dryRun=nonsense"] {
                for is_long in [false, true] {
                    let (status, e, reads) =
                        refused(&read, method, &format!("{path}{query}"), media, is_long).await;
                    assert_eq!(
                        (status, e["kind"].as_str(), reads),
                        (code, Some("Status"), 0),
                        "{verb} {path}{query}: {e}"
                    );
                    assert!(code == 405 || e["message"].as_str().unwrap().contains("viewer"), "{e}");
                }
            }
        }
    }
    // What needs more than a token that writes, and the status of a feature.
    let feature = format!("{API}/features/a.billing.example");
    for (token, method, path) in [
        (&write, "POST", format!("{API}/features")),
        (&write, "PATCH", feature.clone()),
        (&write, "DELETE", feature.clone()),
        (&write, "PUT", format!("{API}/clusterclaims/site")),
        (&read, "PATCH", format!("{feature}/status")),
        (&read, "PUT", format!("{feature}/status")),
    ] {
        let (status, e, reads) = refused(token, method, &path, MERGE, false).await;
        assert_eq!(
            (status, e["reason"].as_str(), reads),
            (403, Some("Forbidden"), 0),
            "{method} {path}: {e}"
        );
    }
    // Who may write is told what is wrong with the body.
    let (status, e, reads) = refused(BEARER, "POST", CLAIMS, JSON, false).await;
    assert!(status == 413 && reads > 0 && e["details"]["causes"][0]["field"] == "body", "{e}");
    assert_eq!(site.api("GET", CLAIMS, Value::Null).await.1["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn what_is_applied_belongs_to_its_address_and_is_warned_of() {
    let site = site(false).await;
    let web = format!("{CLAIMS}/web");
    let apply = format!("{web}?fieldManager=git");
    for is_new in [true, false] {
        for (key, value, field, rule) in [
            ("/kind", "Domain", "kind", "must be \"NetworkClaim\""),
            ("/apiVersion", "v1", "apiVersion", "must be \"datumapis.com/v1alpha\""),
            ("/metadata/name", "other", "metadata.name", "does not match the name on the URL"),
            ("/metadata/namespace", "org-999", "metadata.namespace", "does not match the namespace"),
        ] {
            let mut intent = claim("web", "10.0.0.0/24");
            intent["metadata"]["namespace"] = "default".into();
            *intent.pointer_mut(key).unwrap() = value.into();
            let body = intent.to_string().into_bytes();
            let (status, e, said) = cause(&site, ("PATCH", &apply, APPLY), body, field).await;
            assert!(status == 400 && said.contains(rule), "{key}: {e}");
        }
        let long = format!("{web}?fieldManager={}", "m".repeat(129));
        let body = claim("web", "10.0.0.0/24").to_string().into_bytes();
        let (status, e, _) = cause(&site, ("PATCH", &long, APPLY), body, "fieldManager").await;
        assert_eq!(status, 422, "{e}");
        // Unknown fields and owners elsewhere, the first time and on what exists.
        let mut intent = claim("web", "10.0.0.0/24");
        intent["spec"]["colour"] = 1.into();
        let owner =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": format!("c{is_new}"), "uid": "u" });
        intent["metadata"]["ownerReferences"] = json!([owner]);
        let body = || intent.to_string().into_bytes();
        let strict = format!("{apply}&fieldValidation=Strict");
        let (status, e, said) = cause(&site, ("PATCH", &strict, APPLY), body(), "spec.colour").await;
        assert!(status == 400 && said == "unknown field", "{e}");
        let (status, warnings, made) = send(&site, "PATCH", &apply, APPLY, body()).await;
        assert_eq!(status.as_u16(), if is_new { 201 } else { 200 }, "{made}");
        for words in ["unknown field \\\"spec.colour\\\"", "ConfigMap"] {
            assert!(warnings.contains(words), "{is_new}: {warnings}");
        }
        let ignore = format!("{apply}&fieldValidation=Ignore");
        let (_, warnings, made) = send(&site, "PATCH", &ignore, APPLY, body()).await;
        assert!(
            !warnings.contains("spec.colour") && made["spec"].get("colour").is_none(),
            "{warnings} {made}"
        );
    }
}

/// Clients refuse replies with long headers, and a warning that is not ASCII is one all the same.
#[tokio::test]
async fn warnings_are_of_any_script_and_fit_into_a_header() {
    let site = site(false).await;
    let mut object = claim("web", "10.0.0.0/24");
    for n in 0..200 {
        object["spec"][format!("{n:03}{}", "x".repeat(300))] = 1.into();
    }
    let warned = async |object: &Value| {
        let request = Request::post(CLAIMS).header("host", "localhost:8080").header("authorization", BEARER);
        let request = request.header("content-type", JSON).body(Body::from(object.to_string())).unwrap();
        let answer = site.router.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let each = answer.headers().get_all("warning").iter();
        (status, each.map(|w| String::from_utf8_lossy(w.as_bytes()).into_owned()).collect::<Vec<_>>())
    };
    let (status, many) = warned(&object).await;
    assert_eq!(status, 201);
    assert!(many.len() > 10 && many.iter().map(String::len).sum::<usize>() < 5_000, "{}", many.len());
    let mut object = claim("other", "10.0.1.0/24");
    object["spec"]["aé"] = 1.into();
    assert_eq!(warned(&object).await, (201, vec!["299 - \"unknown field \\\"spec.aé\\\"\"".to_string()]));
}

#[tokio::test]
async fn writes_of_objects_are_in_the_audit_log_of_the_organisation() {
    let site = site(false).await;
    site.api("POST", DOMAINS, domain("q7.io")).await;
    let label =
        json!({ "metadata": { "labels": { "team": "web" }, "finalizers": ["a.example/x"] } }).to_string();
    let (one, dry) = (format!("{DOMAINS}/q7.io"), format!("{DOMAINS}/q7.io?dryRun=All"));
    for path in [&dry, &one, &one] {
        let (status, _, e) = send(&site, "PATCH", path, MERGE, label.clone().into_bytes()).await;
        assert_eq!(status.as_u16(), 200, "{e}");
    }
    site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    site.api("DELETE", &format!("{CLAIMS}/web"), Value::Null).await;
    let actions = async |about: &str| {
        let (_, log) = site.api("GET", &format!("/api/v1/audit?about={about}"), Value::Null).await;
        log["items"].as_array().unwrap_or_else(|| panic!("{log}")).clone()
    };
    let domains = actions("domain").await;
    let words: Vec<_> = domains.iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(words, ["domain.change", "domain.add"], "a write that changes nothing has no entry");
    assert_eq!(domains[0]["who"], "token test");
    assert_eq!(domains[0]["new"], "finalizer: a.example/x; label: team=web", "{}", domains[0]);
    let network = actions("network").await;
    let words: Vec<_> = network.iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(words, ["network.release", "network.claim"]);
    assert_eq!((&network[1]["who"], &network[1]["object"]), (&json!("token test"), &json!("web")));
}
