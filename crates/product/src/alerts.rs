//! Notifications: channels and rules of an organisation, tests, previews, and sending again.

mod channels;
mod draft;
mod maintenance;
mod preview;
mod rules;

use super::{Services, unavailable};
use async_trait::async_trait;
use jiff::ToSpan;
use model::Timestamp;
use model::feed::{Feed, FeedKind};
use model::ids::{Caller, EventId};
use model::inventory::ListQuery;
use model::maintenance::Maintenance;
use model::notify::{NAME_MAX, Rule, RulePreview, TestResult};
use service::policy::{Action, authorize};
use service::{
    AlertBackend, ApiError, ApiResult, ChannelDraft, ChannelView, DeliveryView, FailedView, Health,
    MaintenanceDraft, NewFeed, NotificationSettings, RuleView,
};
use std::collections::HashMap;
use std::time::Duration;
use store::{Audit, DELIVERY, JobKind};

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

fn missing(what: &str) -> ApiError {
    ApiError::not_found(format!("This {what} does not exist in this organisation."))
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
        self.store_channel(caller, draft).await
    }

    async fn remove_channel(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RemoveChannel)?;
        self.delete_channel(caller, id).await
    }

    async fn test_channel(&self, caller: &Caller, id: &str) -> ApiResult<TestResult> {
        authorize(caller, Action::TestChannel)?;
        self.send_test(caller, id).await
    }

    async fn save_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<Rule> {
        authorize(caller, Action::SaveRule)?;
        self.store_rule(caller, rule).await
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
        self.plan_maintenance(caller, draft).await
    }

    async fn end_maintenance(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::EndMaintenance)?;
        self.stop_maintenance(caller, id).await
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
