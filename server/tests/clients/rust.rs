//! Rust's `kube`: a typed client, a watcher and a reflector that loses its connection and its position.

use crate::cluster::Cluster;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{
    ApiResource, DeleteParams, GroupVersionKind, ListParams, Object, Patch, PatchParams, PostParams,
};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt as _, discovery};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSpec {
    address_space: Vec<ClaimRequest>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix_length: Option<u8>,
    reference: ClaimReference,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ClaimReference {
    #[serde(default)]
    group: String,
    resource: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimStatus {
    address_space: Vec<ClaimRecord>,
    /// The type of Kubernetes itself, which is strict about what a condition has.
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ClaimRecord {
    prefix: Option<String>,
    status: String,
}

type Claim = Object<ClaimSpec, ClaimStatus>;

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("datumapis.com", "v1alpha", "NetworkClaim"))
}

fn claim(name: &str, block: &str, length: u8) -> Claim {
    let reference = ClaimReference { group: "apps".into(), resource: "web".into() };
    let request =
        ClaimRequest { prefix: None, from: Some(block.into()), prefix_length: Some(length), reference };
    Object::new(name, &resource(), ClaimSpec { address_space: vec![request] })
}

/// Passes connections on while it is open; closing it breaks those there are.
async fn gate(to: SocketAddr) -> (SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, is_open) = watch::channel(true);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut is_open = is_open.clone();
            tokio::spawn(async move {
                if !*is_open.borrow() {
                    return;
                }
                let Ok(mut server) = TcpStream::connect(to).await else { return };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                    _ = is_open.wait_for(|open| !open) => {}
                }
            });
        }
    });
    (address, open)
}

async fn client(address: SocketAddr) -> Client {
    let config = Config::new(format!("http://{address}").parse().unwrap());
    Client::try_from(config).unwrap()
}

