//! A component that claims its addresses with the crate `numbers` and `kube`: the crate's own example.

use crate::claim::claim;
use crate::cluster::Cluster;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Config};
use numbers::{AddressRequest, ClaimSpec, Reference};
use std::time::Duration;

fn spec(requests: &[(&str, Option<u8>)]) -> ClaimSpec {
    let reference = Reference { group: "kube-apiserver".into(), resource: "services".into() };
    let request = |(block, length): &(&str, Option<u8>)| AddressRequest {
        prefix: length.is_none().then(|| (*block).to_string()),
        from: length.map(|_| (*block).to_string()),
        prefix_length: *length,
        reference: reference.clone(),
        ..AddressRequest::default()
    };
    ClaimSpec { address_space: requests.iter().map(request).collect() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_component_claims_waits_and_validates() {
    let cluster = Cluster::start(false).await;
    let client = || {
        let server = format!("http://{}", cluster.address).parse().unwrap();
        Client::try_from(Config::new(server)).unwrap()
    };
    let texts = |prefixes: Vec<numbers::IpNet>| prefixes.iter().map(ToString::to_string).collect::<Vec<_>>();
    let both = spec(&[("10.96.0.0/16", Some(20)), ("fd00:96::/108", None)]);
    let first = claim(client(), "first", both.clone()).await.unwrap();
    assert_eq!(texts(first), ["10.96.0.0/20", "fd00:96::/108"]);
    // Started again, it takes up the claim it has.
    assert_eq!(texts(claim(client(), "first", both).await.unwrap()), ["10.96.0.0/20", "fd00:96::/108"]);
    // A rule that the claim breaks by itself is known before the server is asked.
    let wrong = claim(client(), "wrong", spec(&[("10.96.0.1/16", None)])).await.unwrap_err().to_string();
    assert!(wrong.contains("spec.addressSpace[0].prefix") && wrong.contains("host bits"), "{wrong}");
    // What is held is waited for until it is released.
    let mut waiting = tokio::spawn(claim(client(), "second", spec(&[("10.96.0.0/24", None)])));
    let api = ApiResource::from_gvk(&GroupVersionKind::gvk("datumapis.com", "v1alpha", "NetworkClaim"));
    let claims: Api<DynamicObject> = Api::default_namespaced_with(client(), &api);
    let limit = Duration::from_secs(30);
    let begun = async {
        while claims.get_opt("second").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(limit, begun).await.expect("the claim is made");
    assert!(
        tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err(),
        "it is held by first"
    );
    claims.delete("first", &DeleteParams::default()).await.unwrap();
    let second = tokio::time::timeout(limit, waiting).await.expect("it is allocated").unwrap().unwrap();
    assert_eq!(texts(second), ["10.96.0.0/24"]);
    assert!(claims.get_opt("wrong").await.unwrap().is_none());
}
