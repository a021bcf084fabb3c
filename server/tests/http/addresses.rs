//! Names meet numbers over HTTP: where the addresses of a domain lie, and the names that point into a prefix.

use crate::resources::{CLAIMS, claim};
use crate::site::site;
use model::dns::{RrSet, ZoneSnapshot};
use model::ids::Vantage;
use model::names::DomainName;
use model::observation::Observation;
use serde_json::{Value, json};
use store::Record;

#[tokio::test]
async fn addresses_lie_in_claims_released_prefixes_unclaimed_blocks_or_elsewhere() {
    let site = site(false).await;
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    let (status, made) = site.api("POST", domains, domain).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    let verified = made["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Verified");
    assert_eq!(verified.map(|c| (&c["status"], &c["reason"])), Some((&json!("False"), &json!("NotClaimed"))));
    let (store, name) = (&site.scanner.store, DomainName::trusted("q7.io"));
    let known = store.observation(&name, &Vantage::local()).await.unwrap().map_or(0, |k| k.version);
    let mut observation = Observation::empty(name, Vantage::local());
    let addresses = ["10.0.0.7", "10.0.1.7", "10.0.2.7", "192.0.2.7"];
    let rrset = RrSet {
        name: "www.q7.io".into(),
        rtype: "A".into(),
        ttl: 300,
        data: addresses.iter().map(|a| (*a).to_string()).collect(),
    };
    observation.zone.value = Some(ZoneSnapshot { rrsets: vec![rrset], ..ZoneSnapshot::default() });
    let at = model::Timestamp::now();
    let record =
        Record { expected_version: known, observation, snapshot: None, raw: vec![], outcomes: vec![], at };
    store.record(&record).await.unwrap();
    let places = async || {
        let (status, all) = site.api("GET", "/api/v1/domains/q7.io/addresses", Value::Null).await;
        assert_eq!(status.as_u16(), 200, "{all}");
        all.as_array().unwrap().clone()
    };
    let tags = async || {
        let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
        let findings = detail["observation"]["findings"].as_array().unwrap().clone();
        findings.iter().map(|f| f["tag"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    // Without claims nothing is said.
    assert!(places().await.is_empty() && tags().await.is_empty());
    site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    site.api("POST", CLAIMS, claim("old", "10.0.1.0/24")).await;
    site.api("DELETE", &format!("{CLAIMS}/old"), Value::Null).await;
    let words =
        |all: &[Value]| all.iter().map(|a| a["place"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(words(&places().await), ["claimed", "released", "elsewhere", "elsewhere"]);
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE"]);
    // Addresses that no claim covers are a finding in blocks from which the organisation allocates.
    let mut pool = claim("pool", "10.0.9.0/24");
    pool["spec"]["addressSpace"][0]["from"] = "10.0.0.0/16".into();
    site.api("POST", CLAIMS, pool).await;
    let all = places().await;
    assert_eq!(words(&all), ["claimed", "released", "unclaimed", "elsewhere"]);
    assert_eq!((all[0]["claim"].as_str(), all[0]["prefix"].as_str()), (Some("web"), Some("10.0.0.0/24")));
    assert!(all[1]["sentence"].as_str().unwrap().contains("which claim old released on"), "{}", all[1]);
    assert_eq!(all[2]["block"], "10.0.0.0/16");
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE", "ADDRESS_IN_UNCLAIMED_SPACE"]);
    // From the prefix to the names; the network is down, so that no PTR record is known.
    let (_, found) = site.api("GET", "/api/v1/networks/names?prefix=10.0.0.0/23", Value::Null).await;
    let names: Vec<_> =
        found["names"].as_array().unwrap().iter().map(|n| n["address"].as_str().unwrap()).collect();
    assert_eq!(names, ["10.0.0.7", "10.0.1.7"]);
    assert_eq!(
        (&found["names"][0]["name"], &found["names"][0]["ptr"]),
        (&json!("www.q7.io"), &json!("unknown"))
    );
    // The last claim goes; what points into its prefix is still found.
    for name in ["web", "pool"] {
        assert_eq!(site.api("DELETE", &format!("{CLAIMS}/{name}"), Value::Null).await.0.as_u16(), 200);
    }
    assert_eq!(words(&places().await), ["released", "released", "elsewhere", "elsewhere"]);
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE"; 2]);
    let (status, e) = site.api("GET", "/api/v1/networks/names?prefix=10.0.0.1/23", Value::Null).await;
    assert!(status.as_u16() == 422 && e["detail"].as_str().unwrap().contains("host bits"), "{e}");
}
