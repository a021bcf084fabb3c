//! Notification settings of the sample: five channels in every state, two rules, a failed message.

use super::backend::Sample;
use super::now;
use async_trait::async_trait;
use jiff::ToSpan;
use model::event::{EventCounts, EventGroup, EventKind, Severity};
use model::feed::{Feed, FeedKind};
use model::ids::{Caller, EventId};
use model::maintenance::{Maintenance, Scope};
use model::notify::{
    DeliveryState, MessageStatus, NotSent, PreviewMessage, Quiet, Rule, RulePreview, TestResult, Unsent,
};
use service::{
    AlertBackend, ApiResult, ChannelDraft, ChannelView, DeliveryView, FailedView, Health, MaintenanceDraft,
    NewFeed, NotificationSettings, RuleView,
};

fn channel(
    id: &str,
    name: &str,
    (kind, label, address): (&str, &str, &str),
    state: DeliveryState,
) -> ChannelView {
    let last = MessageStatus {
        id: EventId(3),
        channel: id.into(),
        domain: "alder.example".into(),
        events: vec![EventId(3)],
        at: now(),
        state,
    };
    ChannelView {
        id: id.into(),
        name: name.into(),
        kind: kind.into(),
        label: label.into(),
        address: address.into(),
        signing_secret: (kind == "webhook").then(|| "whsec_c2FtcGxl".into()),
        failing_since: last.state.is_failed().then(|| "2026-11-20T09:12:00Z".parse().unwrap()),
        last: Some(last),
        tested: None,
        rules: 1,
        created_at: now(),
    }
}

pub fn preview() -> RulePreview {
    let message = |words: &str, severity, held_from| PreviewMessage {
        at: now(),
        words: words.into(),
        severity,
        held_from,
    };
    let newest = vec![
        message("alder.example: 2 changes", Severity::Warning, None),
        message("q7.io: expires in 15 days", Severity::Notice, Some("2026-11-20T00:20:00Z".parse().unwrap())),
    ];
    let not_sent = vec![
        NotSent { why: Unsent::Kind(EventKind::RecordChanged), count: 7 },
        NotSent { why: Unsent::OtherDomain, count: 4 },
        NotSent { why: Unsent::Severity, count: 1 },
    ];
    let domains = Some(34);
    RulePreview { messages: 3, events: 4, of: 12, newest, not_sent, domains, partial: false }
}

pub fn deliveries() -> Vec<DeliveryView> {
    let sent =
        |channel: &str, id, state| DeliveryView { channel: channel.into(), events: vec![EventId(id)], state };
    vec![
        sent("Operations mailbox", 3, DeliveryState::Delivered { at: now(), answer: "250 OK".into() }),
        sent(
            "Microsoft Teams",
            2,
            DeliveryState::Failed { at: now(), error: "404 Not Found".into(), attempts: 1 },
        ),
        sent("", 1, DeliveryState::Skipped { at: now(), reason: "No rule sends it".into() }),
        sent(
            "",
            2,
            DeliveryState::Waiting {
                due_at: now().checked_add(24.hours()).unwrap(),
                attempts: 0,
                error: Some("Muted".into()),
            },
        ),
    ]
}

fn window() -> Maintenance {
    let hour = |n: i64| now().checked_add(n.hours()).unwrap();
    Maintenance {
        id: "m".into(),
        from: hour(-1),
        to: hour(3),
        scope: Scope::Tag { tag: "prod".into() },
        note: "Move to the new name servers".into(),
        by: "Mira Holt".into(),
    }
}

