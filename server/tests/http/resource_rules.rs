//! The resource API: rules of claims and of writes that clients rely on.

use crate::resources::{CLAIMS, claim};
use crate::site::{Site, site};
use serde_json::{Value, json};

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
