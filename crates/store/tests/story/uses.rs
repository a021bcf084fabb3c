//! What a use of each feature leaves in the store, and what people remove of it. The kill tests of `binary` include this file:
//! constants and times are those of the module `world` beside it.

use super::world::{ONE, TWO, later, now};
use ::fleet::CLUSTERSET_CLAIM;
use jiff::SignedDuration;
use model::account::Actor;
use model::configure::ConnectLink;
use model::dns::Delegation;
use model::ids::Vantage;
use model::latency::{ChainServer, LatencyHistory, PlaceLatency};
use model::names::DomainName;
use model::notify::{Channel, Target};
use model::observation::{Observation, Part};
use numbers::Policy;
use store::{Agent, ClusterClaimWrite, NetworkClaimWrite, Record, Store};

fn target(kind: &str) -> Target {
    let json = match kind {
        "email" => r#"{"to":["ops@alder.example"]}"#.to_string(),
        "telegram" => r#"{"token":"1:a","chat":"1"}"#.into(),
        "pagerduty" => r#"{"key":"0123456789"}"#.into(),
        _ => r#"{"url":"https://hooks.example/x","secret":"whsec_x","topic":"t","token":""}"#.into(),
    };
    let mut value: serde_json::Value = serde_json::from_str(&json).unwrap();
    value["kind"] = kind.into();
    serde_json::from_value(value).unwrap_or_else(|e| panic!("{kind}: {e}"))
}

/// Stores what a use of the feature leaves; removes what people have to remove.
pub async fn use_it(s: &dyn Store, data: &str) {
    match data.split_once('/').unwrap_or((data, "")) {
        ("network-claims", _) => {
            let spec = serde_json::json!({ "addressSpace": [{ "prefix": "10.0.0.0/24", "reference": { "resource": "x" } }] });
            let write = NetworkClaimWrite {
                org: ONE,
                name: "office".into(),
                expected: None,
                metadata: "{}".into(),
                spec: serde_json::from_value(spec).unwrap(),
                policy: Policy::default(),
                limit: u64::MAX,
                dry_run: false,
            };
            s.write_network_claim(&Actor::system(), &write, now()).await.unwrap();
        }
        ("channels", kind) => {
            let channel = Channel {
                id: format!("c-{kind}"),
                name: "Operations".into(),
                target: target(kind),
                created_at: now(),
            };
            s.save_channel(ONE, &channel, now()).await.unwrap();
        }
        ("channel-tests", _) => s.set_setting(ONE, "channel-test/gone", "{}", now()).await.unwrap(),
        ("connect-links", _) => {
            let link = ConnectLink {
                service: "one".into(),
                domain: "a.example".into(),
                brand: "Northlake".into(),
                accent: "#1f6feb".into(),
                help: String::new(),
                expires_at: later(60),
            };
            s.put_connect_link(TWO, &format!("hash-{}", s.head().await.unwrap().0), &link).await.unwrap();
        }
        ("agents", _) => {
            let end = now() + SignedDuration::from_mins(5);
            let token = format!("one-{}", s.head().await.unwrap().0);
            s.add_agent_token(&Actor::system(), &token, "", end, now()).await.unwrap();
            let set = ClusterClaimWrite {
                name: CLUSTERSET_CLAIM.into(),
                expected: None,
                metadata: "{}".into(),
                value: "alder-fleet".into(),
                dry_run: false,
            };
            s.write_cluster_claim(&Actor::system(), &set, now()).await.unwrap().unwrap();
            let agent = agent("fra-1");
            assert_eq!(s.join_agent(&token, &agent, now()).await.unwrap(), store::JoinOutcome::Joined);
        }
        ("agent-tokens", _) => {
            let end = now() + SignedDuration::from_mins(5);
            let token = format!("two-{}", s.head().await.unwrap().0);
            s.add_agent_token(&Actor::system(), &token, "", end, now()).await.unwrap();
        }
        ("agent-questions", _) => {
            let id = format!("q-{}", s.head().await.unwrap().0);
            s.ask_agent("gone-1", &id, "question", later(5)).await.unwrap();
        }
        ("place-samples", _) => {
            sample(s, "sampled.example").await;
        }
        // Members are in a set.
        ("fleet-set", _) => {}
        ("fleet-key", _) => {
            assert_eq!(s.first_setting(ONE, "fleet-key", "key", now()).await.unwrap(), "key");
            s.set_setting(ONE, "fleet-refused", "[]", now()).await.unwrap();
        }
        ("third-party-usage", _) => {
            s.swap_budget("third-party/globalping", None, "{}", now()).await.unwrap().expect("the first");
            let _ = s.swap_budget("rdap.example", None, "{}", now()).await.unwrap();
        }
        // What releasing a claim leaves.
        ("released-prefixes", _) => {}
        ("listed-blocks", _) => {
            let prefix = "10.200.0.0/16".parse().unwrap();
            let block = store::ListedBlock { prefix, description: "West".into(), created_at: now() };
            let log = store::Audit {
                org: ONE,
                by: Actor::system(),
                at: now(),
                action: "network.block",
                object: "10.200.0.0/16".into(),
                old: None,
                new: None,
            };
            s.save_block(&block, 9, &log).await.unwrap();
        }
        other => panic!("no use of {other:?}"),
    }
}

pub async fn remove_it(s: &dyn Store, data: &str) {
    match data.split_once('/').unwrap_or((data, "")) {
        ("network-claims", _) => {
            s.delete_network_claim(&Actor::system(), ONE, "office", None, &Policy::default(), now())
                .await
                .unwrap();
        }
        ("agents", _) => assert!(s.revoke_agent(&Actor::system(), "fra-1", now()).await.unwrap()),
        ("channels", kind) => {
            assert!(s.delete_channel(&Actor::system(), ONE, &format!("c-{kind}"), now()).await.unwrap());
        }
        other => panic!("people do not remove {other:?}"),
    }
}

/// Writes a scan of a name with a look of a point of presence.
pub async fn sample(s: &dyn Store, name: &str) {
    let (name, vantage) = (DomainName::trusted(name), Vantage::local());
    let known = s.observation(&name, &vantage).await.unwrap();
    let server = ChainServer {
        zone: name.to_string(),
        server: format!("ns1.{name}"),
        address: "192.0.2.1".parse().unwrap(),
        ms: vec![Some(12.0)],
        network: None,
        ids: vec![],
    };
    let look = LatencyHistory { looks: vec![now()], servers: vec![server], places: vec![] };
    let place = PlaceLatency { id: "fra-1".into(), region: "eu-central".into(), seen: look.clone() };
    let delegation = Delegation {
        zone: name.to_string(),
        parent: "example".into(),
        delegated: true,
        parent_ns: vec![],
        child_ns: vec![],
        ds: vec![],
        servers: vec![],
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: LatencyHistory { places: vec![place], ..look },
        notes: vec![],
    };
    let mut observation = Observation::empty(name, vantage);
    observation.delegation = Part::good(delegation, now(), "servers");
    let expected_version = known.map_or(0, |k| k.version);
    let record =
        Record { expected_version, observation, snapshot: None, raw: vec![], outcomes: vec![], at: now() };
    s.record(&record).await.unwrap();
}

/// A point of presence.
pub fn agent(id: &str) -> Agent {
    Agent {
        id: id.into(),
        region: "eu-central".into(),
        key: "key".into(),
        version: "0.1.0".into(),
        protocol: 1,
        joined_at: now(),
        seen_at: now(),
        first_answer_at: None,
        latency_ms: None,
        latency: Default::default(),
        running: 0,
        draining: false,
    }
}
