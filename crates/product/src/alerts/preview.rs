//! What rules would have sent lately: the events of the last seven days, planned as the dispatcher plans them.

use crate::{Services, unavailable};
use jiff::{Timestamp, ToSpan};
use model::ending::{endings, recoveries};
use model::event::{Event, EventCounts, EventGroup, Severity};
use model::ids::OrgId;
use model::item::Item;
use model::names::DomainName;
use model::notify::{Delivery, NotSent, PreviewMessage, Rule, RulePreview, Unsent, plan_with};
use notify::Part;
use service::ApiResult;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Days that a preview looks back.
const DAYS: i64 = 7;
/// Events that a preview reads at most.
const EVENTS: u32 = 1000;
/// Messages that a preview names.
const NAMED: usize = 5;

/// What happened lately, to hold rules against.
pub(super) struct Lately {
    /// Events by scan, oldest first.
    scans: Vec<Vec<Event>>,
    /// The same by domain.
    of_domain: HashMap<DomainName, Vec<Event>>,
    holdings: HashMap<DomainName, Item>,
    of: u64,
    partial: bool,
}

/// A message of a preview and the domains it is about.
struct Sent<'a> {
    message: PreviewMessage,
    domains: HashSet<&'a DomainName>,
    batch: bool,
}

impl Lately {
    /// The events by kind and severity.
    pub(super) fn counts(&self) -> EventCounts {
        let mut groups: BTreeMap<_, u64> = BTreeMap::new();
        for e in self.scans.iter().flatten() {
            *groups.entry((e.change.kind, e.change.severity, e.acknowledged.is_none())).or_default() += 1;
        }
        let group = |((kind, severity, open), count)| EventGroup { kind, severity, open, count };
        EventCounts(groups.into_iter().map(group).collect())
    }

    pub(super) fn preview(&self, rule: &Rule) -> RulePreview {
        let channels = vec!["preview".into()];
        let rules = [Rule { enabled: true, muted_until: None, channels, ..rule.clone() }];
        let mut events = 0;
        let mut sent: Vec<Sent<'_>> = Vec::new();
        // Events that went to the channel: what ends one of them goes there, too.
        let mut told = Vec::new();
        let unsent = BTreeSet::new();
        let mut not_sent: BTreeMap<Unsent, u64> = BTreeMap::new();
        for scan in &self.scans {
            let Some(first) = scan.first() else { continue };
            let item = self.holdings.get(&first.domain).map(|i| Item { muted_until: None, ..i.clone() });
            let history = self.of_domain.get(&first.domain).map_or(&[][..], Vec::as_slice);
            let recoveries = recoveries(scan, history, &endings(history, &unsent), &told);
            let planned = item.as_ref().map(|item| plan_with(&rules, item, scan, &recoveries, first.at));
            let messages = planned.unwrap_or_default();
            told.extend(messages.iter().flat_map(|m| m.events.iter().map(|e| (*e, m.channel.clone()))));
            for e in scan.iter().filter(|e| messages.iter().all(|m| !m.events.contains(&e.id))) {
                if let Some(why) = rules[0].unsent(item.as_ref(), e) {
                    *not_sent.entry(why).or_default() += 1;
                }
            }
            for planned in messages {
                events += planned.events.len() as u64;
                let about: Vec<Event> =
                    scan.iter().filter(|e| planned.events.contains(&e.id)).cloned().collect();
                let severity = about.iter().map(|e| e.change.severity).max().unwrap_or(Severity::Info);
                let joined =
                    sent.iter_mut().find(|s| s.batch && planned.batch && s.message.at == planned.due_at);
                if let Some(s) = joined {
                    s.domains.insert(&first.domain);
                    s.message.severity = s.message.severity.max(severity);
                    s.message.words = match s.domains.len() {
                        1 => format!("{}: several scans in one message", first.domain.unicode()),
                        n => format!("Changes of {n} domains in one message"),
                    };
                    continue;
                }
                let is_held = planned.batch && rule.delivery == Delivery::Immediate;
                let part = Part::new(first.domain.clone(), about, None);
                let message = PreviewMessage {
                    at: planned.due_at,
                    words: format!("{}: {}", part.unicode(), part.headline()),
                    severity,
                    held_from: is_held.then_some(first.at),
                };
                sent.push(Sent { message, domains: HashSet::from([&first.domain]), batch: planned.batch });
            }
        }
        let mut not_sent: Vec<_> = not_sent.into_iter().map(|(why, count)| NotSent { why, count }).collect();
        not_sent.sort_by_key(|n| std::cmp::Reverse(n.count));
        RulePreview {
            messages: sent.len() as u64,
            events,
            of: self.of,
            newest: sent.into_iter().rev().take(NAMED).map(|s| s.message).collect(),
            not_sent,
            domains: None,
            partial: self.partial,
        }
    }
}

impl Services {
    pub(super) async fn lately(&self, org: OrgId) -> ApiResult<Lately> {
        let since = self.now().checked_sub((DAYS * 24).hours()).unwrap_or(Timestamp::MIN);
        let events = self.store().events_since(org, since, EVENTS).await.map_err(unavailable)?;
        let names: BTreeSet<_> = events.iter().map(|e| e.domain.clone()).collect();
        let names: Vec<_> = names.into_iter().collect();
        let found = self.store().holdings(org, &names).await.map_err(unavailable)?;
        let holdings = found.into_iter().map(|(item, _)| (item.name.clone(), item)).collect();
        let (of, partial) = (events.len() as u64, events.len() >= EVENTS as usize);
        let mut scans: Vec<Vec<Event>> = Vec::new();
        let mut of_domain: HashMap<DomainName, Vec<Event>> = HashMap::new();
        for e in events {
            of_domain.entry(e.domain.clone()).or_default().push(e.clone());
            match scans.last_mut().filter(|s| s[0].domain == e.domain && s[0].at == e.at) {
                Some(scan) => scan.push(e),
                None => scans.push(vec![e]),
            }
        }
        Ok(Lately { scans, of_domain, holdings, of, partial })
    }
}
