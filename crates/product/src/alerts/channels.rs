//! Channels of an organisation: shown without their secrets, saved, removed and tested.

use super::draft::target;
use super::{missing, one_line};
use crate::{Services, Work, unavailable};
use accounts::random_id;
use model::ids::{Caller, OrgId, Role};
use model::notify::{CHANNELS_MAX, Channel, RULES_MAX, Rule, Target, TestResult};
use notify::Message;
use service::{ApiError, ApiResult, ChannelDraft, ChannelView};

/// Seconds for which the result of a test is shown.
const TEST_SHOWN: i64 = 3600;

fn test_key(id: &str) -> String {
    format!("channel-test/{id}")
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

    /// A channel as a caller may see it: secrets are for admins.
    pub(super) async fn channel_view(
        &self,
        caller: &Caller,
        c: &Channel,
        rules: &[Rule],
    ) -> ApiResult<ChannelView> {
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

    /// Adds or changes a channel, and adds a rule for it when the draft asks for one.
    pub(super) async fn store_channel(
        &self,
        caller: &Caller,
        draft: &ChannelDraft,
    ) -> ApiResult<ChannelView> {
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

    /// Removes a channel, also from the rules that name it.
    pub(super) async fn delete_channel(&self, caller: &Caller, id: &str) -> ApiResult<()> {
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

    /// Sends a test message and keeps the result.
    pub(super) async fn send_test(&self, caller: &Caller, id: &str) -> ApiResult<TestResult> {
        let _permit = self.tools.limits.enter(caller, Work::Trace).await?;
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
}
