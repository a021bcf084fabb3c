//! Channels and rules: whose they are, what the audit log says of their changes, and that secrets are encrypted.

use crate::outbox::{lease, planned, record, routing};
use crate::world::{ONE, Place, TWO, add, later, now};
use model::account::{Actor, AuditQuery};
use model::maintenance::{Maintenance, Scope};
use model::notify::{Channel, DeliveryState, Rule, Target};
use store::{Failure, LOG, SecretKey};

pub async fn channels_and_rules_belong_to_one_organisation(place: &Place) {
    let s = place.open().await;
    let channel = |id: &str, name: &str| Channel {
        id: id.into(),
        name: name.into(),
        target: Target::Slack { url: "https://hooks.example/a".into() },
        created_at: now(),
    };
    for c in [channel("b", "beta"), channel("a", "Alpha"), channel("b", "Zeta")] {
        s.save_channel(ONE, &c, now()).await.unwrap();
    }
    let names: Vec<_> = s.channels(ONE).await.unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["Alpha", "Zeta"]);
    assert!(
        s.channels(TWO).await.unwrap().is_empty()
            && !s.delete_channel(&Actor::system(), TWO, "a", now()).await.unwrap()
    );
    let rule = Rule { id: "r".into(), name: "R".into(), channels: vec!["a".into()], ..Rule::default() };
    s.save_rule(ONE, &rule, now()).await.unwrap();
    assert_eq!(s.rules(ONE).await.unwrap(), [rule]);
    // What waits for a channel is closed with it, and says so.
    add(&*s, ONE, &["a.example"]).await;
    record(&*s, "a.example", &["one"]).await;
    let n = lease(&*s, now()).await.remove(0);
    s.route_notification(&n, &routing(&[planned(&n, "a", now())]), now()).await.unwrap();
    record(&*s, "a.example", &["two"]).await;
    let second = lease(&*s, now()).await.into_iter().find(|m| m.channel == LOG).unwrap();
    s.route_notification(&second, &routing(&[planned(&second, "a", now())]), now()).await.unwrap();
    for message in lease(&*s, now()).await.iter().filter(|m| m.id == second.id) {
        s.notification_failed(std::slice::from_ref(message), &Failure::permanent("404"), now())
            .await
            .unwrap();
    }
    assert_eq!(s.failed_notifications(Some(ONE), 9).await.unwrap().len(), 1);
    for id in ["a", "b"] {
        s.set_setting(ONE, &format!("channel-test/{id}"), "{}", now()).await.unwrap();
    }
    assert!(s.delete_channel(&Actor::system(), ONE, "a", now()).await.unwrap());
    assert_eq!(s.setting(ONE, "channel-test/a").await.unwrap(), None, "the result of its test goes, too");
    assert!(s.setting(ONE, "channel-test/b").await.unwrap().is_some());
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
    assert!(lease(&*s, later(9999)).await.is_empty());
    for m in s.message_statuses(ONE, &[n.id, second.id]).await.unwrap() {
        let reason = "The channel was removed".to_string();
        assert_eq!(m.state, DeliveryState::Skipped { at: now(), reason });
    }
    assert!(
        s.delete_rule(&Actor::system(), ONE, "r", now()).await.unwrap()
            && s.rules(ONE).await.unwrap().is_empty()
    );
}

