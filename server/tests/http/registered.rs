//! Features of third parties over the resource API: registered, used, turned on and off, and deleted, as `kubectl` and the
//! third party's processes would.

use crate::settings::mira;
use crate::site::{BEARER, Site, site};
use accounts::{Secret, SecretKind};
use features::{FEATURES, Gates, Runner};
use model::Timestamp;
use model::account::{AuditQuery, TokenInfo, TokenScope};
use model::ids::OrgId;
use serde_json::{Value, json};

const FEATURES_PATH: &str = "/apis/datumapis.com/v1alpha/namespaces/default/features";
const NAME: &str = "invoices.billing.example";

fn feature(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "Feature", "metadata": { "name": name }, "spec": spec })
}

fn path(name: &str) -> String {
    format!("{FEATURES_PATH}/{name}")
}

/// A request with a token and a media type.
async fn send(
    site: &Site,
    token: &str,
    media: &str,
    (method, path): (&str, &str),
    body: &Value,
) -> (u16, Value) {
    let headers = [("authorization", token), ("content-type", media)];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, text) = site.ask(method, path, &headers, &body).await;
    (status.as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// What a process of the third party sends.
async fn report(site: &Site, token: &str, status: &Value) -> (u16, Value) {
    let path = format!("{}/status", path(NAME));
    send(site, token, "application/merge-patch+json", ("PATCH", &path), &json!({ "status": status })).await
}

async fn desire(site: &Site, value: &str) -> Value {
    let body = json!({ "spec": { "desired": value } });
    let (status, set) =
        send(site, BEARER, "application/merge-patch+json", ("PATCH", &path(NAME)), &body).await;
    assert_eq!(status, 200, "{set}");
    set
}

/// The header of a new token with a scope.
pub async fn token(site: &Site, scope: TokenScope) -> String {
    let secret = Secret::generate(SecretKind::ApiToken);
    let info = TokenInfo {
        id: scope.as_str().into(),
        name: "billing".into(),
        hint: String::new(),
        scope,
        created_by: "test".into(),
        created_at: Timestamp::now(),
        expires_at: None,
        last_used_at: None,
    };
    site.scanner.store.create_token(OrgId::BUILT_IN, secret.hash().as_str(), &info, None).await.unwrap();
    format!("Bearer {}", secret.expose())
}

fn used(process: &str, value: &str) -> Value {
    json!({ "process": process, "version": "2.1.0", "value": value })
}

#[tokio::test]
async fn what_flags_alone_set_is_not_turned_on_by_request() {
    const FLAGGED: &str = "flagged.billing.example";
    let site = site(false).await;
    let merge = "application/merge-patch+json";
    let create = async |spec: Value| {
        send(&site, BEARER, "application/json", ("POST", FEATURES_PATH), &feature(FLAGGED, &spec)).await
    };
    let refused = create(json!({ "version": "2.1", "dynamic": false, "desired": "On" })).await;
    assert!(refused.0 >= 400 && refused.1.to_string().contains("flags of its own program"), "{refused:?}");
    let (status, made) = create(json!({ "version": "2.1", "dynamic": false })).await;
    assert_eq!(
        (status, &made["spec"]["dynamic"], &made["status"]["dynamic"]),
        (201, &json!(false), &json!(false))
    );
    let patch = async |spec: Value| {
        send(&site, BEARER, merge, ("PATCH", &path(FLAGGED)), &json!({ "spec": spec })).await
    };
    let refused = patch(json!({ "desired": "On" })).await;
    assert!(refused.0 >= 400 && refused.1.to_string().contains("flags of its own program"), "{refused:?}");
    let (status, set) = patch(json!({ "desired": "On", "dynamic": true })).await;
    assert_eq!(
        (status, &set["status"]["state"], &set["status"]["dynamic"]),
        (200, &json!("On"), &json!(true))
    );
    let (_, rest) = site.api("GET", &format!("/api/v1/features/{FLAGGED}"), Value::Null).await;
    assert!(rest["registered_by"].is_string() && rest["desired_by"].is_string(), "{rest}");
}

#[tokio::test]
async fn a_third_party_walks_its_feature_on_off_and_away() {
    let site = site(false).await;
    let now = Timestamp::now();
    let runner = Runner::new(site.scanner.store.clone(), Gates::default(), "one".into(), "0.1.0", now);
    assert_eq!(runner.tick(now).await.unwrap().failed, []);
    let [viewer, member] = [token(&site, TokenScope::Read).await, token(&site, TokenScope::Write).await];
    let spec = json!({ "stage": "beta", "version": "2.1", "title": "invoices by e-mail" });
    // Registering needs the scope of an administrator, reporting that of a member.
    for low in [&viewer, &member] {
        let at = ("POST", FEATURES_PATH);
        let (status, said) = send(&site, low, "application/json", at, &feature(NAME, &spec)).await;
        assert_eq!((status, &said["reason"]), (403, &json!("Forbidden")), "{said}");
    }
    let (status, made) = site.api("POST", FEATURES_PATH, feature(NAME, &spec)).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!((&made["status"]["state"], &made["status"]["default"]), (&json!("Off"), &json!("Off")));
    assert_eq!((&made["spec"]["stage"], &made["status"]["version"]), (&json!("beta"), &json!("2.1")));
    let (status, said) = site.api("POST", FEATURES_PATH, feature(NAME, &spec)).await;
    assert_eq!((status.as_u16(), &said["reason"]), (409, &json!("AlreadyExists")));

    let (status, said) = report(&site, &viewer, &json!({ "uses": [used("a", "Off")] })).await;
    assert_eq!(status, 403, "{said}");
    for process in ["a", "b"] {
        let (status, said) = report(&site, &member, &json!({ "uses": [used(process, "Off")] })).await;
        assert_eq!(status, 200, "{said}");
    }
    assert_eq!(desire(&site, "On").await["status"]["state"], "TurningOn", "both report Off");
    report(&site, &member, &json!({ "uses": [used("a", "On")] })).await;
    let leftovers = json!([{ "data": "invoices", "left": 2, "names": ["2026-10", "2026-11"] }]);
    let status = json!({ "uses": [used("b", "On")], "leftovers": leftovers });
    let (_, on) = report(&site, &member, &status).await;
    assert_eq!(on["status"]["state"], "On", "{on}");
    assert_eq!(on["status"]["uses"].as_array().unwrap().len(), 2);

    // Off: first the uses, then what is left.
    assert_eq!(desire(&site, "Off").await["status"]["state"], "TurningOff");
    let (status, said) = site.api("DELETE", &path(NAME), Value::Null).await;
    assert!(status == 422 && said["message"].as_str().unwrap().contains("TurningOff"), "{said}");
    report(&site, &member, &json!({ "uses": [used("a", "Off")] })).await;
    let (_, waits) = report(&site, &member, &json!({ "uses": [used("b", "Off")] })).await;
    assert_eq!(waits["status"]["state"], "TurningOff", "{waits}");
    assert_eq!(waits["status"]["tasks"][0]["names"], json!(["2026-10", "2026-11"]));
    let (_, off) = report(&site, &member, &json!({ "leftovers": [] })).await;
    assert_eq!(off["status"]["state"], "Off", "{off}");

    // What is stored although it is off is shown in each place, and keeps it from being deleted.
    report(&site, &member, &json!({ "leftovers": leftovers })).await;
    let (_, rest) = site.api("GET", &format!("/api/v1/features/{NAME}"), Value::Null).await;
    assert_eq!((&rest["registered"], &rest["leftovers"][0]["left"]), (&json!(true), &json!(2)), "{rest}");
    let cookie = mira(&site).await;
    let (_, page) = site.ask("GET", "/settings/features", &[("cookie", &cookie)], "").await;
    assert!(
        page.contains(&format!("{NAME} is off, but leftovers exist")) && page.contains("2026-10"),
        "{page}"
    );
    let (_, table) = site
        .ask(
            "GET",
            FEATURES_PATH,
            &[("authorization", BEARER), ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")],
            "",
        )
        .await;
    assert!(table.contains(NAME) && table.contains("doh-server"), "{table}");
    let (status, said) = site.api("DELETE", &path(NAME), Value::Null).await;
    assert!(status == 422 && said["message"].as_str().unwrap().contains("invoices"), "{said}");
    report(&site, &member, &json!({ "leftovers": [] })).await;
    let (status, said) = site.api("DELETE", &path(NAME), Value::Null).await;
    assert_eq!(status, 200, "{said}");
    let (status, _) = site.api("GET", &path(NAME), Value::Null).await;
    assert_eq!(status, 404);
    let audit = site
        .scanner
        .store
        .audit_log(OrgId::BUILT_IN, &AuditQuery { limit: 50, ..AuditQuery::default() })
        .await
        .unwrap();
    for action in ["feature.register", "feature.delete"] {
        assert!(audit.entries.iter().any(|e| e.action == action && e.object == NAME), "{action}: {audit:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_deleted_is_not_marked_and_a_write_that_took_effect_succeeds() {
    let site = site(false).await;
    let now = Timestamp::now();
    let runner = Runner::new(site.scanner.store.clone(), Gates::default(), "one".into(), "0.1.0", now);
    assert_eq!(runner.tick(now).await.unwrap().failed, []);
    let patch = async |path: &str, metadata: Value| {
        let body = json!({ "metadata": metadata });
        send(&site, BEARER, "application/merge-patch+json", ("PATCH", path), &body).await
    };
    let hold = json!({ "finalizers": ["story.example/hold"] });
    let free = json!({ "finalizers": null });
    // The first token gives the installation its identity.
    crate::agents::token(&site).await;
    let id = "/apis/datumapis.com/v1alpha/clusterclaims/id.k8s.io".to_string();
    let (status, said) = site.api("POST", FEATURES_PATH, feature(NAME, &json!({ "version": "2.1" }))).await;
    assert_eq!(status, 201, "{said}");
    desire(&site, "On").await;
    let (_, on) = report(&site, BEARER, &json!({ "uses": [used("a", "On")] })).await;
    assert_eq!(on["status"]["state"], "On", "{on}");
    for one in [id, path(NAME)] {
        assert_eq!(patch(&one, hold.clone()).await.0, 200, "{one}");
        let (status, said) = site.api("DELETE", &one, Value::Null).await;
        assert_eq!((status.as_u16(), &said["reason"]), (422, &json!("Invalid")), "{said}");
        let (_, kept) = site.api("GET", &one, Value::Null).await;
        assert!(kept["metadata"]["deletionTimestamp"].is_null(), "{kept}");
        let (status, said) = patch(&one, free.clone()).await;
        assert_eq!(status, 200, "{said}");
    }
    // Marked while it was off, and turned on before its last finalizer went.
    desire(&site, "Off").await;
    let (_, off) = report(&site, BEARER, &json!({ "uses": [used("a", "Off")] })).await;
    assert_eq!(off["status"]["state"], "Off", "{off}");
    patch(&path(NAME), hold.clone()).await;
    let (status, marked) = site.api("DELETE", &path(NAME), Value::Null).await;
    assert!(status == 200 && marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    desire(&site, "On").await;
    report(&site, BEARER, &json!({ "uses": [used("a", "On")] })).await;
    for metadata in [&free, &json!({ "labels": { "a": "b" } })] {
        let (status, said) = patch(&path(NAME), metadata.clone()).await;
        assert!(status == 200 && said["metadata"]["finalizers"].is_null(), "{said}");
    }
    let (_, kept) = site.api("GET", &path(NAME), Value::Null).await;
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
    assert_eq!(kept["metadata"]["labels"]["a"], "b", "{kept}");
    // The first write after it is off deletes it.
    desire(&site, "Off").await;
    report(&site, BEARER, &json!({ "uses": [used("a", "Off")] })).await;
    patch(&path(NAME), json!({ "labels": { "a": "c" } })).await;
    assert_eq!(site.api("GET", &path(NAME), Value::Null).await.0, 404);
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_with_the_rule_and_nothing_is_stored() {
    let site = site(false).await;
    let now = Timestamp::now();
    let runner = Runner::new(site.scanner.store.clone(), Gates::default(), "one".into(), "0.1.0", now);
    assert_eq!(runner.tick(now).await.unwrap().failed, []);
    let good = json!({ "version": "2.1" });
    for (name, spec, words) in [
        ("invoices", &good, "end in a domain"),
        ("doh-server", &good, "end in a domain"),
        ("invoices.billing", &good, "end in a domain"),
        ("invoices.datumapis.com", &good, "reserved"),
        ("Invoices.billing.example", &good, "RFC 1123"),
        (NAME, &json!({}), "spec.version"),
        (NAME, &json!({ "version": "2", "stage": "gamma" }), "spec.stage"),
        (NAME, &json!({ "version": "x".repeat(300) }), "spec.version"),
        (NAME, &json!({ "version": "2", "desired": "Maybe" }), "spec.desired"),
    ] {
        let (status, said) = site.api("POST", FEATURES_PATH, feature(name, spec)).await;
        assert_eq!((status.as_u16(), &said["reason"]), (422, &json!("Invalid")), "{name} {spec}: {said}");
        assert!(said["message"].as_str().unwrap().contains(words), "{words}: {said}");
    }
    let dry = format!("{FEATURES_PATH}?dryRun=All");
    let (status, said) = site.api("POST", &dry, feature(NAME, &good)).await;
    assert_eq!(status, 201, "{said}");
    let (_, all) = site.api("GET", FEATURES_PATH, Value::Null).await;
    assert_eq!(all["items"].as_array().unwrap().len(), FEATURES.len(), "nothing was stored");
    // A feature of the program is neither declared, reported about nor deleted from outside.
    let ours = path("doh-server");
    for (method, path, body, code) in [
        ("DELETE", ours.clone(), Value::Null, 422),
        ("DELETE", format!("{ours}?dryRun=All"), Value::Null, 422),
        ("DELETE", FEATURES_PATH.to_string(), Value::Null, 405),
        ("PATCH", format!("{ours}/status"), json!({ "status": { "uses": [used("x", "Off")] } }), 422),
        ("PATCH", ours.clone(), json!({ "spec": { "stage": "alpha" } }), 422),
        ("PATCH", format!("{}/status", path(NAME)), json!({ "status": { "uses": [used("x", "Off")] } }), 404),
    ] {
        let (status, said) =
            send(&site, BEARER, "application/merge-patch+json", (method, &path), &body).await;
        assert_eq!(status, code, "{method} {path}: {said}");
    }
    site.api("POST", FEATURES_PATH, feature(NAME, &good)).await;
    let many: Vec<Value> = (0..101).map(|n| used(&format!("p-{n}"), "On")).collect();
    for (status, words) in [
        (json!({ "uses": [{ "process": "a" }] }), "status.uses[0].value"),
        (json!({ "uses": [{ "value": "On" }] }), "status.uses[0].process"),
        (json!({ "uses": [{ "process": "a", "value": "Perhaps" }] }), "value"),
        (json!({ "uses": many }), "At most 100"),
        (json!({ "uses": [used("a", "On"), used("a", "Off")] }), "each once"),
        (json!({ "uses": [used(&"x".repeat(300), "On")] }), "200 characters"),
        (json!({ "leftovers": [{ "left": 1 }] }), "status.leftovers[0].data"),
        (json!({ "leftovers": [{ "data": "invoices", "names": ["2026-10"] }] }), "status.leftovers[0].left"),
        (json!({ "leftovers": [{ "data": "invoices", "left": -1 }] }), "must be at least 0"),
        (json!({ "leftovers": 3 }), "array"),
    ] {
        let (code, said) = report(&site, BEARER, &status).await;
        assert!(code == 422 && said["message"].as_str().unwrap().contains(words), "{words}: {code} {said}");
    }
    let (_, kept) = site.api("GET", &path(NAME), Value::Null).await;
    assert_eq!(kept["status"]["uses"], json!([]), "{kept}");
    // The rest of the status is the server's.
    let whole = json!({ "status": { "state": "On", "uses": [used("a", "Off")] } });
    let (code, said) =
        send(&site, BEARER, "application/json", ("PUT", &format!("{}/status", path(NAME))), &whole).await;
    assert_eq!((code, &said["status"]["state"]), (200, &json!("Off")), "{said}");
    let old = json!({ "metadata": { "resourceVersion": "1" }, "status": { "uses": [used("a", "On")] } });
    let (code, said) =
        send(&site, BEARER, "application/json", ("PUT", &format!("{}/status", path(NAME))), &old).await;
    assert_eq!((code, &said["reason"]), (409, &json!("Conflict")), "{said}");
    // An organisation has a limit.
    for n in 1..100 {
        let (status, said) =
            site.api("POST", FEATURES_PATH, feature(&format!("f{n}.billing.example"), &good)).await;
        assert_eq!(status, 201, "{said}");
    }
    let (status, said) = site.api("POST", FEATURES_PATH, feature("more.billing.example", &good)).await;
    assert!(status == 403 && said["message"].as_str().unwrap().contains("at most 100"), "{said}");
}
