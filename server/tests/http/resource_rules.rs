//! The resource API: rules of claims and of writes that clients rely on.

use crate::resources::{CLAIMS, claim, send};
use crate::site::{BEARER, Site, site};
use model::ids::OrgId;
use product::{Quotas, Services};
use serde_json::{Value, json};
use service::resources::{ClaimDraft, ResourceBackend};
use std::sync::Arc;

const DOMAINS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
const FEATURES: &str = "/apis/datumapis.com/v1alpha/namespaces/default/features";
const MERGE: &str = "application/merge-patch+json";

fn domain(name: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "team": "web" } }, "spec": { "name": name } })
}

/// Names of the claims that a field selector finds.
async fn found(site: &Site, selector: &str) -> Vec<String> {
    let selector: String = url::form_urlencoded::byte_serialize(selector.as_bytes()).collect();
    let (status, list) = site.api("GET", &format!("{CLAIMS}?fieldSelector={selector}"), Value::Null).await;
    assert_eq!(status.as_u16(), 200, "{list}");
    let items = list["items"].as_array().unwrap();
    items.iter().map(|o| o["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

#[tokio::test]
async fn a_reference_selects_claims_with_an_entry_of_that_component() {
    let site = site(false).await;
    let entry = |i: u8, group: &str, resource: &str| json!({ "prefix": format!("10.0.{i}.0/24"), "reference": { "group": group, "resource": resource } });
    for (name, entries) in [
        ("kube-apiserver-services", json!([entry(0, "kube-apiserver", "services")])),
        ("mixed", json!([entry(1, "kube-apiserver", "endpoints"), entry(2, "apps", "services")])),
    ] {
        let object = json!({ "metadata": { "name": name }, "spec": { "addressSpace": entries } });
        let (status, made) = site.api("POST", CLAIMS, object).await;
        assert_eq!(status.as_u16(), 201, "{made}");
    }
    let (group, resource) = ("spec.addressSpace.reference.group", "spec.addressSpace.reference.resource");
    let services = format!("{group}=kube-apiserver,{resource}=services");
    assert_eq!(found(&site, &services).await, ["kube-apiserver-services"]);
    assert_eq!(found(&site, &format!("{group}=kube-apiserver")).await, ["kube-apiserver-services", "mixed"]);
    assert_eq!(found(&site, &format!("{group}=apps,{resource}=services")).await, ["mixed"]);
}

#[tokio::test]
async fn a_well_known_name_carries_its_reference() {
    let site = site(false).await;
    let (status, e) = site.api("POST", CLAIMS, claim("kube-apiserver-services", "10.96.0.0/16")).await;
    assert_eq!((status.as_u16(), e["reason"].as_str()), (422, Some("Invalid")), "{e}");
    let cause = &e["details"]["causes"][0];
    assert_eq!(cause["field"], "spec.addressSpace[0].reference");
    assert!(cause["message"].as_str().unwrap().contains("stands for kube-apiserver/services"), "{e}");
}

#[tokio::test]
async fn a_domain_is_created_with_its_metadata_in_one_write() {
    let site = site(false).await;
    let caller = model::ids::Caller::system();
    let before = site.services.log_head(&caller).await.unwrap();
    let (status, made) = site.api("POST", DOMAINS, domain("q7.io")).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    assert_eq!(made["metadata"]["labels"]["team"], "web", "{made}");
    let changes = site.services.changes(&caller, before, std::time::Duration::ZERO).await.unwrap();
    let entries: Vec<_> =
        changes.entries.unwrap().into_iter().map(|(e, _)| e).filter(|e| e.kind == "item").collect();
    assert_eq!(entries.iter().map(|e| e.op).collect::<Vec<_>>(), [model::scan::Op::Create]);
    assert_eq!(made["metadata"]["resourceVersion"], entries[0].rv.0.to_string(), "a watch sees it whole");
    let (status, e) = site.api("POST", DOMAINS, domain("q7.io")).await;
    assert_eq!((status.as_u16(), e["reason"].as_str()), (409, Some("AlreadyExists")), "{e}");
}

#[tokio::test]
async fn a_full_quota_is_named_by_creates_and_their_dry_runs() {
    let site = site(false).await;
    let quotas = Quotas { domains: 1, ..Quotas::default() };
    let api = resources::Api::new(Arc::new(Services { quotas, ..site.services.clone() }));
    let caller = model::ids::Caller::new(OrgId::BUILT_IN, "test", model::ids::Role::Admin);
    let create = async |name: &str, query: &str| {
        let request = resources::Request {
            method: "POST".into(),
            path: DOMAINS.into(),
            query: query.into(),
            content_type: "application/json".into(),
            body: domain(name).to_string().into_bytes(),
            ..resources::Request::default()
        };
        let resources::Reply::Whole { status, body, .. } = api.answer(&caller, request).await else {
            panic!("a watch")
        };
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    assert_eq!(create("q7.io", "").await.0, 201);
    for query in ["", "dryRun=All"] {
        let (status, e) = create("q8.io", query).await;
        assert_eq!((status, e["reason"].as_str()), (403, Some("Forbidden")), "{query}: {e}");
        assert!(e["message"].as_str().unwrap().contains("quota of 1 domains"), "{e}");
    }
}

#[tokio::test]
async fn a_full_quota_of_claims_names_its_setting_and_ends_with_a_release() {
    let site = site(false).await;
    let quotas = Quotas { network_claims: 2, ..Quotas::default() };
    let services = Services { quotas, ..site.services.clone() };
    let caller = model::ids::Caller::new(OrgId::BUILT_IN, "test", model::ids::Role::Admin);
    let draft = |name: &str, third: u8, dry_run: bool| {
        let spec = json!({ "addressSpace": [
            { "prefix": format!("10.0.{third}.0/24"), "reference": { "resource": name } }] });
        let spec = serde_json::from_value(spec).unwrap();
        ClaimDraft { name: name.into(), expected: None, metadata: "{}".into(), spec, dry_run }
    };
    // A claim that was refused counts, too.
    for (name, third) in [("a", 0), ("b", 0)] {
        services.save_network_claim(&caller, &draft(name, third, false)).await.unwrap();
    }
    for dry_run in [true, false] {
        let e = services.save_network_claim(&caller, &draft("c", 1, dry_run)).await.unwrap_err();
        assert_eq!(e.kind, service::ErrorKind::Forbidden);
        assert!(e.detail.contains("quota of 2 claims") && e.detail.contains("--max-network-claims"), "{e:?}");
    }
    // What exists can be changed, and a release makes room for one.
    let b = services.network_claim(&caller, "b").await.unwrap();
    let change = ClaimDraft { expected: Some(b.rv), ..draft("b", 2, false) };
    services.save_network_claim(&caller, &change).await.unwrap();
    services.delete_network_claim(&caller, "a", None).await.unwrap();
    services.save_network_claim(&caller, &draft("c", 1, false)).await.unwrap();
    assert!(services.save_network_claim(&caller, &draft("d", 3, false)).await.is_err());
}

/// What clients sent before there was a policy of propagation.
#[tokio::test]
async fn orphan_dependents_is_a_policy_of_propagation() {
    let site = site(false).await;
    for (n, query, body, finalizer) in [
        (1, "?orphanDependents=true", Value::Null, json!(["orphan"])),
        (2, "", json!({ "orphanDependents": true }), json!(["orphan"])),
        (3, "?propagationPolicy=Foreground", Value::Null, json!(["foregroundDeletion"])),
    ] {
        let (name, prefix) = (format!("c{n}"), format!("10.0.{n}.0/24"));
        let mut object = claim(&name, &prefix);
        object["metadata"]["finalizers"] = json!(["story.example/hold"]);
        site.api("POST", CLAIMS, object).await;
        let (status, marked) = site.api("DELETE", &format!("{CLAIMS}/{name}{query}"), body).await;
        assert_eq!(status.as_u16(), 200, "{marked}");
        let added = marked["metadata"]["finalizers"].as_array().unwrap()[1..].to_vec();
        assert_eq!(Value::Array(added), finalizer, "{marked}");
    }
    let both = json!({ "orphanDependents": false, "propagationPolicy": "Orphan" });
    let (status, e) = site.api("DELETE", &format!("{CLAIMS}/c1"), both).await;
    assert_eq!((status.as_u16(), e["reason"].as_str()), (400, Some("BadRequest")), "{e}");
}

/// Status and body of a request with `dryRun=All`.
async fn dry(site: &Site, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
    let separator = if path.contains('?') { '&' } else { '?' };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let (status, _, value) = send(site, method, &format!("{path}{separator}dryRun=All"), media, body).await;
    (status.as_u16(), value)
}

#[tokio::test]
async fn dry_runs_of_all_verbs_answer_as_the_write_would_and_store_nothing() {
    let site = site(false).await;
    let json = "application/json";
    let feature = json!({ "metadata": { "name": "invoices.billing.example" }, "spec": { "version": "2.1" } });
    for (path, name, object) in [
        (DOMAINS, "q7.io", domain("q7.io")),
        (CLAIMS, "web", claim("web", "10.0.0.0/24")),
        (FEATURES, "invoices.billing.example", feature),
    ] {
        // Create: identity and times are there, the object is not.
        let (status, preview) = dry(&site, "POST", path, json, &object).await;
        assert_eq!(status, 201, "{preview}");
        for key in ["uid", "creationTimestamp", "resourceVersion", "managedFields"] {
            assert!(!preview["metadata"][key].is_null(), "{key}: {preview}");
        }
        assert!(preview["status"]["conditions"].is_array(), "{preview}");
        let one = format!("{path}/{name}");
        assert_eq!(site.api("GET", &one, Value::Null).await.0.as_u16(), 404);
        // By server-side apply, too.
        let (apply, media) = (format!("{one}?fieldManager=git"), "application/apply-patch+yaml");
        let (status, preview) = dry(&site, "PATCH", &apply, media, &object).await;
        assert_eq!((status, &preview["metadata"]["name"]), (201, &json!(name)), "{preview}");
        let (status, made) = site.api("POST", path, object.clone()).await;
        assert_eq!(status.as_u16(), 201, "{made}");
        let is_same = async |what: &str| {
            let (_, now) = site.api("GET", &one, Value::Null).await;
            assert_eq!(now, made, "{what} changed it");
        };
        // Update, patch, apply.
        let mut changed = made.clone();
        changed["metadata"]["labels"] = json!({ "team": "edge" });
        let mut intent = object.clone();
        intent["metadata"]["labels"] = json!({ "team": "edge" });
        let labels = json!({ "metadata": { "labels": { "team": "edge" } } });
        let forced = format!("{one}?fieldManager=git&force=true");
        for (what, method, path, media, body) in [
            ("update", "PUT", &one, json, &changed),
            ("patch", "PATCH", &one, MERGE, &labels),
            ("apply", "PATCH", &forced, media, &intent),
        ] {
            let (status, preview) = dry(&site, method, path, media, body).await;
            assert_eq!(status, 200, "{what}: {preview}");
            assert_eq!(preview["metadata"]["labels"]["team"], "edge", "{what}: {preview}");
            assert_eq!(preview["metadata"]["uid"], made["metadata"]["uid"], "{what}");
            is_same(what).await;
        }
        let (status, gone) = dry(&site, "DELETE", &one, json, &Value::Null).await;
        assert_eq!((status, gone["status"].as_str()), (200, Some("Success")), "{gone}");
        is_same("delete").await;
        if path != FEATURES {
            let (status, gone) = dry(&site, "DELETE", path, json, &Value::Null).await;
            assert_eq!((status, gone["items"].as_array().map(Vec::len)), (200, Some(1)), "{gone}");
            is_same("deletecollection").await;
        }
    }
    // The status of a feature, and a deletion that would be refused.
    let status = format!("{FEATURES}/invoices.billing.example/status");
    let uses =
        json!({ "status": { "uses": [{ "process": "billing-1", "version": "2.1.0", "value": "Off" }] } });
    let (code, preview) = dry(&site, "PATCH", &status, MERGE, &uses).await;
    assert_eq!((code, &preview["status"]["uses"][0]["process"]), (200, &json!("billing-1")), "{preview}");
    let one = format!("{FEATURES}/invoices.billing.example");
    assert_eq!(site.api("GET", &one, Value::Null).await.1["status"]["uses"], json!([]));
    let on = br#"{"spec":{"desired":"On"}}"#.to_vec();
    assert_eq!(send(&site, "PATCH", &one, MERGE, on).await.0.as_u16(), 200);
    let (code, e) = dry(&site, "DELETE", &one, json, &Value::Null).await;
    assert_eq!((code, e["reason"].as_str()), (422, Some("Invalid")), "{e}");
}

#[tokio::test]
async fn a_finalizer_holds_whichever_way_a_deletion_comes() {
    let site = site(false).await;
    let hold = |mut object: Value| {
        object["metadata"]["finalizers"] = json!(["story.example/hold"]);
        object
    };
    for (path, object) in [(DOMAINS, domain("q7.io")), (CLAIMS, claim("web", "10.0.0.0/24"))] {
        let (status, made) = site.api("POST", path, hold(object)).await;
        assert_eq!(status.as_u16(), 201, "{made}");
    }
    assert_eq!(site.api("POST", DOMAINS, domain("q8.io")).await.0.as_u16(), 201);
    let (_, held) = site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await;
    let release =
        format!("name=web&position={}", held["metadata"]["resourceVersion"].as_str().expect("a version"));
    let form = "application/x-www-form-urlencoded";
    for (method, path, body) in [
        ("DELETE", "/api/v1/domains/q7.io", ""),
        ("POST", "/api/fn/remove", "names[0]=q8.io&names[1]=q7.io"),
        ("POST", "/api/fn/release", release.as_str()),
    ] {
        let headers = [
            ("authorization", BEARER),
            ("content-type", form),
            ("accept", "application/json"),
            ("origin", "http://localhost:8080"),
        ];
        let (status, text) = site.ask(method, path, &headers, body).await;
        assert_eq!(status.as_u16(), 409, "{path}: {text}");
        assert!(text.contains("has the finalizer story.example/hold"), "{path}: {text}");
    }
    let (domains, claims) = (format!("{DOMAINS}/q7.io"), format!("{CLAIMS}/web"));
    assert_eq!(site.api("GET", &format!("{DOMAINS}/q8.io"), Value::Null).await.0.as_u16(), 200);
    for one in [domains, claims] {
        let (status, object) = site.api("GET", &one, Value::Null).await;
        assert!(status.as_u16() == 200 && object["metadata"]["deletionTimestamp"].is_null(), "{object}");
        // Marked, and gone with its last finalizer.
        let (_, marked) = site.api("DELETE", &one, Value::Null).await;
        assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
        let bare = br#"{"metadata":{"finalizers":null}}"#.to_vec();
        let (status, _, gone) = send(&site, "PATCH", &one, MERGE, bare).await;
        assert_eq!(status.as_u16(), 200, "{gone}");
        assert_eq!(site.api("GET", &one, Value::Null).await.0.as_u16(), 404);
    }
}

#[tokio::test]
async fn fields_that_are_unknown_or_repeated_are_refused_warned_of_or_ignored() {
    let site = site(false).await;
    let text = claim("web", "10.0.0.0/24").to_string();
    let unknown = text.replacen("\"addressSpace\":[{", "\"extra\":1,\"addressSpace\":[{\"colour\":2,", 1);
    let repeated = text.replacen("\"prefix\":", "\"prefix\":\"10.9.0.0/24\",\"prefix\":", 1);
    for (body, what, fields) in [
        (&unknown, "unknown field", &["spec.addressSpace[0].colour", "spec.extra"][..]),
        (&repeated, "duplicate field", &["spec.addressSpace[0].prefix"][..]),
    ] {
        let strict = format!("{CLAIMS}?fieldValidation=Strict");
        let post =
            async |path: &str| send(&site, "POST", path, "application/json", body.clone().into_bytes()).await;
        let (status, _, e) = post(&strict).await;
        assert_eq!((status.as_u16(), e["reason"].as_str()), (400, Some("BadRequest")), "{e}");
        let causes = e["details"]["causes"].as_array().unwrap();
        assert_eq!(causes.len(), fields.len(), "{e}");
        for field in fields {
            assert!(causes.iter().any(|c| c["field"] == *field && c["message"] == what), "{field}: {e}");
            assert!(e["message"].as_str().unwrap().contains(&format!("{what} {field:?}")), "{e}");
        }
        for (query, warned) in [("fieldValidation=Warn", true), ("fieldValidation=Ignore", false), ("", true)]
        {
            let (status, warnings, made) = post(&format!("{CLAIMS}?{query}")).await;
            assert_eq!(status.as_u16(), 201, "{made}");
            let names = fields.iter().filter(|f| warnings.contains(**f)).count();
            assert_eq!(names, if warned { fields.len() } else { 0 }, "{query}: {warnings}");
            assert_eq!(made["spec"]["addressSpace"][0]["prefix"], "10.0.0.0/24", "the last one counts");
            assert!(made["spec"]["addressSpace"][0].get("colour").is_none(), "{made}");
            assert_eq!(site.api("DELETE", &format!("{CLAIMS}/web"), Value::Null).await.0.as_u16(), 200);
        }
    }
    // In patches and in YAML.
    site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    let twice = br#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#.to_vec();
    let strict = format!("{CLAIMS}/web?fieldValidation=Strict");
    let (status, _, e) = send(&site, "PATCH", &strict, MERGE, twice).await;
    assert_eq!(
        (status.as_u16(), &e["details"]["causes"][0]["field"]),
        (400, &json!("metadata.labels.a")),
        "{e}"
    );
    let yaml = b"metadata: { name: x }\nspec: {}\nspec: {}\n".to_vec();
    let (status, _, e) = send(&site, "POST", CLAIMS, "application/yaml", yaml).await;
    assert_eq!((status.as_u16(), e["kind"].as_str()), (400, Some("Status")), "{e}");
    let (status, e) = site.api("GET", &format!("{CLAIMS}?fieldValidation=Some"), Value::Null).await;
    assert_eq!(status.as_u16(), 200, "only writes read it: {e}");
}

#[tokio::test]
async fn a_watch_from_the_future_and_a_large_body_name_what_is_wrong() {
    let site = site(false).await;
    for method in ["watch=1&", ""] {
        let path = format!("{CLAIMS}?{method}resourceVersion=99999");
        let (status, e) = site.api("GET", &path, Value::Null).await;
        let cause = &e["details"]["causes"][0];
        assert_eq!(
            (status.as_u16(), &cause["field"], &cause["reason"]),
            (504, &json!("resourceVersion"), &json!("ResourceVersionTooLarge")),
            "{e}"
        );
    }
    for size in [4 << 20, 10 << 20] {
        let (status, _, e) = send(&site, "POST", CLAIMS, "application/json", vec![b' '; size]).await;
        let cause = &e["details"]["causes"][0];
        assert_eq!((status.as_u16(), &cause["field"]), (413, &json!("body")), "{e}");
        assert!(cause["message"].as_str().unwrap().contains("at most 3145728 octets"), "{e}");
    }
}
