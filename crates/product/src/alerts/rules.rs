//! Rules of an organisation, checked before they are saved.

use super::{missing, one_line};
use crate::{Services, unavailable};
use accounts::random_id;
use model::ids::{Caller, OrgId};
use model::item::normal_tag;
use model::notify::{Delivery, RULES_MAX, Rule};
use model::repeat::REPEAT_HOURS;
use service::{ApiError, ApiResult};

impl Services {
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

    /// Adds or changes a rule.
    pub(super) async fn store_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<Rule> {
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
}
