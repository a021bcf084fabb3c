//! `--shared-space`: where two organisations may hold the same addresses.

use crate::site::{Site, site};
use model::ids::{Caller, OrgId, Role};
use product::{OverlapPolicy, Services};
use resources::{Api, Reply, Request};
use serde_json::{Value, json};
use std::sync::Arc;

const CLAIMS: &str = "/apis/datumapis.com/v1alpha/networkclaims";

struct Client {
    api: Api,
    caller: Caller,
}

impl Client {
    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = Request {
            method: method.into(),
            path: path.into(),
            accept: "application/json".into(),
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
            ..Request::default()
        };
        let Reply::Whole { status, body, .. } = self.api.answer(&self.caller, request).await else {
            panic!("not one body")
        };
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(status < 300, "{status} {body}");
        body
    }

    /// State and message of the record that a claim gets.
    async fn claim(&self, name: &str, prefix: &str) -> (String, String) {
        let request = json!({ "prefix": prefix, "reference": { "resource": "x" } });
        let claim = json!({ "metadata": { "name": name }, "spec": { "addressSpace": [request] } });
        let made = self.send("POST", CLAIMS, &claim).await;
        let record = &made["status"]["addressSpace"][0];
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_string();
        (text("status"), text("message"))
    }
}

/// Two organisations on a server with this setting.
async fn clients(site: &Site, shared: &[&str]) -> (Client, Client) {
    let overlap = OverlapPolicy { shared: shared.iter().map(|p| p.parse().unwrap()).collect() };
    let api = Api::new(Arc::new(Services { overlap, ..site.services.clone() }));
    let noa = site.identity.ensure_person("noa@birch.example", "Noa Birch").await.unwrap();
    let other = site.scanner.store.create_org("k2", "Birch", &noa, model::Timestamp::now()).await.unwrap();
    let client = |org| Client { api: api.clone(), caller: Caller::new(org, "test", Role::Admin) };
    (client(OrgId::BUILT_IN), client(other))
}

#[tokio::test]
async fn organisations_overlap_where_the_operator_allows_it() {
    let site = site(false).await;
    let (one, two) = clients(&site, &["10.0.0.0/8", "fd00::/8"]).await;
    let allocated = |(state, message): (String, String)| assert_eq!(state, "allocated", "{message}");
    for (i, prefix) in ["10.20.0.0/16", "fd00:1::/48"].into_iter().enumerate() {
        allocated(one.claim(&format!("shared-{i}"), prefix).await);
        allocated(two.claim(&format!("shared-{i}"), prefix).await);
    }
    // Outside, an address has one holder; inside, one in each organisation.
    allocated(one.claim("public", "192.0.2.0/24").await);
    let foreign = "Overlaps addresses that another organisation holds.".to_string();
    assert_eq!(two.claim("public", "192.0.2.128/25").await, ("unavailable".into(), foreign));
    let (state, message) = one.claim("again", "10.20.5.0/24").await;
    assert!(state == "unavailable" && message.contains("held by shared-0"), "{message}");
    // Released by one, they are still the other's.
    one.send("DELETE", &format!("{CLAIMS}/shared-0"), &json!({})).await;
    let again = one.send("GET", &format!("{CLAIMS}/again"), &Value::Null).await;
    assert_eq!(again["status"]["addressSpace"][0]["status"], "allocated", "{again}");
    let theirs = two.send("GET", &format!("{CLAIMS}/shared-0"), &Value::Null).await;
    assert_eq!(theirs["status"]["addressSpace"][0]["status"], "allocated", "{theirs}");
}

#[tokio::test]
async fn without_the_setting_an_address_has_one_holder() {
    let site = site(false).await;
    let (one, two) = clients(&site, &[]).await;
    assert_eq!(one.claim("a", "10.20.0.0/16").await.0, "allocated");
    assert_eq!(two.claim("a", "10.20.0.0/16").await.0, "unavailable");
}
