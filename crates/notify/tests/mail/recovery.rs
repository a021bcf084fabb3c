//! Who got the alarm gets its end, and what was over before a digest was sent is not in it.

use crate::smtp::Server;
use crate::world::World;
use jiff::ToSpan;
use model::event::{EventKind, Severity};
use model::notify::{Delivery, DeliveryState, Quiet, Rule};

fn subjects(mails: &[serde_json::Value]) -> Vec<String> {
    mails.iter().map(|m| m["headers"]["subject"].as_str().unwrap().to_string()).collect()
}

const LOST: &str = "[Warning] alder.example: Status flag clientTransferProhibited was removed";
const BACK: &str = "[Info] alder.example: Status flag clientTransferProhibited was set";

async fn world(server: &Server) -> World {
    let w = World::new(&server.url("?tls=none"), "2028-12-20").await;
    w.scan().await;
    assert_eq!(w.deliver().await, 0, "nothing to say of the first look");
    w
}

/// Why messages were not sent, newest first.
async fn reasons(w: &World) -> Vec<String> {
    let skipped = |s| if let DeliveryState::Skipped { reason, .. } = s { Some(reason) } else { None };
    w.messages().await.into_iter().filter_map(|m| skipped(m.state)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_what_was_mailed_is_mailed_too() {
    let server = Server::start("accept").await;
    let w = world(&server).await;
    w.lock(false).await;
    w.deliver().await;
    w.lock(true).await;
    w.deliver().await;
    assert_eq!(w.events().await[1].change.severity, Severity::Info, "less than the rule asks for");
    assert_eq!(subjects(&server.mails().await), [LOST, BACK]);
    assert!(reasons(&w).await.is_empty());
    // The same again, while nothing was routed: both go out, the return once it has lasted a day.
    w.later_hours(48).await;
    w.lock(false).await;
    w.lock(true).await;
    w.later_hours(25).await;
    w.deliver().await;
    let all = subjects(&server.mails().await);
    assert_eq!(all.len(), 4, "{all:?}");
    // A renewal after its reminder, which nobody would hear of by its severity.
    w.expires("2026-12-10").await;
    w.later_hours(1).await;
    w.later_hours(1).await;
    w.deliver().await;
    let before = server.mails().await.len();
    w.expires("2027-12-10").await;
    w.later_hours(1).await;
    w.deliver().await;
    let all = subjects(&server.mails().await);
    assert_eq!(w.events().await.last().unwrap().change.kind, EventKind::Renewed);
    assert_eq!(all[before..], ["[Info] alder.example: Renewed until Dec 10, 2027"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_in_quiet_hours_is_not_mailed_at_their_end() {
    let server = Server::start("accept").await;
    let w = world(&server).await;
    // All day but for the last hour.
    w.rule(Rule { quiet: Some(Quiet { from: 0, to: 23 * 60 }), ..Rule::default() }).await;
    w.lock(false).await;
    w.deliver().await;
    w.lock(true).await;
    w.deliver().await;
    w.seconds(12 * 3600);
    w.deliver().await;
    assert!(server.mails().await.is_empty());
    let why = reasons(&w).await;
    assert_eq!(why.len(), 2, "neither the beginning nor the end: {why:?}");
    assert!(why.iter().all(|r| r.starts_with("Resolved on Nov 20, 2026, 14:")), "{why:?}");
    assert_eq!(w.store.outbox_stats().await.unwrap(), store::OutboxStats::default());
    w.later_hours(48).await;
    // What was mailed before they began is ended in them, and mailed at their end.
    w.rule(Rule::default()).await;
    w.lock(false).await;
    w.deliver().await;
    assert_eq!(subjects(&server.mails().await), [LOST]);
    w.rule(Rule { quiet: Some(Quiet { from: 0, to: 23 * 60 }), ..Rule::default() }).await;
    w.seconds(3 * 3600);
    w.lock(true).await;
    // It was so before: reported once it has lasted a day.
    w.later_hours(25).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), 1);
    w.seconds(24 * 3600);
    w.deliver().await;
    assert_eq!(subjects(&server.mails().await), [LOST, BACK]);
}

/// Part of a digest ends between two attempts: the receiver sees one id, and what is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_digest_leaves_out_what_ended_between_its_attempts() {
    let cut = Server::start("cut").await;
    let w = World::new(&cut.url("?tls=none"), "2028-12-20").await;
    w.rule(Rule { delivery: Delivery::Daily { hour: 7 }, ..Rule::default() }).await;
    w.scan().await;
    w.lock(false).await;
    w.expires("2026-12-10").await;
    w.scan_others(1).await;
    w.deliver().await;
    w.seconds(24 * 3600);
    w.deliver().await;
    let server = Server::start("accept").await;
    w.server(&server.url("?tls=none"));
    w.expires("2028-12-20").await;
    w.lock(true).await;
    w.deliver().await;
    let (first, second) = (cut.mails().await, server.mails().await);
    let id = |mails: &[serde_json::Value]| mails[0]["headers"]["message-id"].as_str().unwrap().to_string();
    assert_eq!((first.len(), second.len(), id(&first)), (1, 1, id(&second)));
    assert!(first[0]["text"].as_str().unwrap().contains("clientTransferProhibited"));
    assert!(!second[0]["text"].as_str().unwrap().contains("clientTransferProhibited"));
    assert!(!reasons(&w).await.is_empty());
}

/// A lock was lost and mailed; during a mute it was set and lost again. That is as it was, so that the alarm goes on: it is
/// repeated, and its end is mailed.
#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_goes_on_when_its_end_was_undone_during_a_mute() {
    let server = Server::start("accept").await;
    let w = world(&server).await;
    w.rule(Rule { repeat_hours: Some(24), ..Rule::default() }).await;
    w.lock(false).await;
    w.deliver().await;
    w.mute(Some(w.now() + 72.hours())).await;
    w.lock(true).await;
    w.deliver().await;
    w.later_hours(30).await;
    w.lock(false).await;
    // What it was before is reported once it has lasted a day.
    w.later_hours(25).await;
    w.deliver().await;
    assert_eq!((w.events().await.len(), server.mails().await.len()), (3, 1));
    w.later_hours(20).await;
    w.deliver().await;
    let again = LOST.replace("alder.example: ", "alder.example: still open: ");
    assert_eq!(subjects(&server.mails().await), [LOST, &again], "{:?}", reasons(&w).await);
    w.lock(true).await;
    w.later_hours(25).await;
    w.deliver().await;
    let all = subjects(&server.mails().await);
    assert_eq!(
        (all.iter().filter(|s| *s == BACK).count(), all.last().unwrap().as_str()),
        (1, BACK),
        "{all:?}"
    );
    w.later_hours(48).await;
    w.deliver().await;
    assert_eq!(server.mails().await.len(), all.len(), "nothing is repeated after the end");
}

/// The rule is muted when the lock is set again: the mail about it waits. What is undone by then is not mailed.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_waits_while_its_rule_is_muted() {
    for is_undone in [false, true] {
        let server = Server::start("accept").await;
        let w = world(&server).await;
        w.lock(false).await;
        w.deliver().await;
        w.rule(Rule { muted_until: Some(w.now() + 72.hours()), ..Rule::default() }).await;
        w.lock(true).await;
        w.deliver().await;
        assert_eq!(subjects(&server.mails().await), [LOST]);
        if is_undone {
            w.later_hours(1).await;
            w.lock(false).await;
            w.later_hours(25).await;
            w.deliver().await;
            assert_eq!(w.events().await.len(), 3);
        }
        w.seconds(73 * 3600);
        w.deliver().await;
        match is_undone {
            false => assert_eq!(subjects(&server.mails().await), [LOST, BACK]),
            true => {
                assert_eq!(subjects(&server.mails().await), [LOST]);
                assert!(reasons(&w).await.contains(&"It changed again before it was sent".into()));
            }
        }
    }
}
