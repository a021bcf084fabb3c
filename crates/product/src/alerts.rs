//! Notifications: channels and rules of an organisation, tests, previews, and sending again.

mod draft;
mod maintenance;
mod preview;

use super::{Services, unavailable};
use accounts::random_id;
use async_trait::async_trait;
use draft::target;
use jiff::ToSpan;
use model::Timestamp;
use model::feed::{Feed, FeedKind};
use model::ids::{Caller, EventId, OrgId, Role};
use model::inventory::ListQuery;
use model::item::normal_tag;
use model::maintenance::{Maintenance, WINDOWS_MAX};
use model::notify::{
    CHANNELS_MAX, Channel, Delivery, NAME_MAX, RULES_MAX, Rule, RulePreview, Target, TestResult,
};
use model::repeat::REPEAT_HOURS;
use notify::Message;
use service::policy::{Action, authorize};
use service::{
    AlertBackend, ApiError, ApiResult, ChannelDraft, ChannelView, DeliveryView, FailedView, Health,
    MaintenanceDraft, NewFeed, NotificationSettings, RuleView,
};
use std::collections::HashMap;
use std::time::Duration;
use store::{Audit, DELIVERY, JobKind};

/// Seconds for which the result of a test is shown.
const TEST_SHOWN: i64 = 3600;
/// Checks that are late by more are a warning: a busy registry delays some by a minute or two.
const OVERDUE: Duration = Duration::from_secs(600);
/// Events of a page whose messages are read.
const DELIVERIES: usize = 1000;
/// Messages to a channel about the same events that are shown.
const REPEATS_SHOWN: usize = 3;
/// Failed messages of the settings page.
const FAILED: u32 = 200;

fn one_line(text: &str, what: &str) -> ApiResult<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() || text.chars().count() > NAME_MAX {
        return Err(ApiError::invalid(format!("The name of a {what} has 1 to {NAME_MAX} characters.")));
    }
    Ok(text)
}

fn test_key(id: &str) -> String {
    format!("channel-test/{id}")
}

fn missing(what: &str) -> ApiError {
    ApiError::not_found(format!("This {what} does not exist in this organisation."))
}

impl Services {
    async fn channel(&self, org: OrgId, id: &str) -> ApiResult<Channel> {
        let channels = self.store().channels(org).await.map_err(unavailable)?;
        channels.into_iter().find(|c| c.id == id).ok_or_else(|| missing("channel"))
    }

    /// What the last test of a channel said, unless that is long ago.
    async fn last_test(&self, org: OrgId, id: &str) -> ApiResult<Option<TestResult>> {
        let text = self.store().setting(org, &test_key(id)).await.map_err(unavailable)?;
        let result: Option<TestResult> = text.and_then(|t| serde_json::from_str(&t).ok());
        let now = self.now();
        Ok(result.filter(|r| now.as_second() - r.at.as_second() < TEST_SHOWN))
    }

    async fn channel_view(&self, caller: &Caller, c: &Channel, rules: &[Rule]) -> ApiResult<ChannelView> {
        let last = self.store().last_message(caller.org, &c.id).await.map_err(unavailable)?;
        let is_failing = last.as_ref().is_some_and(|m| m.state.is_failed());
        let failing_since = match is_failing {
            true => self.store().failing_since(caller.org, &c.id).await.map_err(unavailable)?,
            false => None,
        };
        let signing_secret = match &c.target {
            Target::Webhook { secret, .. } if caller.role >= Role::Admin => Some(secret.clone()),
            _ => None,
        };
        Ok(ChannelView {
            id: c.id.clone(),
            name: c.name.clone(),
            kind: c.target.kind().into(),
            label: c.target.label().into(),
            address: c.target.public(),
            signing_secret,
            last,
            failing_since,
            tested: self.last_test(caller.org, &c.id).await?,
            rules: rules.iter().filter(|r| r.channels.contains(&c.id)).count() as u64,
            created_at: c.created_at,
        })
    }

