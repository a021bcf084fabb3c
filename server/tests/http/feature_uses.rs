//! What features guard, over HTTP: refused with words while a feature is off, nothing of it left, and served again when it
//! is on.

use crate::agents::{join, poll_of, token};
use crate::site::{BEARER, Site, site};
use features::Runner;
use jiff::SignedDuration;
use model::Timestamp;
use model::configure::{ServiceKind, ServiceSpec, StoredService};
use model::ids::OrgId;
use serde_json::{Value, json};
use store::Store;

/// A site with the part of its process in the lifecycle.
struct World {
    site: Site,
    runner: Runner<dyn Store>,
    at: Timestamp,
}

impl World {
    async fn new() -> World {
        let (site, at) = (site(false).await, Timestamp::now());
        let (store, gates) = (site.scanner.store.clone(), site.services.gates.clone());
        let mut w = World { site, runner: Runner::new(store, gates, "one".into(), "0.1.0", at), at };
        w.rounds().await;
        w
    }

    /// Enough rounds for a transition that nothing holds up.
    async fn rounds(&mut self) {
        for _ in 0..5 {
            self.at += SignedDuration::from_secs(1);
            assert_eq!(self.runner.tick(self.at).await.unwrap().failed, []);
        }
    }

    /// Asks for a value over REST; the state that comes of it.
    async fn turn(&mut self, feature: &str, desired: &str) -> String {
        let path = format!("/api/v1/features/{feature}");
        let (status, said) = self.site.api("PATCH", &path, json!({ "desired": desired })).await;
        assert_eq!(status, 200, "{said}");
        self.rounds().await;
        let (_, found) = self.site.api("GET", &path, Value::Null).await;
        found["state"].as_str().unwrap_or_default().to_string()
    }

    /// Status and words of an answer.
    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, said) = self.site.api(method, path, body).await;
        (status.as_u16(), said.to_string())
    }

    async fn remaining(&self, data: &str) -> u64 {
        self.site.scanner.store.remaining(data).await.unwrap().count
    }
}

fn is_refused((status, words): &(u16, String), feature: &str) -> bool {
    *status == 403 && words.contains(&format!("The feature {feature} is turned off"))
}

#[tokio::test]
async fn claims_of_address_space_are_made_while_their_feature_is_on() {
    const CLAIMS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";
    let mut w = World::new().await;
    let claim = |name: &str| {
        json!({
            "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "metadata": { "name": name },
            "spec": { "addressSpace": [{ "prefix": "10.1.0.0/24", "reference": { "resource": "services" } }] },
        })
    };
    for round in 0..2 {
        let made = w.ask("POST", CLAIMS, claim("web")).await;
        assert_eq!(made.0, 201, "round {round}: {made:?}");
        assert_eq!(w.turn("network-claim", "Off").await, "TurningOff", "a claim is left");
        let refused = w.ask("POST", CLAIMS, claim("other")).await;
        assert!(is_refused(&refused, "network-claim"), "{refused:?}");
        // What is there can be read and released.
        assert_eq!(w.ask("GET", &format!("{CLAIMS}/web"), Value::Null).await.0, 200);
        assert_eq!(w.ask("DELETE", &format!("{CLAIMS}/web"), Value::Null).await.0, 200);
        w.rounds().await;
        assert_eq!(w.turn("network-claim", "Off").await, "Off");
        assert_eq!((w.remaining("network-claims").await, w.remaining("released-prefixes").await), (0, 0));
        assert_eq!(w.remaining("listed-blocks").await, 0);
        let refused = w.ask("POST", CLAIMS, claim("web")).await;
        assert!(is_refused(&refused, "network-claim"), "{refused:?}");
        assert_eq!(w.turn("network-claim", "On").await, "On");
    }
}