pub async fn changes_of_notification_settings_are_audited(place: &Place) {
    let s = place.open().await;
    let by = Actor { who: "ana@alder.example".into(), ..Actor::system() };
    let target = Target::Slack { url: "https://hooks.slack.com/services/T/B/secret".into() };
    let channel = Channel { id: "c".into(), name: "Ops".into(), target, created_at: now() };
    s.save_channel_by(&by, ONE, &channel, now()).await.unwrap();
    // What changes nothing is no entry.
    s.save_channel_by(&by, ONE, &channel, now()).await.unwrap();
    let renamed = Channel { name: "Night".into(), ..channel };
    s.save_channel_by(&by, ONE, &renamed, now()).await.unwrap();
    let rule = Rule { id: "r".into(), name: "R".into(), channels: vec!["c".into()], ..Rule::default() };
    s.save_rule_by(&by, ONE, &rule, now()).await.unwrap();
    s.save_rule_by(&by, ONE, &Rule { enabled: false, ..rule }, now()).await.unwrap();
    let window = Maintenance {
        id: "w".into(),
        from: now(),
        to: later(3600),
        scope: Scope::Tag { tag: "prod".into() },
        note: "Move".into(),
        by: by.who.clone(),
    };
    s.save_maintenance_by(&by, ONE, &window, now()).await.unwrap();
    assert!(s.delete_maintenance(&by, ONE, "w", now()).await.unwrap());
    assert!(s.delete_rule(&by, ONE, "r", now()).await.unwrap());
    assert!(!s.delete_rule(&by, ONE, "r", now()).await.unwrap());
    assert!(s.delete_channel(&by, ONE, "c", now()).await.unwrap());

    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let mut entries = s.audit_log(ONE, &query).await.unwrap().entries;
    entries.reverse();
    let entries: Vec<_> = entries.into_iter().filter(|e| e.who == by.who).collect();
    let found: Vec<_> = entries.iter().map(|e| format!("{} {}", e.action, e.object)).collect();
    assert_eq!(
        found,
        [
            "channel.save Ops",
            "channel.save Night",
            "rule.save R",
            "rule.save R",
            "maintenance.save Domains tagged prod",
            "maintenance.remove Domains tagged prod",
            "rule.remove R",
            "channel.remove Night",
        ]
    );
    assert_eq!(entries[0].new.as_deref(), Some("Slack: hooks.slack.com/…"));
    let (old, new) = (entries[3].old.as_deref().unwrap(), entries[3].new.as_deref().unwrap());
    assert!(old.starts_with("enabled; ") && new.starts_with("disabled; "), "{old} / {new}");
    assert!(entries[5].old.as_deref().unwrap().ends_with(": Move") && entries[5].new.is_none());
    assert!(found.iter().all(|line| !line.contains("secret")));
}

/// What a database holds, all of it.
async fn octets(place: &Place) -> Vec<u8> {
    match place {
        Place::Sqlite(path) => {
            let mut all = Vec::new();
            for suffix in ["", "-wal", "-shm"] {
                let file = format!("{}{suffix}", path.display());
                all.extend(std::fs::read(file).unwrap_or_default());
            }
            all
        }
        Place::Postgres(_) => {
            let sql = "SELECT json FROM notification_settings";
            crate::saved::texts(place, sql).await.concat().into_bytes()
        }
    }
}

pub async fn secrets_of_channels_are_not_stored_in_clear(place: &Place) {
    let s = place.open().await;
    let target = Target::Telegram { token: "hunter2-hunter2".into(), chat: "-1".into() };
    let channel = Channel { id: "c".into(), name: "Chat".into(), target, created_at: now() };
    s.save_channel(ONE, &channel, now()).await.unwrap();
    let holds = |all: &[u8], word: &str| all.windows(word.len()).any(|w| w == word.as_bytes());
    let all = octets(place).await;
    assert!(!holds(&all, "hunter2") && holds(&all, "v1:"), "encrypted");
    assert_eq!(s.channels(ONE).await.unwrap(), std::slice::from_ref(&channel));
    drop(s);

    // As an earlier version wrote it.
    let plain = serde_json::to_string(&channel).unwrap();
    crate::saved::execute(place, &format!("UPDATE notification_settings SET json = '{plain}'")).await;
    assert!(holds(&octets(place).await, "hunter2"));
    let s = place.open().await;
    assert!(!holds(&octets(place).await, "hunter2"), "converted, and nothing is left in free pages");
    assert_eq!(s.channels(ONE).await.unwrap(), [channel]);
    s.check_channels().await.unwrap();
    drop(s);

    // With another key it is an error that says what to do, and the channels can be given up.
    let other = SecretKey::parse("//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=").unwrap();
    let at = match place {
        Place::Sqlite(path) => format!("sqlite:{}", path.display()),
        Place::Postgres(url) => url.clone(),
    };
    let s = store::open_with(&at, Some(other)).await.unwrap();
    for e in [s.channels(ONE).await.unwrap_err(), s.check_channels().await.unwrap_err()] {
        assert!(e.to_string().contains("DOMAINSCOPE_SECRET_KEY"), "{e}");
    }
    assert_eq!(s.remove_unreadable_channels(&Actor::system(), now()).await.unwrap(), 1);
    s.check_channels().await.unwrap();
    assert!(s.channels(ONE).await.unwrap().is_empty() && s.has_key());
}