    async fn checked_rule(&self, org: OrgId, rule: &Rule) -> ApiResult<Rule> {
        let channels = self.store().channels(org).await.map_err(unavailable)?;
        let mut rule = Rule { name: one_line(&rule.name, "rule")?, ..rule.clone() };
        rule.channels.retain(|id| channels.iter().any(|c| c.id == *id));
        rule.channels.sort();
        rule.channels.dedup();
        if rule.channels.is_empty() {
            return Err(ApiError::invalid("Choose at least one channel for the rule."));
        }
        rule.kinds.dedup();
        let tag = |t: &String| {
            normal_tag(t)
                .ok_or_else(|| ApiError::invalid(format!("“{t}” is not a tag that a domain can have.")))
        };
        rule.tags = rule.tags.iter().take(50).map(tag).collect::<ApiResult<_>>()?;
        let hour = match rule.delivery {
            Delivery::Daily { hour } | Delivery::Weekly { hour } => hour,
            Delivery::Immediate => 0,
        };
        if !(0..24).contains(&hour)
            || rule.quiet.is_some_and(|q| q.from >= 1440 || q.to >= 1440 || q.from == q.to)
        {
            return Err(ApiError::invalid(
                "Hours are from 00:00 to 23:59, and quiet hours end at another time than they begin.",
            ));
        }
        // A time that is over mutes nothing.
        rule.muted_until = rule.muted_until.filter(|until| *until > self.now());
        if rule.repeat_hours.is_some_and(|h| !REPEAT_HOURS.contains(&h)) {
            let (least, most) = (*REPEAT_HOURS.start(), *REPEAT_HOURS.end());
            return Err(ApiError::invalid(format!("Repeat after {least} to {most} hours, or never.")));
        }
        Ok(rule)
    }
}

#[async_trait]
impl AlertBackend for Services {
    async fn notifications(&self, caller: &Caller) -> ApiResult<NotificationSettings> {
        authorize(caller, Action::Notifications)?;
        let org = caller.org;
        let channels = self.store().channels(org).await.map_err(unavailable)?;
        let rules = self.store().rules(org).await.map_err(unavailable)?;
        let mut views = Vec::with_capacity(channels.len());
        for c in &channels {
            views.push(self.channel_view(caller, c, &rules).await?);
        }
        let lately = self.lately(org).await?;
        let counts = lately.counts();
        let rules = rules.into_iter().map(|rule| RuleView { preview: lately.preview(&rule), rule }).collect();
        let name = |id: &str| channels.iter().find(|c| c.id == id).map(|c| c.name.clone());
        let failed = self.store().failed_notifications(Some(org), FAILED).await.map_err(unavailable)?;
        let failed_total = self.store().count_failed_notifications(org).await.map_err(unavailable)?;
        let failed = failed
            .into_iter()
            .map(|f| FailedView {
                id: f.id,
                is_unrouted: f.channel == store::LOG,
                channel_name: name(&f.channel).unwrap_or_else(|| match f.channel.as_str() {
                    store::LOG => String::new(),
                    _ => "a removed channel".into(),
                }),
                channel: f.channel,
                domain: f.domain.unicode(),
                domains: f.domains,
                failed_at: f.failed_at,
                reason: f.reason,
                attempts: f.attempts,
            })
            .collect();
        let now = self.now();
        let long_ago = now.checked_sub((maintenance::SHOWN_DAYS * 24).hours()).unwrap_or(Timestamp::MIN);
        let mut windows = self.store().maintenance(org).await.map_err(unavailable)?;
        windows.retain(|w| w.to > long_ago);
        Ok(NotificationSettings {
            maintenance: windows,
            may_maintain: caller.role >= Action::SaveMaintenance.rule().least,
            channels: views,
            rules,
            failed,
            failed_total,
            lately: counts,
            attempts_max: DELIVERY.max_attempts,
            may_resend: caller.role >= Action::Resend.rule().least,
            mail: self.deliverer.has_mail(),
            may_change: caller.role >= Action::SaveChannel.rule().least,
            now,
        })
    }

