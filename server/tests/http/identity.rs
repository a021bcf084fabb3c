//! Identity and features with bad input: refused with the name of the rule, and nothing stored.

use crate::settings::{form, mira};
use crate::site::site;
use features::{FEATURES, Gates, Runner};
use model::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const API: &str = "/apis/datumapis.com/v1alpha";

fn claim(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "ClusterClaim", "metadata": { "name": name }, "spec": { "value": value } })
}

#[tokio::test]
async fn claims_that_break_a_rule_are_refused_with_the_rule() {
    let site = site(false).await;
    let path = format!("{API}/clusterclaims");
    let (status, made) = site.api("POST", &path, claim("notes.alder.example", "rack 4")).await;
    assert_eq!(status, 201, "{made}");
    let large = "x".repeat(fleet::VALUE_MAX + 1);
    for (name, value, words) in [
        ("secret.k8s.io", "1", "reserved"),
        ("secret.kubernetes.io", "1", "reserved"),
        ("secret.sigs.k8s.io", "1", "reserved"),
        ("large.alder.example", large.as_str(), "131072"),
        ("clusterset.k8s.io", "Not A Label", "RFC 1123"),
    ] {
        let (status, said) = site.api("POST", &path, claim(name, value)).await;
        let text = said.to_string();
        assert!(
            status.is_client_error() && text.contains(words),
            "{name}: {status} {}",
            &text[..text.len().min(500)]
        );
        assert!(text.len() < 2_000, "the value is not repeated");
    }
    // All values together have the limit of one.
    let half = "x".repeat(fleet::VALUE_MAX / 2);
    let (status, made) = site.api("POST", &path, claim("half.alder.example", &half)).await;
    assert_eq!(status, 201, "{}", made["message"]);
    let (status, said) = site.api("POST", &path, claim("other.alder.example", &half)).await;
    assert!(status.is_client_error() && said.to_string().contains("128 KB"), "{status} {}", said["message"]);
    let (status, _) = site.api("DELETE", &format!("{path}/half.alder.example"), Value::Null).await;
    assert_eq!(status, 200);
    // Joining makes the installation a member; its identity stays as long as it is one.
    let (status, _) = site.api("POST", "/api/v1/fleet/tokens", Value::Null).await;
    assert_eq!(status, 200);
    let (_, mut id) = site.api("GET", &format!("{path}/id.k8s.io"), Value::Null).await;
    id["spec"]["value"] = "other".into();
    let (status, said) = site.api("PUT", &format!("{path}/id.k8s.io"), id).await;
    assert!(status.is_client_error() && said.to_string().contains("leave it"), "{status} {said}");
    let (_, all) = site.api("GET", &path, Value::Null).await;
    let names: Vec<_> =
        all["items"].as_array().unwrap().iter().map(|c| c["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["clusterset.k8s.io", "id.k8s.io", "notes.alder.example"], "nothing else was stored");
}

#[tokio::test]
async fn a_feature_that_needs_a_setting_names_it() {
    let site = site(false).await;
    let now = Timestamp::now();
    let store = site.scanner.store.clone();
    let process = |id: &str, lacks: &[&str]| {
        let gates = Gates::configured(&BTreeMap::new(), lacks.iter().map(ToString::to_string).collect());
        Runner::new(store.clone(), gates, id.into(), "0.1.0", now)
    };
    let cookie = mira(&site).await;
    let one = process("one", &[]);
    assert_eq!(one.tick(now).await.unwrap().failed, []);
    for spec in FEATURES.iter().filter(|s| !s.needs.is_empty()) {
        // One of two processes does not have it.
        let two = process("two", spec.needs);
        assert_eq!(two.tick(now).await.unwrap().failed, []);
        let rest = format!("/api/v1/features/{}", spec.name);
        let (status, said) = site.api("PATCH", &rest, json!({ "desired": "On" })).await;
        let text = said.to_string();
        assert_eq!(status, 422, "{}: {said}", spec.name);
        assert!(spec.needs.iter().all(|setting| text.contains(setting)) && text.contains("two"), "{said}");
        let path = format!("{API}/namespaces/default/features/{}", spec.name);
        let (_, mut object) = site.api("GET", &path, Value::Null).await;
        object["spec"]["desired"] = "On".into();
        let (status, said) = site.api("PUT", &path, object).await;
        assert!(status.is_client_error() && said.to_string().contains(spec.needs[0]), "{status} {said}");
        let fields = [("do", "desire"), ("name", spec.name), ("desired", "on")];
        let (_, _, page) = form(&site, &cookie, "/settings/features", &fields).await;
        assert!(page.contains(spec.needs[0]), "{}: {page}", spec.name);
        let (_, kept) = site.api("GET", &rest, Value::Null).await;
        assert!(kept["desired"].is_null(), "{kept}");
        two.retire(now).await.unwrap();
        let (status, said) = site.api("PATCH", &rest, json!({ "desired": "On" })).await;
        assert_eq!((status.as_u16(), &said["desired"]), (200, &json!("On")), "{said}");
    }
    let (status, said) = site.api("PATCH", "/api/v1/features/none", json!({ "desired": "On" })).await;
    assert!(status == 404 && said.to_string().contains("is not a feature"), "{said}");
}