#[tokio::test]
async fn a_claim_with_a_finalizer_goes_while_the_feature_is_turned_off() {
    const CLAIMS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";
    let mut w = World::new().await;
    let (status, made) = w
        .ask(
            "POST",
            CLAIMS,
            json!({
                "metadata": { "name": "web", "finalizers": ["story.example/hold"] },
                "spec": { "addressSpace": [{ "prefix": "10.1.0.0/24", "reference": { "resource": "services" } }] },
            }),
        )
        .await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(w.turn("network-claim", "Off").await, "TurningOff");
    let one = format!("{CLAIMS}/web");
    let patch = async |body: &str| {
        let headers = [("authorization", BEARER), ("content-type", "application/merge-patch+json")];
        let (status, text) = w.site.ask("PATCH", &one, &headers, body).await;
        (status.as_u16(), text)
    };
    let other = r#"{"spec":{"addressSpace":[{"prefix":"10.2.0.0/24","reference":{"resource":"services"}}]}}"#;
    let refused = patch(other).await;
    assert!(is_refused(&refused, "network-claim"), "{refused:?}");
    let labelled = patch(r#"{"metadata":{"labels":{"a":"b"}}}"#).await;
    assert_eq!(labelled.0, 200, "{labelled:?}");
    let (status, marked) = w.ask("DELETE", &one, Value::Null).await;
    assert!(status == 200 && marked.contains("deletionTimestamp"), "{marked}");
    let bare = patch(r#"{"metadata":{"finalizers":null}}"#).await;
    assert_eq!(bare.0, 200, "{bare:?}");
    assert_eq!(w.ask("GET", &one, Value::Null).await.0, 404);
    w.rounds().await;
    assert_eq!(w.turn("network-claim", "Off").await, "Off");
}

#[tokio::test]
async fn links_to_customer_pages_are_made_while_their_feature_is_on() {
    let mut w = World::new().await;
    let (status, _) = w.site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io"] })).await;
    assert_eq!(status, 200);
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    let service = StoredService::new("one".into(), "q7.io", spec, w.at);
    w.site.scanner.store.add_service(OrgId::BUILT_IN, &service, w.at).await.unwrap();
    let links = "/api/v1/domains/q7.io/services/one/links";
    for round in 0..2 {
        let made = w.ask("POST", links, json!({ "brand": "Northlake" })).await;
        assert_eq!(made.0, 200, "round {round}: {made:?}");
        assert_eq!(w.remaining("connect-links").await, 1);
        assert_eq!(w.turn("domain-connect-apply", "Off").await, "Off");
        assert_eq!(w.remaining("connect-links").await, 0, "the link works no more");
        let refused = w.ask("POST", links, json!({ "brand": "Northlake" })).await;
        assert!(is_refused(&refused, "domain-connect-apply"), "{refused:?}");
        assert_eq!(w.turn("domain-connect-apply", "On").await, "On");
    }
}

#[tokio::test]
async fn leftovers_are_deleted_without_turning_the_feature_on() {
    const PATH: &str = "/api/v1/features/third-party-vantages";
    let mut w = World::new().await;
    let clean = format!("{PATH}/clean");
    let (status, same) = w.ask("POST", &clean, Value::Null).await;
    assert!(status == 200 && same.contains("\"state\":\"Off\""), "nothing is left: {same}");
    let store = w.site.scanner.store.clone();
    store.swap_budget("third-party/globalping", None, "{}", w.at).await.unwrap().expect("the first");
    let (_, found) = w.site.api("GET", PATH, Value::Null).await;
    assert_eq!(
        (&found["leftovers"][0]["left"], found["steps"].as_array().map(Vec::len)),
        (&json!(1), Some(0))
    );
    for _ in 0..2 {
        let (status, begun) = w.site.api("POST", &clean, Value::Null).await;
        assert_eq!((status.as_u16(), &begun["state"]), (200, &json!("TurningOff")), "{begun}");
        let steps: Vec<_> = begun["steps"].as_array().unwrap().iter().map(|s| s["title"].clone()).collect();
        let task = "Delete third party usage";
        assert_eq!(steps, ["Clear uses", "Wait until no process reports On", task, "Finish"]);
        assert_eq!(begun["steps"][1]["progress"], "Running");
    }
    let exists = async |w: &World| {
        let path = "/apis/datumapis.com/v1alpha/namespaces/default/features/third-party-vantages";
        let (_, object) = w.site.api("GET", path, Value::Null).await;
        let all = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|c| c["type"] == "LeftoversExist").unwrap();
        (found["status"].clone(), found["reason"].clone())
    };
    assert_eq!(exists(&w).await, (json!("True"), json!("Leftovers")), "the clean-up has begun only");
    assert_eq!(w.turn("third-party-vantages", "Off").await, "Off");
    assert_eq!(exists(&w).await, (json!("False"), json!("Clean")));
    assert_eq!(w.remaining("third-party-usage").await, 0);
    // A change says what is asked for: without it nothing is reset.
    let (status, words) = w.ask("PATCH", PATH, json!({})).await;
    assert!((status == 400 || status == 422) && words.contains("desired"), "{status} {words}");
    let (_, kept) = w.site.api("GET", PATH, Value::Null).await;
    assert_eq!(kept["desired"], "Off");
    let (status, reset) = w.site.api("PATCH", PATH, json!({ "desired": null })).await;
    assert_eq!((status.as_u16(), &reset["desired"]), (200, &Value::Null));
    // What is on is turned off, which deletes too; what is not there is not cleaned.
    let (status, words) = w.ask("POST", "/api/v1/features/doh-server/clean", Value::Null).await;
    assert!(status == 422 && words.contains("doh-server is On: turn it off"), "{status} {words}");
    assert_eq!(w.ask("POST", "/api/v1/features/none/clean", Value::Null).await.0, 404);
}

#[tokio::test]
async fn channels_are_added_and_tested_while_their_feature_is_on() {
    let mut w = World::new().await;
    let channel = json!({ "kind": "webhook", "name": "Operations", "url": "https://192.0.2.1/hook" });
    for round in 0..2 {
        let (status, made) = w.site.api("POST", "/api/v1/channels", channel.clone()).await;
        assert_eq!(status, 200, "round {round}: {made}");
        let id = made["id"].as_str().unwrap().to_string();
        assert_eq!(w.turn("alerts-webhook", "Off").await, "TurningOff", "a channel is left");
        let (status, tested) = w.ask("POST", &format!("/api/v1/channels/{id}/test"), Value::Null).await;
        assert!(status == 200 && tested.contains("alerts-webhook is turned off"), "{status} {tested}");
        let refused = w.ask("POST", "/api/v1/channels", channel.clone()).await;
        assert!(refused.0 >= 400 && refused.1.contains("alerts-webhook is turned off"), "{refused:?}");
        // Another kind is not concerned.
        let other = json!({ "kind": "slack", "name": "Chat", "url": "https://192.0.2.1/hook" });
        let (status, other) = w.site.api("POST", "/api/v1/channels", other).await;
        assert_eq!(status, 200, "{other}");
        for id in [id.as_str(), other["id"].as_str().unwrap()] {
            assert_eq!(w.ask("DELETE", &format!("/api/v1/channels/{id}"), Value::Null).await.0, 200);
        }
        assert_eq!(w.turn("alerts-webhook", "Off").await, "Off");
        assert_eq!((w.remaining("channels/webhook").await, w.remaining("channel-tests").await), (0, 0));
        assert_eq!(w.turn("alerts-webhook", "On").await, "On");
    }
}

#[tokio::test]
async fn points_of_presence_join_and_ask_while_their_feature_is_on() {
    let mut w = World::new().await;
    for round in 0..2 {
        let made = token(&w.site).await;
        let (fra, status, said) = join(&w.site, &made, "fra-1").await;
        assert_eq!(status, 200, "round {round}: {said}");
        assert_eq!(poll_of(&w.site, &fra).await.0, 200);
        let unused = token(&w.site).await;
        assert_eq!(w.turn("fleet-agents", "Off").await, "TurningOff", "an agent is left");
        let (status, said) = poll_of(&w.site, &fra).await;
        assert!(is_refused(&(status, said.to_string()), "fleet-agents"), "{status} {said}");
        let (_, status, said) = join(&w.site, &unused, "gru-1").await;
        assert!(is_refused(&(status.as_u16(), said.to_string()), "fleet-agents"), "{status} {said}");
        let refused = w.ask("POST", "/api/v1/fleet/tokens", Value::Null).await;
        assert!(is_refused(&refused, "fleet-agents"), "{refused:?}");
        assert_eq!(w.ask("DELETE", "/api/v1/fleet/fra-1", Value::Null).await.0, 200);
        assert_eq!(w.turn("fleet-agents", "Off").await, "Off");
        for data in ["agents", "agent-tokens", "agent-questions", "place-samples", "fleet-set", "fleet-key"] {
            assert_eq!(w.remaining(data).await, 0, "{data}");
        }
        let (_, fleet) = w.site.api("GET", "/api/v1/fleet", Value::Null).await;
        assert!(fleet["set"].is_null(), "it is a member of no set: {fleet}");
        assert_eq!(w.turn("fleet-agents", "On").await, "On");
        let (_, status, said) = join(&w.site, &unused, "gru-1").await;
        assert_eq!(status, 403, "tokens of before are gone: {said}");
    }
}

#[tokio::test]
async fn a_question_to_a_point_of_presence_is_a_use_until_it_is_over() {
    let mut w = World::new().await;
    let made = token(&w.site).await;
    let (fra, status, said) = join(&w.site, &made, "fra-1").await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(poll_of(&w.site, &fra).await.0, 200);
    let value = async |w: &World| {
        let (_, found) = w.site.api("GET", "/api/v1/features/fleet-agents", Value::Null).await;
        (found["state"].clone(), found["uses"][0]["value"].clone())
    };
    let (services, caller) = (w.site.services.clone(), model::ids::Caller::system());
    let asked =
        tokio::spawn(
            async move { service::FleetBackend::ask_places(&services, &caller, "q7.io", "A").await },
        );
    let store = w.site.scanner.store.clone();
    while store.agent_queues(w.at).await.unwrap().iter().all(|(_, n)| *n == 0) {
        assert!(!asked.is_finished(), "it waits for the agent");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(w.turn("fleet-agents", "Off").await, "TurningOff");
    assert_eq!(value(&w).await, (json!("TurningOff"), json!("On")), "the question is open");
    asked.abort();
    let _ = asked.await;
    w.rounds().await;
    assert_eq!(value(&w).await, (json!("TurningOff"), json!("Off")), "an agent is left");
}