    async fn save_channel(&self, caller: &Caller, draft: &ChannelDraft) -> ApiResult<ChannelView> {
        authorize(caller, Action::SaveChannel)?;
        if !self.store().has_key() {
            return Err(ApiError::invalid(
                "Channels hold secrets, which are stored encrypted: the operator sets DOMAINSCOPE_SECRET_KEY first.",
            ));
        }
        let channels = self.store().channels(caller.org).await.map_err(unavailable)?;
        let old = match draft.id.as_str() {
            "" => None,
            id => Some(channels.iter().find(|c| c.id == id).ok_or_else(|| missing("channel"))?),
        };
        if old.is_none() && channels.len() >= CHANNELS_MAX {
            return Err(ApiError::invalid(format!("An organisation has at most {CHANNELS_MAX} channels.")));
        }
        let target = target(draft, old.map(|c| &c.target))?;
        self.deliverer
            .check(&target)
            .map_err(|e| ApiError::invalid(format!("{}.", e.trim_end_matches('.'))))?;
        let channel = Channel {
            id: old.map_or_else(random_id, |c| c.id.clone()),
            name: one_line(&draft.name, "channel")?,
            target,
            created_at: old.map_or(self.now(), |c| c.created_at),
        };
        self.store()
            .save_channel_by(&caller.actor(), caller.org, &channel, self.now())
            .await
            .map_err(unavailable)?;
        let mut rules = self.store().rules(caller.org).await.map_err(unavailable)?;
        if draft.with_rule && old.is_none() && rules.len() < RULES_MAX {
            let rule = Rule {
                id: random_id(),
                name: "Warnings and critical events".into(),
                channels: vec![channel.id.clone()],
                ..Rule::default()
            };
            self.store()
                .save_rule_by(&caller.actor(), caller.org, &rule, self.now())
                .await
                .map_err(unavailable)?;
            rules.push(rule);
        }
        self.channel_view(caller, &channel, &rules).await
    }

