//! The resource API: what becomes of dependents when their owners are deleted.

use crate::resources::{CLAIMS, claim, send};
use crate::site::{Site, site};
use model::ids::Caller;
use model::names::DomainName;
use serde_json::{Value, json};
use service::Backend as _;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const DOMAINS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
const CLUSTER_CLAIMS: &str = "/apis/datumapis.com/v1alpha/clusterclaims";
const MERGE: &str = "application/merge-patch+json";

/// An owner reference to an object.
fn owned_by(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

fn blocking(owner: &Value) -> Value {
    let mut reference = owned_by(owner);
    reference["blockOwnerDeletion"] = true.into();
    reference
}

async fn made(site: &Site, path: &str, object: Value) -> Value {
    let (status, made) = site.api("POST", path, object).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    made
}

/// A new claim of 10.0.N.0/24 with these owners.
async fn claimed(site: &Site, n: u8, owners: &[Value]) -> Value {
    let mut object = claim(&format!("c{n}"), &format!("10.0.{n}.0/24"));
    object["metadata"]["ownerReferences"] = owners.into();
    made(site, CLAIMS, object).await
}

async fn domain(site: &Site, name: &str, owners: &[Value]) -> Value {
    let object = json!({ "metadata": { "name": name, "ownerReferences": owners }, "spec": { "name": name } });
    made(site, DOMAINS, object).await
}

/// Names of the objects there are.
async fn names(site: &Site, path: &str) -> Vec<String> {
    let (_, list) = site.api("GET", path, Value::Null).await;
    let name = |o: &Value| o["metadata"]["name"].as_str().unwrap().to_string();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

async fn read(site: &Site, name: &str) -> Value {
    site.api("GET", &format!("{CLAIMS}/{name}"), Value::Null).await.1
}

async fn delete(site: &Site, name: &str, policy: &str) -> Value {
    let path = format!("{CLAIMS}/{name}?propagationPolicy={policy}");
    let (status, gone) = site.api("DELETE", &path, Value::Null).await;
    assert_eq!(status.as_u16(), 200, "{gone}");
    gone
}

async fn patch(site: &Site, name: &str, metadata: Value) {
    let body = json!({ "metadata": metadata }).to_string().into_bytes();
    let (status, _, e) = send(site, "PATCH", &format!("{CLAIMS}/{name}"), MERGE, body).await;
    assert_eq!(status.as_u16(), 200, "{e}");
}

#[tokio::test]
async fn dependents_go_once_all_their_owners_are_gone() {
    let site = site(false).await;
    let (a, b) = (claimed(&site, 1, &[]).await, claimed(&site, 2, &[]).await);
    let only_a = claimed(&site, 3, &[owned_by(&a)]).await;
    claimed(&site, 4, &[owned_by(&a), owned_by(&b)]).await;
    domain(&site, "of-dependent.example", &[owned_by(&only_a)]).await;
    domain(&site, "free.example", &[]).await;
    assert_eq!(site.state.collect_dependents().await.unwrap(), 0, "their owners are there");
    delete(&site, "c1", "Background").await;
    // The claim of the one owner, the domain of that claim, and the reference of the claim with another owner.
    assert_eq!(site.state.collect_dependents().await.unwrap(), 3);
    assert_eq!(names(&site, CLAIMS).await, ["c2", "c4"]);
    assert_eq!(names(&site, DOMAINS).await, ["free.example"]);
    let left = read(&site, "c4").await;
    assert_eq!(left["metadata"]["ownerReferences"], json!([owned_by(&b)]));
    assert_eq!(left["metadata"]["generation"], 1, "its specification is as it was");
    assert_eq!(site.state.collect_dependents().await.unwrap(), 0);
    delete(&site, "c2", "").await;
    site.state.collect_dependents().await.unwrap();
    assert!(names(&site, CLAIMS).await.is_empty(), "Background is the policy of those who name none");
}

#[tokio::test]
async fn an_owner_is_told_by_its_identity_and_one_of_another_api_counts_as_present() {
    let site = site(false).await;
    let old = claimed(&site, 1, &[]).await;
    delete(&site, "c1", "").await;
    claimed(&site, 1, &[]).await;
    claimed(&site, 2, &[owned_by(&old)]).await;
    let foreign = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1" });
    let mut object = claim("c3", "10.0.3.0/24");
    object["metadata"]["ownerReferences"] = json!([foreign, owned_by(&old)]);
    let (_, warnings, _) =
        send(&site, "POST", CLAIMS, "application/json", object.to_string().into_bytes()).await;
    assert!(warnings.contains("v1 ConfigMap") && warnings.contains("counts as present"), "{warnings}");
    site.state.collect_dependents().await.unwrap();
    assert_eq!(names(&site, CLAIMS).await, ["c1", "c3"], "the same name created again is no owner");
    assert_eq!(read(&site, "c3").await["metadata"]["ownerReferences"], json!([foreign]));
}

#[tokio::test]
async fn orphans_stay_without_the_reference() {
    let site = site(false).await;
    let owner = claimed(&site, 1, &[]).await;
    claimed(&site, 2, &[owned_by(&owner)]).await;
    let marked = delete(&site, "c1", "Orphan").await;
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    assert_eq!(names(&site, CLAIMS).await, ["c1", "c2"], "it goes after the references to it");
    site.state.collect_dependents().await.unwrap();
    assert_eq!(names(&site, CLAIMS).await, ["c2"]);
    assert_eq!(read(&site, "c2").await["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test]
async fn with_foreground_the_owner_stays_until_the_dependents_that_block_it_are_gone() {
    let site = site(false).await;
    let owner = claimed(&site, 1, &[]).await;
    let blocks = claimed(&site, 2, &[blocking(&owner)]).await;
    let held = claimed(&site, 3, &[blocking(&blocks)]).await;
    patch(&site, "c3", json!({ "finalizers": ["story.example/hold"] })).await;
    claimed(&site, 4, &[owned_by(&owner)]).await;
    patch(&site, "c4", json!({ "finalizers": ["story.example/hold"] })).await;
    let marked = delete(&site, "c1", "Foreground").await;
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    site.state.collect_dependents().await.unwrap();
    assert_eq!(names(&site, CLAIMS).await, ["c1", "c2", "c3", "c4"], "c3 holds c2, which holds c1");
    for name in ["c1", "c2", "c3", "c4"] {
        assert!(read(&site, name).await["metadata"]["deletionTimestamp"].is_string(), "{name}");
    }
    // Until the program that holds it lets it go. What does not block may stay longer than the owner.
    assert_eq!(held["metadata"]["name"], "c3");
    patch(&site, "c3", json!({ "finalizers": null })).await;
    site.state.collect_dependents().await.unwrap();
    assert_eq!(names(&site, CLAIMS).await, ["c4"]);
}

#[tokio::test]
async fn owners_in_a_circle_and_of_themselves_go() {
    let site = site(false).await;
    for policy in ["Background", "Foreground"] {
        let a = claimed(&site, 1, &[]).await;
        let b = claimed(&site, 2, &[blocking(&a)]).await;
        patch(&site, "c1", json!({ "ownerReferences": [blocking(&a), blocking(&b)] })).await;
        site.state.collect_dependents().await.unwrap();
        assert_eq!(names(&site, CLAIMS).await.len(), 2, "each has an owner that is there");
        delete(&site, "c1", policy).await;
        site.state.collect_dependents().await.unwrap();
        assert!(names(&site, CLAIMS).await.is_empty(), "{policy}");
    }
}

#[tokio::test]
async fn a_domain_removed_on_a_page_is_an_owner_that_is_gone() {
    let site = site(false).await;
    let owner = domain(&site, "owner.example", &[]).await;
    claimed(&site, 1, &[owned_by(&owner)]).await;
    let stop = CancellationToken::new();
    let collector = tokio::spawn(site.state.clone().keep_collecting(stop.clone()));
    let removed = site.services.remove(&Caller::system(), &[DomainName::trusted("owner.example")]).await;
    assert_eq!(removed.unwrap().len(), 1);
    // Any write that may concern the collector wakes it: no test waits for its half minute.
    let other = claimed(&site, 2, &[]).await;
    claimed(&site, 3, &[owned_by(&other)]).await;
    let gone = async {
        while names(&site, CLAIMS).await != ["c2", "c3"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the background collects it");
    stop.cancel();
    collector.await.unwrap();
}

#[tokio::test]
async fn references_that_break_a_rule_are_refused_with_their_field() {
    let site = site(false).await;
    let owner = claimed(&site, 1, &[]).await;
    let with = |references: Value| {
        let mut object = claim("c2", "10.0.2.0/24");
        object["metadata"]["ownerReferences"] = references;
        object
    };
    let mut nameless = owned_by(&owner);
    nameless.as_object_mut().unwrap().remove("uid");
    let mut manages = owned_by(&owner);
    manages["controller"] = true.into();
    for (object, field, words) in [
        (with(json!([nameless])), "metadata.ownerReferences[0].uid", "Required"),
        (with(json!([manages, manages])), "metadata.ownerReferences", "only one reference"),
    ] {
        let (status, e) = site.api("POST", CLAIMS, object).await;
        assert_eq!(status.as_u16(), 422, "{e}");
        assert!(e["details"]["causes"][0]["field"] == field && e.to_string().contains(words), "{e}");
    }
    // A namespace in a reference is a field that no owner has: owners are in the namespace of their dependents.
    let mut elsewhere = owned_by(&owner);
    elsewhere["namespace"] = "other".into();
    let path = format!("{CLAIMS}?fieldValidation=Strict");
    let (status, e) = site.api("POST", &path, with(json!([elsewhere]))).await;
    assert_eq!(status.as_u16(), 400, "{e}");
    assert!(e["message"].as_str().unwrap().contains("metadata.ownerReferences[0].namespace"), "{e}");
    let cluster = json!({
        "metadata": { "name": "rack.example", "ownerReferences": [owned_by(&owner)] }, "spec": { "value": "7" },
    });
    let (status, e) = site.api("POST", CLUSTER_CLAIMS, cluster).await;
    assert_eq!(status.as_u16(), 422, "{e}");
    assert!(e["message"].as_str().unwrap().contains("belongs to no namespace"), "{e}");
}
