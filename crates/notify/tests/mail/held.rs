//! Messages that wait: for the end of a mute, and for the hour of a digest.

use crate::smtp::Server;
use crate::world::World;
use jiff::ToSpan;
use model::event::Severity;
use model::item::ItemPatch;
use model::maintenance::NO_RULE;
use model::names::DomainName;
use model::notify::{Delivery, DeliveryState, Rule};

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_inside_a_mute_is_sent_when_the_mute_ends() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    let end = w.now() + 240.hours();
    w.mute(Some(end)).await;
    w.scan().await;
    assert_eq!(w.deliver().await, 1, "routed");
    let waits = DeliveryState::Waiting { due_at: end, attempts: 0, error: Some("Muted".into()) };
    assert_eq!(w.messages().await.iter().map(|m| m.state.clone()).collect::<Vec<_>>(), [waits]);
    w.later_hours(239).await;
    assert_eq!((w.deliver().await, server.mails().await.len()), (0, 0));
    w.seconds(3600);
    assert_eq!(w.deliver().await, 2, "routed and sent");
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 1));

    // Muted again, and unmuted before the end: at once.
    w.mute(Some(w.now() + 8760.hours())).await;
    w.later_hours(6 * 24).await;
    assert_eq!((w.deliver().await, server.mails().await.len()), (1, 1));
    w.mute(None).await;
    w.deliver().await;
    assert_eq!((w.events().await.len(), server.mails().await.len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_renewed_during_a_mute_is_no_reminder_afterwards() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20T13:58:57Z").await;
    w.mute(Some(w.now() + 240.hours())).await;
    w.scan().await;
    w.deliver().await;
    w.expires("2027-12-20T13:58:57Z").await;
    w.later_hours(7).await;
    w.deliver().await;
    assert_eq!(w.events().await.len(), 2, "the reminder and the renewal");
    w.later_hours(234).await;
    w.deliver().await;
    assert!(server.mails().await.is_empty(), "the rule is about warnings");
    let reasons: Vec<_> = w
        .messages()
        .await
        .into_iter()
        .map(|m| match m.state {
            DeliveryState::Skipped { reason, .. } => reason,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reasons, [NO_RULE, "It no longer held when messages were sent again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_of_many_domains_is_one_mail() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.rule(Rule { delivery: Delivery::Daily { hour: 7 }, at_least: Severity::Notice, ..Rule::default() })
        .await;
    w.scan_others(100).await;
    assert_eq!(w.deliver().await, 100, "routed");
    w.seconds(24 * 3600);
    assert_eq!(w.deliver().await, 100, "sent");
    let mails = server.mails().await;
    assert_eq!(mails.len(), 1, "more rows than one look takes are one mail all the same");
    let subject = mails[0]["headers"]["subject"].as_str().unwrap();
    assert_eq!(subject, "[Warning] 100 domains: 100 events");
    assert_eq!(w.messages().await.len(), 100);
}

/// Part of a digest is acknowledged between two attempts, and the domain of another part muted: the receiver sees one id.
#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_of_a_digest_has_the_same_id() {
    let busy = Server::start("cut").await;
    let w = World::new(&busy.url("?tls=none"), "2026-12-20").await;
    w.rule(Rule { delivery: Delivery::Daily { hour: 7 }, at_least: Severity::Notice, ..Rule::default() })
        .await;
    w.scan().await;
    w.scan_others(3).await;
    assert_eq!(w.deliver().await, 4, "routed");
    w.seconds(24 * 3600);
    // Taken by the server, which ends before it says so.
    assert_eq!(w.deliver().await, 4);
    let events = w.events().await;
    w.acknowledge_one(events[0].id).await;
    let mute = ItemPatch { muted_until: Some(Some(w.now() + 240.hours())), ..ItemPatch::default() };
    w.store.patch(crate::world::ORG, &DomainName::trusted("d1.example"), &mute, w.now()).await.unwrap();
    let server = Server::start("accept").await;
    w.server(&server.url("?tls=none"));
    w.seconds(60);
    assert_eq!(w.deliver().await, 4);
    let id = |mails: &[serde_json::Value]| mails[0]["headers"]["message-id"].as_str().unwrap().to_string();
    let (first, second) = (busy.mails().await, server.mails().await);
    assert_eq!((first.len(), second.len(), id(&first)), (1, 1, id(&second)));
    assert_eq!(
        second[0]["headers"]["subject"], "[Warning] 3 domains: 3 events",
        "without what was acknowledged"
    );
    assert_eq!(w.store.outbox_stats().await.unwrap(), store::OutboxStats::default());
}