    async fn remove_channel(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RemoveChannel)?;
        for rule in self.store().rules(caller.org).await.map_err(unavailable)? {
            if rule.channels.iter().any(|c| c == id) {
                let mut rule = rule;
                rule.channels.retain(|c| c != id);
                // A rule without a channel sends nothing: it says so rather than vanish.
                rule.enabled &= !rule.channels.is_empty();
                self.store()
                    .save_rule_by(&caller.actor(), caller.org, &rule, self.now())
                    .await
                    .map_err(unavailable)?;
            }
        }
        match self
            .store()
            .delete_channel(&caller.actor(), caller.org, id, self.now())
            .await
            .map_err(unavailable)?
        {
            true => Ok(()),
            false => Err(missing("channel")),
        }
    }

    async fn test_channel(&self, caller: &Caller, id: &str) -> ApiResult<TestResult> {
        authorize(caller, Action::TestChannel)?;
        let _permit = self.tools.limits.enter(caller, super::Work::Trace).await?;
        let channel = self.channel(caller.org, id).await?;
        let organisation = self.store().organisation_name(caller.org).await.map_err(unavailable)?;
        let message = Message::test(
            format!("test-{}", random_id()),
            organisation.unwrap_or_else(|| "Domains".into()),
            self.deliverer.base().cloned(),
            self.now(),
        );
        let notify::Cluster { id: cluster, set: clusterset } = self.deliverer.cluster();
        let message = Message { cluster, clusterset, ..message };
        let sent = self.deliverer.send(&channel, &message, &[], self.now()).await;
        let at = self.now();
        let result = match sent {
            Ok(answer) => {
                TestResult { delivered: true, words: format!("{answer}. Message {}", message.id), at }
            }
            Err(e) => TestResult { delivered: false, words: e.reason, at },
        };
        // Kept, so that the page shows it in the channel's row, also without script.
        if let Ok(text) = serde_json::to_string(&result) {
            let key = test_key(id);
            self.store().set_setting(caller.org, &key, &text, at).await.map_err(unavailable)?;
        }
        Ok(result)
    }

    async fn save_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<Rule> {
        authorize(caller, Action::SaveRule)?;
        let mut checked = self.checked_rule(caller.org, rule).await?;
        let rules = self.store().rules(caller.org).await.map_err(unavailable)?;
        if checked.id.is_empty() {
            if rules.len() >= RULES_MAX {
                return Err(ApiError::invalid(format!("An organisation has at most {RULES_MAX} rules.")));
            }
            checked.id = random_id();
        } else if !rules.iter().any(|r| r.id == checked.id) {
            return Err(missing("rule"));
        }
        self.store()
            .save_rule_by(&caller.actor(), caller.org, &checked, self.now())
            .await
            .map_err(unavailable)?;
        Ok(checked)
    }

    async fn remove_rule(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RemoveRule)?;
        match self
            .store()
            .delete_rule(&caller.actor(), caller.org, id, self.now())
            .await
            .map_err(unavailable)?
        {
            true => Ok(()),
            false => Err(missing("rule")),
        }
    }

    async fn preview_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<RulePreview> {
        authorize(caller, Action::PreviewRule)?;
        let preview = self.lately(caller.org).await?.preview(rule);
        let about = ListQuery {
            tag: rule.tags.clone(),
            ownership: rule.ownership,
            per_page: 1,
            ..ListQuery::default()
        };
        let page = self.store().list(caller.org, &about, self.now()).await.map_err(unavailable)?;
        Ok(RulePreview { domains: Some(page.total), ..preview })
    }

    async fn resend(&self, caller: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64> {
        authorize(caller, Action::Resend)?;
        self.store().retry_notifications(Some(caller.org), which, self.now()).await.map_err(unavailable)
    }

    async fn drop_failed(&self, caller: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64> {
        authorize(caller, Action::DropFailed)?;
        let log = Audit {
            org: caller.org,
            by: caller.actor(),
            at: self.now(),
            action: "message.drop",
            object: String::new(),
            old: None,
            new: None,
        };
        self.store().drop_notifications(which, &log).await.map_err(unavailable)
    }

    async fn save_maintenance(&self, caller: &Caller, draft: &MaintenanceDraft) -> ApiResult<Maintenance> {
        authorize(caller, Action::SaveMaintenance)?;
        let window = maintenance::window(caller, draft, random_id(), self.now())?;
        let windows = self.store().maintenance(caller.org).await.map_err(unavailable)?;
        let ended = windows.iter().filter(|w| w.to <= self.now());
        if windows.len() >= WINDOWS_MAX {
            // The window that ended first makes room.
            let oldest = ended.min_by_key(|w| w.to).ok_or_else(|| {
                ApiError::invalid(format!("An organisation has at most {WINDOWS_MAX} maintenance windows."))
            })?;
            self.store()
                .delete_maintenance(&caller.actor(), caller.org, &oldest.id, self.now())
                .await
                .map_err(unavailable)?;
        }
        self.store()
            .save_maintenance_by(&caller.actor(), caller.org, &window, self.now())
            .await
            .map_err(unavailable)?;
        Ok(window)
    }

    async fn end_maintenance(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::EndMaintenance)?;
        let windows = self.store().maintenance(caller.org).await.map_err(unavailable)?;
        let window = windows.into_iter().find(|w| w.id == id).ok_or_else(|| missing("maintenance window"))?;
        let now = self.now();
        if window.is_active(now) {
            let ended = Maintenance { to: now, ..window };
            self.store()
                .save_maintenance_by(&caller.actor(), caller.org, &ended, now)
                .await
                .map_err(unavailable)
        } else {
            self.store()
                .delete_maintenance(&caller.actor(), caller.org, id, self.now())
                .await
                .map(drop)
                .map_err(unavailable)
        }
    }

    async fn feeds(&self, caller: &Caller) -> ApiResult<Vec<Feed>> {
        self.feeds_of(caller).await
    }

    async fn create_feed(&self, caller: &Caller, name: &str, kind: FeedKind) -> ApiResult<NewFeed> {
        self.new_feed(caller, name, kind).await
    }

    async fn revoke_feed(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        self.end_feed(caller, id).await
    }

    async fn health(&self, caller: &Caller) -> ApiResult<Health> {
        authorize(caller, Action::Health)?;
        let queue = self.store().queue_stats(JobKind::Scan, self.now()).await.map_err(unavailable)?;
        let late = Duration::try_from_secs_f64(queue.lag_seconds).unwrap_or_default();
        let overdue_s = (late > OVERDUE).then_some(late.as_secs());
        Ok(Health { overdue_s, faults: self.scanner.hub.faults() })
    }

    async fn deliveries(&self, caller: &Caller, events: &[EventId]) -> ApiResult<Vec<DeliveryView>> {
        authorize(caller, Action::Deliveries)?;
        let channels = self.store().channels(caller.org).await.map_err(unavailable)?;
        let events = &events[..events.len().min(DELIVERIES)];
        let statuses = self.store().message_statuses(caller.org, events).await.map_err(unavailable)?;
        let name = |id: &str| channels.iter().find(|c| c.id == id).map(|c| c.name.clone());
        let mut shown: HashMap<(String, Vec<EventId>), usize> = HashMap::new();
        Ok(statuses
            .into_iter()
            .filter(|m| {
                // The newest ones of those that repeat each other.
                let n = shown.entry((m.channel.clone(), m.events.clone())).or_default();
                *n += 1;
                *n <= REPEATS_SHOWN
            })
            .map(|m| DeliveryView {
                channel: match m.channel.as_str() {
                    store::LOG => String::new(),
                    id => name(id).unwrap_or_else(|| "removed channel".into()),
                },
                events: m.events,
                state: m.state,
            })
            .collect())
    }
}
