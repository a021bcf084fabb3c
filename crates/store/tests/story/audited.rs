//! What the audit log says about writes of objects of the resource API.

use crate::world::{ONE, Place, add, name, now};
use model::account::{Actor, AuditQuery};
use model::ids::LogPosition;
use numbers::{AddressRequest, ClaimSpec, Policy, Reference};
use store::{ClusterClaimWrite, Error, NetworkClaimWrite, Store};

const LABELLED: &str = r#"{"labels":{"team":"web"},"managedFields":[{"manager":"a"}]}"#;
const HELD: &str = r#"{"annotations":{"note":"kept"},"finalizers":["story.example/hold"],"labels":{"team":"web"},"managedFields":[{"manager":"b"}]}"#;
/// As before, but for what the server keeps for itself.
const HELD_AGAIN: &str = r#"{"annotations":{"note":"kept"},"finalizers":["story.example/hold"],"generation":2,"labels":{"team":"web"}}"#;

/// Entries since the one before it, oldest first: who, action, object, old and new value.
async fn entries(s: &dyn Store, after: &mut i64) -> Vec<String> {
    let query = AuditQuery { limit: 100, ..AuditQuery::default() };
    let mut found = s.audit_log(ONE, &query).await.unwrap().entries;
    found.retain(|e| e.id > *after);
    found.reverse();
    *after = found.last().map_or(*after, |e| e.id);
    let word = |v: Option<String>| v.unwrap_or_else(|| "-".into());
    found
        .into_iter()
        .map(|e| format!("{} {} {}: {} > {}", e.who, e.action, e.object, word(e.old), word(e.new)))
        .collect()
}

fn by() -> Actor {
    Actor { who: "token ci".into(), id: Some("t1".into()), address: "192.0.2.7".into() }
}

fn claim(metadata: &str, block: &str, expected: Option<LogPosition>) -> NetworkClaimWrite {
    let request = AddressRequest {
        from: Some(block.into()),
        prefix_length: Some(26),
        reference: Reference { group: "apps".into(), resource: "shop".into() },
        description: "front".into(),
        ..AddressRequest::default()
    };
    NetworkClaimWrite {
        org: ONE,
        name: "web".into(),
        expected,
        metadata: metadata.into(),
        spec: ClaimSpec { address_space: vec![request] },
        policy: Policy::default(),
        limit: 9,
        dry_run: false,
    }
}

pub async fn claims_of_address_space_are_audited(place: &Place) {
    let s = place.open().await;
    let mut after = 0;
    let trial = NetworkClaimWrite { dry_run: true, ..claim("{}", "10.0.0.0/24", None) };
    s.write_network_claim(&by(), &trial, now()).await.unwrap();
    assert_eq!(entries(&*s, &mut after).await, [""; 0], "a dry run changes nothing");
    let made = s.write_network_claim(&by(), &claim(LABELLED, "10.0.0.0/24", None), now()).await.unwrap();
    assert_eq!(
        entries(&*s, &mut after).await,
        [
            "token ci network.claim web: - > holds 10.0.0.0/26; asks for /26 out of 10.0.0.0/24 for apps/shop: front; label: team=web"
        ]
    );
    let refused = s.write_network_claim(&by(), &claim("{}", "10.9.0.0/24", None), now()).await;
    assert!(matches!(refused, Err(Error::Conflict)));
    let moved = claim(HELD, "10.0.1.0/24", Some(made.rv));
    let moved = s.write_network_claim(&by(), &moved, now()).await.unwrap();
    assert_eq!(
        entries(&*s, &mut after).await,
        [
            "token ci network.change web: holds 10.0.0.0/26; asks for /26 out of 10.0.0.0/24 for apps/shop: front > \
          holds 10.0.1.0/26; asks for /26 out of 10.0.1.0/24 for apps/shop: front; finalizer: story.example/hold; annotation: note=kept"
        ]
    );
    let again = claim(HELD_AGAIN, "10.0.1.0/24", Some(moved.rv));
    let again = s.write_network_claim(&by(), &again, now()).await.unwrap();
    assert!(s.delete_network_claim(&by(), ONE, "web", None, &Policy::default(), now()).await.is_err());
    assert_eq!(entries(&*s, &mut after).await, [""; 0], "bookkeeping and refusals");
    let bare =
        s.write_network_claim(&by(), &claim("{}", "10.0.1.0/24", Some(again.rv)), now()).await.unwrap();
    s.delete_network_claim(&by(), ONE, "web", Some(bare.rv), &Policy::default(), now()).await.unwrap();
    assert_eq!(
        entries(&*s, &mut after).await,
        [
            "token ci network.change web: finalizer: story.example/hold; label: team=web; annotation: note=kept > -",
            "token ci network.release web: holds 10.0.1.0/26; asks for /26 out of 10.0.1.0/24 for apps/shop: front > -",
        ]
    );
}

pub async fn metadata_of_domains_and_cluster_claims_is_audited(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let mut after = 0;
    entries(&*s, &mut after).await;
    let domain = name("a.example");
    let set =
        async |rv: LogPosition, json: &str| s.set_domain_metadata(&by(), ONE, &domain, rv, json, now()).await;
    let rv = async || s.domain_object(ONE, &domain).await.unwrap().unwrap().rv;
    set(rv().await, LABELLED).await.unwrap();
    set(rv().await, HELD).await.unwrap();
    set(rv().await, HELD_AGAIN).await.unwrap();
    assert!(set(LogPosition(0), "{}").await.is_err());
    assert_eq!(
        entries(&*s, &mut after).await,
        [
            "token ci domain.change a.example: - > label: team=web",
            "token ci domain.change a.example: - > finalizer: story.example/hold; annotation: note=kept",
        ]
    );
    let write = |metadata: &str, value: &str, expected| ClusterClaimWrite {
        name: "site".into(),
        expected,
        metadata: metadata.into(),
        value: value.into(),
        dry_run: false,
    };
    let put = async |w: ClusterClaimWrite| s.write_cluster_claim(&by(), &w, now()).await.unwrap().unwrap().rv;
    let first = put(write("{}", "one", None)).await;
    let second = put(write(LABELLED, "one", Some(first))).await;
    let third = put(write(LABELLED, "two", Some(second))).await;
    s.delete_cluster_claim(&by(), "site", Some(third), now()).await.unwrap().unwrap();
    assert_eq!(
        entries(&*s, &mut after).await,
        [
            "token ci cluster.claim site: - > one",
            "token ci cluster.claim site: - > label: team=web",
            "token ci cluster.claim site: one > two",
            "token ci cluster.claim site: two > -",
        ]
    );
}
