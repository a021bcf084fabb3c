//! Repeats: a rule may send what is open again and again, until it is acknowledged or over. Pure.

use super::event::{Event, Severity};
use super::hold::subject;
use super::item::Item;
use super::notify::{Delivery, Planned, Rule};
use crate::base::ids::EventId;
use crate::base::time::plus;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Hours between two messages about the same event.
pub const REPEAT_HOURS: RangeInclusive<u16> = 1..=168;
/// Seconds by which a digest may come earlier: that of the same hour is meant, however long the last one took to be sent.
const DIGEST_SLACK_S: i64 = 1800;

/// The events of a domain's history that a later one about the same thing replaced; `unsent` are those that led to no message
/// and so replace none.
pub fn replaced(history: &[Event], unsent: &BTreeSet<EventId>) -> BTreeSet<EventId> {
    let mut newest = BTreeMap::new();
    for e in history.iter().filter(|e| !unsent.contains(&e.id)) {
        let last = newest.entry(subject(&e.change)).or_insert(e.id);
        *last = e.id.max(*last);
    }
    let is_replaced = |e: &&Event| newest.get(&subject(&e.change)).is_some_and(|last| *last > e.id);
    history.iter().filter(is_replaced).map(|e| e.id).collect()
}

/// The next messages about events that a channel was sent now and that still hold; none when no rule sends them again. Each
/// event is in the earliest one that a rule about it asks for, so that one rule does not hurry the events of another.
pub fn next(rules: &[Rule], holding: &Item, channel: &str, events: &[Event], now: Timestamp) -> Vec<Planned> {
    let mut asked = Vec::new();
    for rule in rules.iter().filter(|r| r.channels.iter().any(|c| c == channel)) {
        let Some(hours) = rule.repeat_hours else { continue };
        let asks = |e: &&Event| {
            e.change.severity >= Severity::Warning && e.acknowledged.is_none() && rule.matches(holding, e)
        };
        let wanted: Vec<&Event> = events.iter().filter(asks).collect();
        if wanted.is_empty() {
            continue;
        }
        let slack = if rule.delivery == Delivery::Immediate { 0 } else { DIGEST_SLACK_S };
        let after = plus(now, i64::from(hours) * 3600 - slack);
        let due = rule.due(&wanted, rule.muted_until.map_or(after, |until| after.max(until)));
        asked.push((due, wanted.iter().map(|e| e.id).collect::<BTreeSet<_>>(), &rule.name));
    }
    let mut out: BTreeMap<(Timestamp, bool), Planned> = BTreeMap::new();
    for id in events.iter().map(|e| e.id).collect::<BTreeSet<_>>() {
        let about = || asked.iter().filter(|(_, wanted, _)| wanted.contains(&id));
        let Some(first) = about().map(|(due, ..)| *due).min() else { continue };
        let planned = out.entry(first).or_insert_with(|| Planned {
            channel: channel.to_string(),
            due_at: first.0,
            batch: first.1,
            events: Vec::new(),
            rules: Vec::new(),
            skipped: None,
        });
        planned.events.push(id);
        for (.., rule) in about().filter(|(due, ..)| *due == first) {
            if !planned.rules.contains(rule) {
                planned.rules.push((*rule).clone());
            }
        }
    }
    out.into_values().collect()
}