/// Waits until it holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait)
        .await
        .unwrap_or_else(|_| panic!("waited for: {what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_rust_client_is_typed_and_conflicts_are_typed_too() {
    let cluster = Cluster::start(false).await;
    let client = client(cluster.address).await;
    // Both forms of discovery.
    let kind = GroupVersionKind::gvk("datumapis.com", "v1alpha", "NetworkClaim");
    let (found, capabilities) = discovery::pinned_kind(&client, &kind).await.unwrap();
    assert_eq!(found.plural, "networkclaims");
    assert!(capabilities.supports_operation(discovery::verbs::WATCH));
    for all in [
        discovery::Discovery::new(client.clone()).run().await.unwrap(),
        discovery::Discovery::new(client.clone()).run_aggregated().await.unwrap(),
    ] {
        let group = all.get("datumapis.com").expect("the group is found");
        assert!(group.recommended_kind("Domain").is_some());
    }
    assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    let claims: Api<Claim> = Api::default_namespaced_with(client.clone(), &resource());
    let made = claims.create(&PostParams::default(), &claim("web", "10.0.0.0/16", 24)).await.unwrap();
    let status = made.status.as_ref().unwrap();
    assert_eq!(status.address_space[0].prefix.as_deref(), Some("10.0.0.0/24"));
    assert_eq!(status.conditions[0].type_, "Allocated");
    // Over an old position, and once more.
    let mut changed = made.clone();
    changed.labels_mut().insert("team".into(), "web".into());
    let written = claims.replace("web", &PostParams::default(), &changed).await.unwrap();
    assert_eq!((written.labels()["team"].as_str(), written.metadata.generation), ("web", Some(1)));
    let old = claims.replace("web", &PostParams::default(), &changed).await.unwrap_err();
    assert!(matches!(&old, kube::Error::Api(status) if status.is_conflict()), "{old}");
    let again = claims.create(&PostParams::default(), &claim("web", "10.0.0.0/16", 24)).await.unwrap_err();
    assert!(matches!(&again, kube::Error::Api(status) if status.is_already_exists()), "{again}");
    // Server-side apply, which another manager can force.
    let apply = |length: u8| Patch::Apply(claim("pool", "10.1.0.0/16", length));
    let pool = claims.patch("pool", &PatchParams::apply("first"), &apply(26)).await.unwrap();
    assert_eq!(pool.status.unwrap().address_space[0].prefix.as_deref(), Some("10.1.0.0/26"));
    let conflict = claims.patch("pool", &PatchParams::apply("second"), &apply(25)).await.unwrap_err();
    assert!(matches!(&conflict, kube::Error::Api(status) if status.code == 409), "{conflict}");
    claims.patch("pool", &PatchParams::apply("second").force(), &apply(25)).await.unwrap();
    let note = Patch::Merge(json!({ "metadata": { "annotations": { "note": "kept" } } }));
    let noted = claims.patch("pool", &PatchParams::default(), &note).await.unwrap();
    assert_eq!(noted.annotations()["note"], "kept");
    // Metadata alone, a chunk and its remainder, a preview.
    let page = claims.list(&ListParams::default().limit(1)).await.unwrap();
    let token = page.metadata.continue_.clone().unwrap();
    let rest = claims.list(&ListParams::default().limit(1).continue_token(&token)).await.unwrap();
    assert_eq!((page.items[0].name_any(), rest.items[0].name_any()), ("pool".into(), "web".into()));
    assert_eq!(claims.list_metadata(&ListParams::default()).await.unwrap().items.len(), 2);
    let preview = PostParams { dry_run: true, ..PostParams::default() };
    claims.create(&preview, &claim("none", "10.2.0.0/16", 24)).await.unwrap();
    assert!(claims.get_opt("none").await.unwrap().is_none());
    assert!(claims.get_status("web").await.unwrap().status.is_some());
    claims.delete("web", &DeleteParams::default()).await.unwrap();
    assert!(claims.get_opt("web").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reflector_survives_a_disconnect_and_a_pruned_position() {
    for streaming in [false, true] {
        let cluster = Cluster::start(false).await;
        let (address, open) = gate(cluster.address).await;
        let behind: Api<Claim> = Api::default_namespaced_with(client(address).await, &resource());
        let direct: Api<Claim> = Api::default_namespaced_with(client(cluster.address).await, &resource());
        let create = async |name: &str| {
            direct.create(&PostParams::default(), &claim(name, "10.0.0.0/16", 24)).await.unwrap()
        };
        for name in ["a", "b"] {
            create(name).await;
        }
        let config = watcher::Config::default().page_size(1);
        let config = if streaming { config.streaming_lists() } else { config };
        let writer = reflector::store::Writer::new(resource());
        let store = writer.as_reader();
        let (inits, count) = watch::channel(0);
        let events = reflector(writer, watcher(behind, config).backoff(watcher::DefaultBackoff::default()));
        let follow = tokio::spawn(events.for_each(move |event| {
            if let Ok(watcher::Event::InitDone) = event {
                inits.send_modify(|n| *n += 1);
            }
            std::future::ready(())
        }));
        let names = || {
            let mut names: Vec<String> = store.state().iter().map(|claim| claim.name_any()).collect();
            names.sort();
            names.join(" ")
        };
        until("the state", || names() == "a b").await;
        create("c").await;
        direct.delete("a", &DeleteParams::default()).await.unwrap();
        until("changes", || names() == "b c").await;
        // Disconnected, while something changes: the watch goes on where it was.
        open.send_replace(false);
        create("d").await;
        direct.delete("b", &DeleteParams::default()).await.unwrap();
        open.send_replace(true);
        until("what changed meanwhile", || names() == "c d").await;
        assert_eq!(*count.borrow(), 1, "the state was read once");
        // Disconnected until the position is pruned: 410, and the state again.
        open.send_replace(false);
        create("e").await;
        direct.delete("c", &DeleteParams::default()).await.unwrap();
        cluster.prune().await;
        open.send_replace(true);
        until("the state again", || names() == "d e").await;
        assert_eq!(*count.borrow(), 2);
        // It watches on.
        create("f").await;
        until("one more", || names() == "d e f").await;
        follow.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watcher_of_namespaces_has_them_once_and_watches_on() {
    let cluster = Cluster::start(false).await;
    for streaming in [false, true] {
        let all: Api<Namespace> = Api::all(client(cluster.address).await);
        let config = watcher::Config::default();
        let mut events =
            std::pin::pin!(watcher(all, if streaming { config.streaming_lists() } else { config }));
        let mut names = Vec::new();
        loop {
            let event = tokio::time::timeout(Duration::from_secs(30), events.next()).await.expect("an event");
            match event.unwrap().unwrap() {
                watcher::Event::Init => {}
                watcher::Event::InitApply(namespace) => names.push(namespace.name_any()),
                watcher::Event::InitDone => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(names.len() == 2 && names.contains(&"default".to_string()), "{names:?}");
        let next = tokio::time::timeout(Duration::from_secs(2), events.next()).await;
        assert!(next.is_err(), "nothing changed: {next:?}");
    }
}

/// Paths of all keys of a document.
fn keys(value: &serde_json::Value, path: &str, out: &mut BTreeSet<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        keys(inner, &path, out);
        out.insert(path);
    }
    for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
        keys(inner, &format!("{path}/{i}"), out);
    }
}

#[test]
fn definitions_for_clusters_have_the_types_of_kubernetes() {
    let all = resources::definitions();
    assert!(all.len() >= 5);
    for definition in all {
        let typed: CustomResourceDefinition = serde_json::from_value(definition.clone()).unwrap();
        assert_eq!(typed.metadata.name, Some(format!("{}.datumapis.com", typed.spec.names.plural)));
        // A key that the type does not know, or knows at another place, would be lost.
        let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
        keys(&definition, "", &mut written);
        keys(&serde_json::to_value(&typed).unwrap(), "", &mut read);
        assert_eq!(written, read, "{}", typed.spec.names.kind);
    }
}
