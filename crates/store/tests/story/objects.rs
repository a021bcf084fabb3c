//! Holdings and claims as objects: metadata, positions, finalizers, owners and tombstones.

use crate::numbers::{exact, write};
use crate::world::{ONE, Place, TWO, add, later, name, now};
use ::numbers::Policy;
use model::account::Actor;
use model::ids::LogPosition;
use model::item::ItemPatch;
use std::sync::Arc;
use store::{Error, NetworkClaimWrite, Store};

pub async fn what_has_a_finalizer_is_not_deleted(place: &Place) {
    const HELD: &str = r#"{"finalizers":["story.example/hold"]}"#;
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let object = async || s.domain_object(ONE, &name("b.example")).await.unwrap().unwrap();
    s.set_domain_metadata(&Actor::system(), ONE, &name("b.example"), object().await.rv, HELD, now())
        .await
        .unwrap();
    let is_held = |e: &Error, of: &str| matches!(e, Error::Held { name, finalizer } if name == of && finalizer == "story.example/hold");
    let e = s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap_err();
    assert!(is_held(&e, "b.example"), "{e:?}");
    assert_eq!(s.domain_objects(ONE, "", 10).await.unwrap().len(), 2, "none of them was removed");
    let write =
        NetworkClaimWrite { metadata: HELD.into(), ..write(ONE, "web", None, &[exact("10.0.0.0/24")]) };
    let made = s.write_network_claim(&Actor::system(), &write, now()).await.unwrap();
    let policy = Policy::default();
    let e = s.delete_network_claim(&Actor::system(), ONE, "web", None, &policy, now()).await.unwrap_err();
    assert!(is_held(&e, "web"), "{e:?}");
    // Without the finalizer they go.
    s.set_domain_metadata(&Actor::system(), ONE, &name("b.example"), object().await.rv, "{}", now())
        .await
        .unwrap();
    // Written since it was read.
    let (at, other) = (object().await.rv, LogPosition(object().await.rv.0 - 1));
    let delete = async |at| s.delete_domain(&Actor::system(), ONE, &name("b.example"), at, now()).await;
    assert!(matches!(delete(other).await, Err(Error::Conflict)));
    delete(at).await.unwrap();
    assert!(matches!(delete(at).await, Err(Error::NotFound)));
    assert_eq!(s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap(), 1);
    let bare = NetworkClaimWrite { metadata: "{}".into(), expected: Some(made.rv), ..write };
    s.write_network_claim(&Actor::system(), &bare, now()).await.unwrap();
    s.delete_network_claim(&Actor::system(), ONE, "web", None, &policy, now()).await.unwrap();
}

pub async fn objects_that_name_owners_or_wait_are_found_without_the_others(place: &Place) {
    const OWNED: &str = r#"{"ownerReferences":[{"name":"a"}]}"#;
    const WAITS: &str = r#"{"finalizers":["foregroundDeletion"]}"#;
    let s = place.open().await;
    assert!(s.linked_orgs().await.unwrap().is_empty());
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    for (name_of, metadata) in [("a.example", OWNED), ("b.example", "{}"), ("c.example", WAITS)] {
        let rv = s.domain_object(ONE, &name(name_of)).await.unwrap().unwrap().rv;
        s.set_domain_metadata(&Actor::system(), ONE, &name(name_of), rv, metadata, now()).await.unwrap();
    }
    for (org, of, metadata) in [(TWO, "web", r#"{"finalizers":["orphan"]}"#), (TWO, "db", "{}")] {
        let block = format!("10.{}.0.0/24", of.len());
        let write = NetworkClaimWrite { metadata: metadata.into(), ..write(org, of, None, &[exact(&block)]) };
        s.write_network_claim(&Actor::system(), &write, now()).await.unwrap();
    }
    let mut orgs = s.linked_orgs().await.unwrap();
    orgs.sort();
    assert_eq!(orgs, [ONE, TWO]);
    let found = async |org, kind, after, limit| {
        let rows = s.linked_objects(org, kind, after, limit).await.unwrap();
        rows.into_iter().map(|(n, m)| format!("{n} {m}")).collect::<Vec<_>>()
    };
    assert_eq!(found(ONE, "item", "", 9).await, [format!("a.example {OWNED}"), format!("c.example {WAITS}")]);
    assert_eq!(found(ONE, "item", "", 1).await.len(), 1);
    assert_eq!(found(ONE, "item", "a.example", 9).await, [format!("c.example {WAITS}")]);
    assert_eq!(found(TWO, "claim", "", 9).await, [r#"web {"finalizers":["orphan"]}"#]);
    for (org, kind) in
        [(TWO, "item"), (ONE, "claim"), (ONE, "feature"), (ONE, "cluster_claim"), (ONE, "event")]
    {
        assert!(found(org, kind, "", 9).await.is_empty(), "{kind}");
    }
}

pub async fn a_holding_is_created_with_its_metadata_at_once(place: &Place) {
    const LABELLED: &str = r#"{"labels":{"team":"web"}}"#;
    let s = place.open().await;
    let item = crate::world::new("a.example");
    assert!(s.create_domain(&Actor::system(), ONE, &item, LABELLED, now()).await.unwrap());
    let made = s.domain_object(ONE, &name("a.example")).await.unwrap().unwrap();
    assert_eq!((made.rv, made.metadata.as_deref()), (LogPosition(1), Some(LABELLED)), "one entry of the log");
    // What is held stays as it is.
    assert!(!s.create_domain(&Actor::system(), ONE, &item, "{}", now()).await.unwrap());
    let kept = s.domain_object(ONE, &name("a.example")).await.unwrap().unwrap();
    assert_eq!((kept.rv, kept.metadata.as_deref()), (LogPosition(1), Some(LABELLED)));
}

pub async fn holdings_have_positions_metadata_and_tombstones(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    let listed = s.domain_objects(ONE, "a.example", 1).await.unwrap();
    assert_eq!(listed.iter().map(|d| d.item.name.as_str()).collect::<Vec<_>>(), ["b.example"]);
    let object = || async { s.domain_object(ONE, &name("b.example")).await.unwrap().unwrap() };
    let before = object().await;
    assert_eq!(before.rv, LogPosition(2));
    s.patch(ONE, &name("b.example"), &ItemPatch { note: Some("x".into()), ..ItemPatch::default() }, now())
        .await
        .unwrap();
    let patched = object().await;
    assert_eq!(patched.rv, LogPosition(4), "the position of its newest entry");
    let write = |rv| {
        let s: Arc<dyn Store> = s.clone();
        async move {
            s.set_domain_metadata(
                &Actor::system(),
                ONE,
                &name("b.example"),
                rv,
                r#"{"labels":{"team":"web"}}"#,
                now(),
            )
            .await
        }
    };
    assert!(matches!(write(before.rv).await, Err(Error::Conflict)));
    write(patched.rv).await.unwrap();
    assert_eq!(object().await.metadata.as_deref(), Some(r#"{"labels":{"team":"web"}}"#));
    s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap();
    let head = s.head().await.unwrap();
    let kept = s.tombstones(&[LogPosition(head.0 - 1), head]).await.unwrap();
    assert!(kept[0].1.contains("added_at") && kept[1].1.contains("team"), "{kept:?}");
    add(&*s, ONE, &["b.example"]).await;
    assert_eq!(object().await.metadata, None, "a later holding of the name is another object");
    s.prune_log(later(25 * 60), 400).await.unwrap();
    assert!(s.tombstones(&[head]).await.unwrap().is_empty());
}
