//! What is open is sent again by rules that ask for it, until it is acknowledged or over.

use crate::smtp::Server;
use crate::world::World;
use jiff::ToSpan;
use jiff::civil::Date;
use model::event::EventKind;
use model::notify::{Delivery, DeliveryState, Rule};

fn repeated(hours: u16) -> Rule {
    Rule { repeat_hours: Some(hours), ..Rule::default() }
}

/// Lost its lock, and a mail said so.
async fn alarmed(server: &Server, rule: Rule) -> World {
    let w = World::new(&server.url("?tls=none"), "2028-12-20").await;
    w.rule(rule).await;
    w.scan().await;
    w.lock(false).await;
    w.deliver().await;
    w
}

fn field(mails: &[serde_json::Value], n: usize, name: &str) -> String {
    mails[n]["headers"][name].as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_is_mailed_again_until_it_is_acknowledged() {
    let server = Server::start("accept").await;
    let w = alarmed(&server, repeated(24)).await;
    w.later_hours(23).await;
    assert_eq!((w.deliver().await, server.mails().await.len()), (0, 1));
    w.later_hours(1).await;
    w.deliver().await;
    let mails = server.mails().await;
    assert_eq!(mails.len(), 2);
    assert_ne!(field(&mails, 0, "message-id"), field(&mails, 1, "message-id"));
    assert!(field(&mails, 1, "message-id").contains("repeat"));
    let words = "[Warning] alder.example: still open: Status flag clientTransferProhibited was removed";
    assert_eq!(field(&mails, 1, "subject"), words);
    // Mail programs sort by it.
    let dates: Vec<_> = (0..2).map(|n| field(&mails, n, "date").split_off(5)).collect();
    assert!(
        dates[0].starts_with("20 Nov 2026 ") && dates[1].starts_with("21 Nov 2026 14:15:00"),
        "{dates:?}"
    );
    assert!(
        mails[1]["text"].as_str().unwrap().contains("Open since Nov 20, 2026, 14:"),
        "{}",
        mails[1]["text"]
    );
    w.later_hours(24).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 3);
    w.acknowledge().await;
    w.later_hours(24).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 3);
    assert_eq!(w.status().await, "skipped: Mira Holt acknowledged it before it was sent");
    w.later_hours(200).await;
    assert_eq!(w.deliver().await, 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_muted_or_asked_for_by_no_rule_is_not_mailed_again() {
    let server = Server::start("accept").await;
    let w = alarmed(&server, repeated(24)).await;
    // Muted: not before the end, and then it still is so.
    let end = w.now() + 40.hours();
    w.mute(Some(end)).await;
    for _ in 0..7 {
        w.later_hours(5).await;
        w.deliver().await;
        assert_eq!(server.mails().await.len(), 1);
    }
    w.later_hours(6).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 2, "{}", w.status().await);
    // Over: its end is mailed, and that is all.
    w.lock(true).await;
    w.deliver().await;
    w.later_hours(25).await;
    w.deliver().await;
    let mails = server.mails().await;
    assert_eq!((mails.len(), field(&mails, 2, "subject").starts_with("[Info]")), (3, true));
    let over = |s: &DeliveryState| matches!(s, DeliveryState::Skipped { reason, .. } if reason.contains("it is over"));
    assert!(w.messages().await.iter().any(|m| over(&m.state)));
    // A rule without repeats, and one that is off: what waits is not sent.
    for rule in [Rule::default(), Rule { enabled: false, ..repeated(1) }] {
        let server = Server::start("accept").await;
        let w = alarmed(&server, repeated(1)).await;
        w.rule(rule).await;
        w.later_hours(2).await;
        w.deliver().await;
        assert_eq!(server.mails().await.len(), 1);
        assert_eq!(w.status().await, "skipped: Not sent again: no rule asks for it");
    }
}

/// The process ends after the server took the mail and before it says so: the same mail once more, and one repeat of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_two_repeats_doubles_none() {
    let cut = Server::start("cut").await;
    let w = alarmed(&cut, repeated(24)).await;
    w.seconds(60);
    w.deliver().await;
    let mails = cut.mails().await;
    assert_eq!((mails.len(), field(&mails, 0, "message-id")), (2, field(&mails, 1, "message-id")));
    let server = Server::start("accept").await;
    w.server(&server.url("?tls=none"));
    for _ in 0..3 {
        w.later_hours(24).await;
        w.deliver().await;
    }
    let mails = server.mails().await;
    let mut ids: Vec<_> = (0..mails.len()).map(|n| field(&mails, n, "message-id")).collect();
    ids.dedup();
    assert_eq!((mails.len(), ids.len()), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_of_a_digest_come_with_a_later_digest() {
    let server = Server::start("accept").await;
    let daily = Rule { delivery: Delivery::Daily { hour: 7 }, ..repeated(24) };
    let w = alarmed(&server, daily).await;
    // A minute after seven.
    w.seconds(16 * 3600 + 46 * 60);
    for n in 1..=3 {
        w.deliver().await;
        assert_eq!(server.mails().await.len(), n, "one each day");
        w.later_hours(24).await;
    }
}

/// One domain of a digest of repeats is muted while the server refuses mail: the rest is retried, and the domain comes when
/// its mute ends, which is earlier than planned.
#[tokio::test(flavor = "multi_thread")]
async fn a_muted_domain_holds_up_no_digest_and_comes_later() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    let daily = Rule { delivery: Delivery::Daily { hour: 7 }, ..repeated(24) };
    w.rule(daily).await;
    w.scan().await;
    w.scan_others(1).await;
    w.deliver().await;
    // A minute after seven.
    w.seconds(16 * 3600 + 56 * 60);
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 1);
    w.mute(Some(w.now() + 240.hours())).await;
    let busy = Server::start("busy").await;
    w.server(&busy.url("?tls=none"));
    w.seconds(24 * 3600);
    w.deliver().await;
    w.server(&server.url("?tls=none"));
    w.seconds(60);
    w.deliver().await;
    let mails = server.mails().await;
    let subject = field(&mails, 1, "subject");
    assert!(mails.len() == 2 && subject.starts_with("[Warning] d0.example: still open"), "{subject}");
    w.mute(None).await;
    w.deliver().await;
    let mails = server.mails().await;
    let subject = field(&mails, 2, "subject");
    assert!(mails.len() == 3 && subject.starts_with("[Warning] alder.example: still open"), "{subject}");
    let mut ids: Vec<_> = (0..3).map(|n| field(&mails, n, "message-id")).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_not_repeated_however_much_happened_since() {
    let server = Server::start("accept").await;
    let w = alarmed(&server, Rule { kinds: vec![EventKind::StatusRemoved], ..repeated(24) }).await;
    w.lock(true).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 2);
    let mut day: Date = "2028-12-20".parse().unwrap();
    for _ in 0..210 {
        day = day.yesterday().unwrap();
        w.expires(&day.to_string()).await;
        w.seconds(60);
        w.scan().await;
    }
    let newest = w.events().await;
    assert!(newest.len() == 200 && newest.iter().all(|e| e.change.kind == EventKind::ExpirationChanged));
    w.later_hours(24).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 2);
}
