//! Channels and maintenance as a caller meets them: what is refused, what is shown, and to whom.

use crate::services;
use model::Timestamp;
use model::ids::{Caller, OrgId, Role};
use model::notify::Rule;
use service::{AlertBackend, ChannelDraft, ErrorKind, MaintenanceDraft};

#[tokio::test]
async fn a_channel_is_described_without_its_secrets_and_wrong_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let admin = Caller::new(OrgId::BUILT_IN, "Ann", Role::Admin);
    let draft = |kind: &str, url: &str| ChannelDraft {
        name: format!("A {kind}"),
        kind: kind.into(),
        url: url.into(),
        with_rule: true,
        ..ChannelDraft::default()
    };
    let slack =
        s.save_channel(&admin, &draft("slack", "https://hooks.slack.com/services/T/B/secret")).await.unwrap();
    assert_eq!((slack.address.as_str(), slack.rules), ("hooks.slack.com/…", 1));
    let hook = s.save_channel(&admin, &draft("webhook", "https://hooks.example/in?key=1")).await.unwrap();
    assert_eq!(hook.address, "https://hooks.example/in");
    let secret = hook.signing_secret.unwrap();
    assert!(secret.starts_with("whsec_"));
    // A change without a new address keeps the old one, and the secret.
    let renamed = ChannelDraft { id: hook.id.clone(), name: "Incidents".into(), ..draft("webhook", "") };
    let renamed = s.save_channel(&admin, &renamed).await.unwrap();
    assert_eq!((renamed.name.as_str(), renamed.signing_secret), ("Incidents", Some(secret)));
    // Others than admins never see it.
    let viewer = Caller::new(OrgId::BUILT_IN, "Vic", Role::Viewer);
    let seen = s.notifications(&viewer).await.unwrap();
    assert!(seen.channels.iter().all(|c| c.signing_secret.is_none()) && !seen.may_change);
    for (kind, url, word) in [
        ("email", "", "SMTP"),
        ("slack", "ftp://x.example/", "https://"),
        ("ntfy", "https://ntfy.example/", "topic"),
        ("pigeon", "", "no kind of channel"),
        ("pagerduty", "", "integration key"),
    ] {
        let to = "ops@alder.example".to_string();
        let e = s.save_channel(&admin, &ChannelDraft { to, ..draft(kind, url) }).await.unwrap_err();
        assert!(e.detail.contains(word), "{kind}: {e}");
    }
    // A target inside is refused when it is dialled, and the answer says so.
    let inside = s.save_channel(&admin, &draft("webhook", "http://127.0.0.1:9/")).await.unwrap();
    let tested = s.test_channel(&admin, &inside.id).await.unwrap();
    assert!(!tested.delivered && tested.words.contains("127.0.0.1"), "{}", tested.words);
    // A removed channel leaves its rules without it.
    s.remove_channel(&admin, &slack.id).await.unwrap();
    let after = s.notifications(&admin).await.unwrap();
    assert_eq!((after.channels.len(), after.rules.iter().filter(|r| !r.rule.enabled).count()), (2, 1));
    let wrong = Rule { name: "X".into(), channels: vec!["none".into()], ..Rule::default() };
    assert!(s.save_rule(&admin, &wrong).await.unwrap_err().detail.contains("channel"));
    let channels = vec![inside.id.clone()];
    let repeated =
        |hours| Rule { name: "X".into(), channels: channels.clone(), repeat_hours: hours, ..Rule::default() };
    for hours in [0, 169] {
        let e = s.save_rule(&admin, &repeated(Some(hours))).await.unwrap_err();
        assert!(e.detail.contains("1 to 168 hours"), "{e}");
    }
    assert_eq!(s.save_rule(&admin, &repeated(Some(24))).await.unwrap().repeat_hours, Some(24));
}

#[tokio::test]
async fn maintenance_is_checked_shown_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Ann", Role::Member);
    let hour = |n: i64| (Timestamp::now() + jiff::SignedDuration::from_hours(n)).to_string();
    let draft = |from: String, to: String, tag: &str, domain: &str, note: &str| MaintenanceDraft {
        from,
        to,
        tag: tag.into(),
        domain: domain.into(),
        note: note.into(),
    };
    for (wrong, word) in [
        (draft("now".into(), hour(1), "", "", "x"), "Beginning: “now”"),
        (draft(hour(1), hour(0), "", "", "x"), "ends after it begins"),
        (draft(hour(-3), hour(-2), "", "", "x"), "in the future"),
        (draft(hour(0), hour(24 * 32), "", "", "x"), "at most 31 days"),
        (draft(hour(0), hour(1), "", "", " "), "what is done"),
        (draft(hour(0), hour(1), "prod", "a.example", "x"), "not both"),
        (draft(hour(0), hour(1), "", "a..b", "x"), "a..b"),
    ] {
        let e = s.save_maintenance(&member, &wrong).await.unwrap_err();
        assert!(e.kind == ErrorKind::Invalid && e.detail.contains(word), "{word}: {e}");
    }
    let utc = draft("2126-11-22T20:00".into(), "2126-11-22T21:00".into(), "", "alder.example", "Later");
    let later = s.save_maintenance(&member, &utc).await.unwrap();
    assert_eq!(later.from.to_string(), "2126-11-22T20:00:00Z");
    let active = s.save_maintenance(&member, &draft(hour(-1), hour(1), "prod", "", "Move")).await.unwrap();
    let shown = s.notifications(&member).await.unwrap();
    assert_eq!((shown.maintenance.len(), shown.may_maintain, shown.may_change), (2, true, false));
    // One that lasts ends now and stays in the list; one that has not begun goes.
    s.end_maintenance(&member, &active.id).await.unwrap();
    s.end_maintenance(&member, &later.id).await.unwrap();
    let left = s.notifications(&member).await.unwrap().maintenance;
    assert_eq!(left.len(), 1);
    assert!(left[0].to <= Timestamp::now() && left[0].by == "Ann");
    let other = Caller::new(OrgId(2), "Bob", Role::Owner);
    assert_eq!(s.end_maintenance(&other, &active.id).await.unwrap_err().kind, ErrorKind::NotFound);
}
