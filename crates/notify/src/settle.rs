//! What became of the events of a message since they were detected: what was acknowledged, and what is over, need not be
//! sent. Rows of which nothing is left are closed with the reason.

use crate::dispatch::{Dispatcher, OrgSettings};
use crate::history::KnownOf;
use model::ending::{Recovery, endings, recoveries};
use model::event::Event;
use model::ids::EventId;
use model::names::DomainName;
use model::notify::{DeliveryState, Rule};
use model::time::human_instant;
use std::collections::{BTreeMap, BTreeSet};
use store::{LOG, Notification};

/// Seconds after which a message about an event that the outbox does not know is not to be expected any more.
const ROUTED_S: i64 = 86_400;

/// Why an end is not sent that waited, and that an event which was sent nowhere undid.
pub(crate) const CHANGED_AGAIN: &str = "It changed again before it was sent";

impl Dispatcher {
    /// Which of the events to be routed end what channels were sent, or will be.
    pub(crate) async fn recoveries(
        &self,
        n: &Notification,
        rules: &[Rule],
        history: &[Event],
    ) -> Result<Vec<Recovery>, store::Error> {
        let unsent = self.unsent(n.org, history).await?;
        let endings = endings(history, &unsent.all);
        let of_events = n.events.iter().filter_map(|e| endings.get(&e.id));
        let ended: BTreeSet<EventId> = of_events.flat_map(|ending| ending.of.iter().copied()).collect();
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = ended.iter().copied().collect();
        let messages = self.store.message_statuses(n.org, &ids).await?;
        let goes =
            |s: &DeliveryState| matches!(s, DeliveryState::Delivered { .. } | DeliveryState::Waiting { .. });
        let mut sent: Vec<(EventId, String)> = Vec::new();
        for m in messages.iter().filter(|m| m.channel != LOG && goes(&m.state)) {
            sent.extend(m.events.iter().filter(|e| ended.contains(e)).map(|e| (*e, m.channel.clone())));
        }
        // Not routed yet: its message goes where the rules say.
        let since = n.events.iter().map(|e| e.at.as_second()).min().unwrap_or(0) - ROUTED_S;
        for e in history.iter().filter(|e| ended.contains(&e.id) && e.at.as_second() >= since) {
            if !messages.iter().any(|m| m.events.contains(&e.id)) {
                let channels = rules.iter().flat_map(|r| r.channels.iter());
                sent.extend(channels.map(|channel| (e.id, channel.clone())));
            }
        }
        Ok(recoveries(&n.events, history, &endings, &sent))
    }

    /// The rows with events that are still to be sent, and what is known about their domains.
    pub(crate) async fn settle(
        &self,
        group: Vec<Notification>,
        settings: &OrgSettings,
    ) -> Result<(Vec<Notification>, KnownOf), store::Error> {
        let group = self.without_acknowledged(group).await?;
        let mut events: BTreeMap<DomainName, Vec<Event>> = BTreeMap::new();
        for n in &group {
            events.entry(n.domain.clone()).or_default().extend(n.events.iter().cloned());
        }
        let mut known = KnownOf::new();
        for (domain, events) in events {
            let Some(org) = group.first().map(|n| n.org) else { break };
            let found = self.known(org, &domain, &events).await?;
            known.insert(domain, found);
        }
        let group = self.without_settled_repeats(group, settings, &known).await?;
        let group = self.without_over(group, &known).await?;
        Ok((group, known))
    }

    /// The rows without events that were acknowledged while they waited: who reads the message knows of them.
    async fn without_acknowledged(
        &self,
        group: Vec<Notification>,
    ) -> Result<Vec<Notification>, store::Error> {
        let mut out = Vec::with_capacity(group.len());
        let mut closed = BTreeMap::new();
        for mut n in group {
            let by = n.events.iter().find_map(|e| e.acknowledged.as_ref()).map(|a| a.by.clone());
            n.events.retain(|e| e.acknowledged.is_none());
            match by {
                Some(by) if n.events.is_empty() => {
                    let reason = format!("{by} acknowledged it before it was sent");
                    closed.entry(reason).or_insert_with(Vec::new).push(n);
                }
                _ => out.push(n),
            }
        }
        self.close(closed).await?;
        Ok(out)
    }

    /// The rows of a digest without those of which all is over. What is sent by itself is sent in any case: an earlier
    /// attempt may have arrived.
    async fn without_over(
        &self,
        group: Vec<Notification>,
        known: &KnownOf,
    ) -> Result<Vec<Notification>, store::Error> {
        let mut out = Vec::with_capacity(group.len());
        let mut closed = BTreeMap::new();
        for mut n in group {
            if let Some(known) = known.get(&n.domain).filter(|k| n.batch.is_some() && !k.undone.is_empty()) {
                let before = n.events.len();
                n.events.retain(|e| !known.undone.contains(&e.id));
                if n.events.is_empty() && before > 0 {
                    closed.entry(CHANGED_AGAIN.to_string()).or_insert_with(Vec::new).push(n);
                    continue;
                }
            }
            let since = |e: &Event| known.get(&n.domain).and_then(|k| k.over.get(&e.id)).copied();
            let ends: Option<Vec<_>> = n.events.iter().map(since).collect();
            match ends.and_then(|at| at.into_iter().max()).filter(|_| n.batch.is_some()) {
                Some(at) => {
                    let reason = format!("Resolved on {} before it was sent", human_instant(at));
                    closed.entry(reason).or_insert_with(Vec::new).push(n);
                }
                None => out.push(n),
            }
        }
        self.close(closed).await?;
        Ok(out)
    }

    /// Closes rows that are not sent, by reason.
    async fn close(&self, closed: BTreeMap<String, Vec<Notification>>) -> Result<(), store::Error> {
        for (reason, rows) in closed {
            self.store.notification_skipped(&rows, &reason, (self.now)()).await?;
        }
        Ok(())
    }
}