pub fn settings() -> NotificationSettings {
    let delivered = |answer: &str| DeliveryState::Delivered { at: now(), answer: answer.into() };
    let mut hook = channel(
        "hook",
        "Incident webhook",
        ("webhook", "Webhook", "https://hooks.alder.example/domains"),
        delivered("204 No Content in 182 ms"),
    );
    let words = "204 No Content in 174 ms. Message test-01k9qw".to_string();
    hook.tested = Some(TestResult { delivered: true, words, at: now() });
    let mut teams = channel(
        "teams",
        "Microsoft Teams",
        ("teams", "Microsoft Teams", "alder.webhook.office.example/…"),
        DeliveryState::Failed { at: now(), error: "404 Not Found".into(), attempts: 1 },
    );
    let words = "404 Not Found. The address does not exist any more; create a new one there and replace it.";
    teams.tested = Some(TestResult { delivered: false, words: words.into(), at: now() });
    let waiting = DeliveryState::Waiting {
        due_at: now().checked_add(4.minutes()).unwrap(),
        attempts: 4,
        error: Some("no answer in 10 s".into()),
    };
    let rule = |id: &str, name: &str, quiet| Rule {
        id: id.into(),
        name: name.into(),
        channels: vec!["mail".into(), "hook".into()],
        quiet,
        ..Rule::default()
    };
    let view = |rule| RuleView { rule, preview: preview() };
    NotificationSettings {
        channels: vec![
            channel(
                "mail",
                "Operations mailbox",
                ("email", "E-mail", "ops@alder.example"),
                delivered("250 OK by mx1.alder.example:587"),
            ),
            hook,
            teams,
            channel("ntfy", "On call", ("ntfy", "ntfy", "https://ntfy.alder.example/on-call"), waiting),
        ],
        rules: vec![
            view(rule("critical", "Anything critical", None)),
            view(Rule {
                muted_until: Some("2026-11-24T00:00:00Z".parse().unwrap()),
                ..rule("muted", "Registrar changes", None)
            }),
            view(rule("prod", "Production", Some(Quiet { from: 22 * 60, to: 7 * 60 }))),
        ],
        failed: vec![
            FailedView {
                id: EventId(2),
                channel: "teams".into(),
                channel_name: "Microsoft Teams".into(),
                domain: "tidewater.example".into(),
                domains: 3,
                failed_at: now(),
                reason: "404 Not Found. The address does not exist any more.".into(),
                attempts: 1,
                is_unrouted: false,
            },
            FailedView {
                id: EventId(3),
                channel: "log".into(),
                channel_name: String::new(),
                domain: "cinder.example".into(),
                domains: 1,
                failed_at: now(),
                reason: "The events can't be read: stored JSON".into(),
                attempts: 12,
                is_unrouted: true,
            },
        ],
        failed_total: 1234,
        lately: EventCounts(vec![EventGroup {
            kind: EventKind::RecordChanged,
            severity: Severity::Warning,
            open: true,
            count: 7,
        }]),
        attempts_max: 12,
        may_resend: true,
        maintenance: vec![window()],
        may_maintain: true,
        mail: true,
        may_change: true,
        now: now(),
    }
}

#[async_trait]
impl AlertBackend for Sample {
    async fn notifications(&self, _: &Caller) -> ApiResult<NotificationSettings> {
        self.up()?;
        Ok(settings())
    }

    async fn save_channel(&self, _: &Caller, draft: &ChannelDraft) -> ApiResult<ChannelView> {
        self.note(format!("save_channel {} {} {}", draft.kind, draft.name, draft.to));
        Ok(settings().channels.remove(0))
    }

    async fn remove_channel(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("remove_channel {id}"));
        Ok(())
    }

    async fn test_channel(&self, _: &Caller, id: &str) -> ApiResult<TestResult> {
        self.note(format!("test_channel {id}"));
        Ok(TestResult { delivered: true, words: "204 No Content in 174 ms".into(), at: now() })
    }

    async fn save_rule(&self, _: &Caller, rule: &Rule) -> ApiResult<Rule> {
        self.note(format!("save_rule {} {:?} {:?}", rule.name, rule.kinds, rule.channels));
        if !rule.critical_at_once {
            self.note(format!("held {:?}", rule.muted_until));
        }
        Ok(rule.clone())
    }

    async fn remove_rule(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("remove_rule {id}"));
        Ok(())
    }

    async fn preview_rule(&self, _: &Caller, _: &Rule) -> ApiResult<RulePreview> {
        Ok(preview())
    }

    async fn resend(&self, _: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64> {
        self.note(format!("resend {which:?}"));
        Ok(1)
    }

    async fn drop_failed(&self, _: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64> {
        self.note(format!("drop_failed {which:?}"));
        Ok(1)
    }

    async fn save_maintenance(&self, _: &Caller, draft: &MaintenanceDraft) -> ApiResult<Maintenance> {
        self.note(format!("save_maintenance {} {} {}", draft.from, draft.to, draft.note));
        Ok(window())
    }

    async fn end_maintenance(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("end_maintenance {id}"));
        Ok(())
    }

    async fn feeds(&self, _: &Caller) -> ApiResult<Vec<Feed>> {
        Ok(vec![Feed {
            id: "f".into(),
            name: "Team calendar".into(),
            kind: FeedKind::Calendar,
            created_by: "Mira Holt".into(),
            created_at: now(),
            used_at: Some(now()),
        }])
    }

    async fn create_feed(&self, caller: &Caller, name: &str, kind: FeedKind) -> ApiResult<NewFeed> {
        self.note(format!("create_feed {name} {}", kind.as_str()));
        let feed = self.feeds(caller).await?.remove(0);
        Ok(NewFeed { feed, path: "/feeds/dsf_sample.ics".into() })
    }

    async fn revoke_feed(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("revoke_feed {id}"));
        Ok(())
    }

    async fn health(&self, _: &Caller) -> ApiResult<Health> {
        Ok(self.health.clone())
    }

    async fn deliveries(&self, _: &Caller, _: &[EventId]) -> ApiResult<Vec<DeliveryView>> {
        Ok(deliveries())
    }
}
