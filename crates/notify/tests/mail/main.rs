//! One expiring domain, one mail in a mailbox: scans through a scripted observer, the outbox, and a real SMTP server
//! (aiosmtpd, Postfix), which also refuses, delays, and closes connections. Mails are read back by Python's own parser.

mod held;
mod postfix;
mod recovery;
mod repeat;
mod smtp;
mod world;

use model::event::EventKind;
use model::ids::OrgId;
use model::notify::{Channel, DeliveryState, Rule, Target};
use smtp::{Mailbox, Server};
use world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_expiring_domain_is_one_mail() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20T13:58:57Z").await;
    w.scan().await;
    assert_eq!(w.deliver().await, 2, "routed and sent");
    let mail = server.mails().await.remove(0);
    let header = |name: &str| mail["headers"][name].as_str().unwrap_or_default().to_string();
    assert_eq!(header("subject"), "[Warning] alder.example: Registration ends on Dec 20, 2026");
    assert_eq!(header("x-envelope"), "ops@alder.example tls=False");
    assert_eq!(header("from"), "Domainscope <domains@alder.example>");
    assert_eq!(header("to"), "ops@alder.example");
    assert_eq!(header("auto-submitted"), "auto-generated");
    assert_eq!(
        [header("x-domainscope-cluster"), header("x-domainscope-clusterset")],
        ["alder-main", "alder-fleet"]
    );
    assert!(header("message-id").ends_with("@alder.example>"), "{}", header("message-id"));
    assert!(mail["defects"].as_array().unwrap().is_empty());
    for form in ["text", "html"] {
        let words = mail[form].as_str().unwrap();
        for part in
            ["alder.example", "30 days are left", "Lantern Registrar", "Mails", "15 days before the date"]
        {
            assert!(words.contains(part), "{form} without “{part}”: {words}");
        }
    }
    let links = mail["links"].as_array().unwrap();
    let base = "https://scope.alder.example";
    let rule = format!("{base}/settings/notifications?rule=r#rule");
    let all = ["", "/events?open=1", "#notifications"].map(|p| format!("{base}/domains/alder.example{p}"));
    for link in all.iter().chain([&rule]) {
        assert!(links.iter().any(|l| l == link.as_str()), "no {link} in {links:?}");
        assert!(mail["text"].as_str().unwrap().contains(link.as_str()), "no {link} in the text");
    }
    assert_eq!(header("list-unsubscribe"), format!("<{rule}>"));
    for form in ["text", "html"] {
        let words = mail[form].as_str().unwrap();
        for part in ["to ops@alder.example.", "Acknowledging stops repeats of these events for everyone in"] {
            assert!(words.contains(part), "{form} without “{part}”: {words}");
        }
    }
    assert_eq!(w.status().await, "delivered");

    // The same day again, and the days up to the next threshold: silence.
    for _ in 0..14 {
        w.later_hours(24).await;
        assert_eq!(w.deliver().await, 0);
    }
    w.later_hours(24).await;
    assert_eq!(w.deliver().await, 2);
    assert_eq!(server.mails().await.len(), 2, "15 days");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_threshold_once_and_only_the_most_urgent_after_a_pause() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20T13:58:57Z").await;
    // Off until two days before the end.
    w.later_hours(28 * 24).await;
    let events = w.events().await;
    assert_eq!(events.len(), 1);
    assert!(events[0].change.note.starts_with("2 days are left"), "{}", events[0].change.note);
    w.later_hours(24).await;
    w.later_hours(24).await;
    w.later_hours(24).await;
    let kinds: Vec<_> = w.events().await.iter().map(|e| e.change.kind).collect();
    assert_eq!(kinds, [EventKind::ExpiresSoon, EventKind::ExpiresSoon, EventKind::Expired]);
    // Renewed: announced; the new date begins from the first threshold.
    w.expires("2027-12-20T13:58:57Z").await;
    w.later_hours(7).await;
    assert_eq!(w.events().await.last().unwrap().change.kind, EventKind::Renewed);
    w.later_hours(340 * 24).await;
    assert_eq!(w.events().await.last().unwrap().change.kind, EventKind::ExpiresSoon);
    assert_eq!(w.events().await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_pass_and_servers_that_do_not() {
    // Greylisting: the second attempt is taken.
    let server = Server::start("greylist").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(w.status().await.starts_with("waiting: 127.0.0.1") && w.status().await.contains("450"));
    assert_eq!(w.deliver().await, 0, "not at once");
    w.seconds(60);
    assert_eq!(w.deliver().await, 1);
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 1));

    // A refusal is final and visible; a person sends again once it is mended.
    for (behaviour, code) in [("reject", "550"), ("unknown", "550")] {
        let server = Server::start(behaviour).await;
        let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
        w.scan().await;
        w.deliver().await;
        let status = w.status().await;
        assert!(status.starts_with("failed:") && status.contains(code), "{behaviour}: {status}");
        let failed = w.store.failed_notifications(Some(world::ORG), 9).await.unwrap();
        assert_eq!((failed.len(), failed[0].attempts), (1, 1));
        w.seconds(86_400);
        assert_eq!(w.deliver().await, 0);
        let mended = Server::start("accept").await;
        w.server(&mended.url("?tls=none"));
        let which = Some((failed[0].id, failed[0].channel.clone()));
        assert_eq!(w.store.retry_notifications(Some(world::ORG), which, w.now()).await.unwrap(), 1);
        w.deliver().await;
        assert_eq!((w.status().await.as_str(), mended.mails().await.len()), ("delivered", 1));
    }

    // A busy server is asked again until the attempts are used up.
    let server = Server::start("busy").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    for _ in 0..store::DELIVERY.max_attempts {
        assert!(w.deliver().await >= 1);
        w.seconds(12 * 3600);
    }
    assert!(w.status().await.starts_with("failed:") && w.status().await.contains("451"));
    assert_eq!(w.deliver().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_after_data_resends_the_same_message() {
    let server = Server::start("cut").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(w.status().await.starts_with("waiting:"), "{}", w.status().await);
    w.seconds(60);
    w.deliver().await;
    let mails = server.mails().await;
    assert_eq!(mails.len(), 2, "the server took both");
    assert_eq!(mails[0]["headers"]["message-id"], mails[1]["headers"]["message-id"]);
    assert_eq!(w.status().await, "delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_early_is_tried_again() {
    let ca = Mailbox::authority();
    for (behaviour, words) in [
        // Inside the message: nothing was taken.
        ("cut-data", "closed the connection"),
        ("full", "421"),
        ("no-tls", "454"),
    ] {
        let server = Server::start_tls(behaviour, &ca).await;
        let w = World::with_ca(&server.url_of("localhost", ""), "2026-12-20", Some(ca.pem())).await;
        w.scan().await;
        w.deliver().await;
        let status = w.status().await;
        assert!(status.starts_with("waiting:") && status.contains(words), "{behaviour}: {status}");
        assert!(server.mails().await.is_empty(), "{behaviour}: nothing was sent, in the clear least of all");
        w.seconds(60);
        assert_eq!(w.deliver().await, 1);
        assert_eq!(w.status().await, "delivered", "{behaviour}");
        let mails = server.mails().await;
        assert_eq!(mails.len(), 1, "{behaviour}");
        assert_eq!(mails[0]["headers"]["x-envelope"], "ops@alder.example tls=True");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_encrypted_or_not_sent() {
    let ca = Mailbox::authority();
    let server = Server::start_tls("accept", &ca).await;
    let w = World::with_ca(&server.url_of("localhost", ""), "2026-12-20", Some(ca.pem())).await;
    w.scan().await;
    w.deliver().await;
    assert_eq!(w.status().await, "delivered");
    assert_eq!(server.mails().await[0]["headers"]["x-envelope"], "ops@alder.example tls=True");

    // An unknown authority, and a server without STARTTLS: nothing is sent in the clear.
    let w = World::new(&server.url_of("localhost", ""), "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(
        w.status().await.starts_with("waiting:") && w.status().await.contains("TLS"),
        "{}",
        w.status().await
    );
    let plain = Server::start("accept").await;
    let w = World::new(&plain.url_of("localhost", ""), "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(w.status().await.contains("STARTTLS"), "{}", w.status().await);
    assert!(plain.mails().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_while_it_delivers_delivers_again_under_the_same_id() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    // Routed, then leased by a process that dies.
    w.route().await;
    let lost = w.store.lease_notifications(9, w.now()).await.unwrap();
    assert_eq!(lost.len(), 1);
    assert_eq!(w.deliver().await, 0, "the lease holds");
    w.seconds(120);
    assert_eq!(w.deliver().await, 1);
    let id = server.mails().await[0]["headers"]["message-id"].as_str().unwrap().to_string();
    assert_eq!(id, format!("<{}@alder.example>", lost[0].dedupe_key()));
    // The dead one comes back to life: it has lost the message.
    let late = store::Failure::temporary("late");
    assert_eq!(
        w.store.notification_failed(std::slice::from_ref(&lost[0]), &late, w.now()).await.unwrap(),
        store::Retry::LeaseLost
    );
    assert_eq!(w.status().await, "delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_about_an_account_says_which_installation_sends_it() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    let deliverer = w.deliverer();
    deliverer.mail("mira@alder.example", "Set a new password", "text").await.unwrap();
    // Renamed, and out of its set.
    deliverer.clone().set_cluster(notify::Cluster { id: "alder-west".into(), set: String::new() });
    deliverer.mail("mira@alder.example", "Set a new password", "text").await.unwrap();
    let mails = server.mails().await;
    let header = |n: usize, name: &str| mails[n]["headers"][name].as_str().map(str::to_owned);
    assert_eq!(header(0, "x-domainscope-cluster").as_deref(), Some("alder-main"));
    assert_eq!(header(0, "x-domainscope-clusterset").as_deref(), Some("alder-fleet"));
    assert_eq!(header(1, "x-domainscope-cluster").as_deref(), Some("alder-west"));
    assert_eq!(header(1, "x-domainscope-clusterset"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_know_the_state_of_features_gives_no_message_up() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    w.route().await;
    let spec = features::spec("alerts-email").unwrap();
    let mut feature = features::Feature::new(spec, "0.1.0", w.now());
    // It has not read the state for some time.
    w.gates.outdate();
    for _ in 0..2 * store::DELIVERY.max_attempts {
        assert_eq!(w.deliver().await, 1);
        let waits = store::OutboxStats { waiting: 1, failed: 0 };
        assert_eq!(w.store.outbox_stats().await.unwrap(), waits);
        w.seconds(20);
    }
    assert!(server.mails().await.is_empty());
    w.gates.open(&[feature.clone()]);
    w.deliver().await;
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 1));
    // Off for sure: given up, with the reason.
    (feature.state, feature.desired) = (features::State::Off, Some(false));
    w.gates.close(&[feature.clone()]);
    w.gates.open(&[feature]);
    w.expires("2026-11-21").await;
    w.scan().await;
    w.deliver().await;
    assert_eq!(w.status().await, "failed: The feature alerts-email is turned off on this server");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_recipient_does_not_keep_a_mail_from_the_others() {
    let server = Server::start("some").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.recipients(&["gone@alder.example", "ops@alder.example", "ops-night@alder.example"]).await;
    w.scan().await;
    w.deliver().await;
    let took = || async {
        let header = |m: &serde_json::Value| m["headers"]["x-envelope"].as_str().unwrap().to_string();
        server.mails().await.iter().map(header).collect::<Vec<_>>()
    };
    assert_eq!(took().await, ["ops@alder.example tls=False", "ops-night@alder.example tls=False"]);
    let status = w.status().await;
    assert!(status.starts_with("failed: 2 of 3 recipients have it; gone@alder.example:"), "{status}");
    assert!(status.contains("550"), "{status}");
    // The header names all of them; sent again, it goes only to the one that has not got it.
    let to = server.mails().await[0]["headers"]["to"].as_str().unwrap().to_string();
    assert!(to.contains("gone@alder.example") && to.contains("ops-night@alder.example"), "{to}");
    let mended = Server::start("accept").await;
    w.server(&mended.url("?tls=none"));
    w.store.retry_notifications(Some(world::ORG), None, w.now()).await.unwrap();
    w.deliver().await;
    assert_eq!(w.status().await, "delivered");
    let mails = mended.mails().await;
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0]["headers"]["x-envelope"], "gone@alder.example tls=False");
    assert_eq!(mails[0]["headers"]["message-id"], server.mails().await[0]["headers"]["message-id"]);

    // Greylisting delays one recipient only once.
    let server = Server::start("greylist").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    w.recipients(&["ops@alder.example", "night@alder.example"]).await;
    w.scan().await;
    w.deliver().await;
    w.seconds(60);
    w.deliver().await;
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 2));
}

/// The channels of one organisation were encrypted with another key: its messages fail with the reason, others are sent.
#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_read_stop_no_other_organisation() {
    let server = Server::start("accept").await;
    let w = World::new(&server.url("?tls=none"), "2026-12-20").await;
    let other = OrgId(2);
    w.add_to(other).await;
    let key = store::SecretKey::parse("//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=").unwrap();
    let replica = store::open_with(&w.place(), Some(key)).await.unwrap();
    let target = Target::Email { to: vec!["ops@other.example".into()] };
    let channel = Channel { id: "theirs".into(), name: "Theirs".into(), target, created_at: w.now() };
    replica.save_channel(other, &channel, w.now()).await.unwrap();
    let rule = Rule { id: "o".into(), channels: vec!["theirs".into()], ..Rule::default() };
    replica.save_rule(other, &rule, w.now()).await.unwrap();
    w.scan().await;
    for _ in 0..store::DELIVERY.max_attempts {
        w.deliver().await;
        w.seconds(12 * 3600);
    }
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 1));
    let failed = w.store.failed_notifications(None, 9).await.unwrap();
    assert_eq!((failed.len(), failed[0].org), (1, other));
    assert!(failed[0].reason.contains("another key"), "{}", failed[0].reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_event_is_not_sent_again() {
    // Acknowledged while a busy server lets it wait: not sent when the server is back.
    let busy = Server::start("busy").await;
    let w = World::new(&busy.url("?tls=none"), "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(w.status().await.starts_with("waiting:"));
    w.acknowledge().await;
    let server = Server::start("accept").await;
    w.server(&server.url("?tls=none"));
    w.seconds(60);
    w.deliver().await;
    assert_eq!(w.status().await, "skipped: Mira Holt acknowledged it before it was sent");
    // The reminder at 15 days is a repetition: recorded, not sent. At 7 days it is critical, and is sent.
    w.later_hours(15 * 24).await;
    w.deliver().await;
    let newest = w.messages().await.remove(0);
    let DeliveryState::Skipped { reason, .. } = newest.state else { panic!("{newest:?}") };
    assert_eq!(reason, "Mira Holt acknowledged an earlier reminder of this date");
    assert_eq!((w.events().await.len(), server.mails().await.len()), (2, 0));
    w.later_hours(8 * 24).await;
    w.deliver().await;
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 1));
    // Renewed: the reminders of the next date are sent again.
    w.expires("2027-12-20").await;
    w.later_hours(1).await;
    w.acknowledge().await;
    w.later_hours(345 * 24).await;
    w.deliver().await;
    assert_eq!((w.status().await.as_str(), server.mails().await.len()), ("delivered", 2));
}
