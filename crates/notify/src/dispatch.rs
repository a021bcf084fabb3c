//! The last station of the path: applies the rules to the events of each scan, and sends the messages that result.
//!
//! Delivery is at least once: a process that dies after delivering and before saying so delivers again, under the same
//! [`store::Notification::dedupe_key`].

use crate::deliver::Deliverer;
use crate::history::KnownOf;
use crate::message::{Message, Part};
use crate::repeat::next_repeats;
use jiff::Timestamp;
use model::event::{Event, EventKind};
use model::ids::OrgId;
use model::maintenance::{self, Maintenance, Routing, route};
use model::notify::{Channel, Rule};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Failure, LOG, Notification, Retry, Store};
use tokio_util::sync::CancellationToken;

/// Where the time comes from.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Pause between two looks into the outbox when it is empty.
const PAUSE: Duration = Duration::from_secs(2);
/// Messages taken at once, which are all sent at the same time: one that waited for others would outlive its lease, and
/// another process would send it too.
const BATCH: u32 = 16;

/// Takings at the same time in one process. A receiver that does not answer holds up the one that its message is in, and
/// neither the others nor the routing of events.
const LANES: usize = 4;
/// What is left of a lease when the longest send ends: its outcome has to be written before another process takes the rows.
const MARGIN: Duration = Duration::from_secs(5);
/// Shortest time that a send is given.
const SHORTEST: Duration = Duration::from_secs(5);

/// Rows that go out as one message have the same key.
type GroupKey = (OrgId, String, Option<i64>, Option<i64>);

/// What an organisation set up that decides about its messages.
pub(crate) struct OrgSettings {
    pub(crate) rules: Vec<Rule>,
    pub(crate) windows: Vec<Maintenance>,
}

/// Routes and sends what the outbox holds. Any number may run, in any number of processes.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) now: Now,
    deliverer: Deliverer,
}

impl Dispatcher {
    /// A dispatcher over a store.
    pub fn new(store: Arc<dyn Store>, now: Now, deliverer: Deliverer) -> Self {
        Dispatcher { store, now, deliverer }
    }

    /// Delivers until cancelled; deliveries under way end first.
    pub async fn run(self, stop: CancellationToken) {
        futures::future::join_all((0..LANES).map(|_| self.lane(&stop))).await;
    }

    async fn lane(&self, stop: &CancellationToken) {
        loop {
            let pause = match self.deliver_due().await {
                Ok(n) if n > 0 => Duration::ZERO,
                Ok(_) => PAUSE,
                Err(e) => {
                    metrics::counter!("domainscope_stage_failures_total", "stage" => "notify").increment(1);
                    tracing::warn!(error = %e, "the outbox can't be read; trying again");
                    PAUSE
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Routes and tries what is due now, at most one batch; how many rows there were.
    ///
    /// # Errors
    /// When the store does not answer; what was not marked as delivered is delivered again.
    pub async fn deliver_due(&self) -> Result<usize, store::Error> {
        let leased = Instant::now();
        let due = self.store.lease_notifications(BATCH, (self.now)()).await?;
        let n = due.len();
        let (mut to_route, to_send): (Vec<_>, Vec<_>) = due.into_iter().partition(|n| n.channel == LOG);
        // What ends an event is routed after it.
        to_route.sort_by_key(|n| n.id);
        let mut settings: HashMap<OrgId, OrgSettings> = HashMap::new();
        for row in to_route {
            if !self.read_settings(&mut settings, std::slice::from_ref(&row)).await? {
                continue;
            }
            if let Err(e) = self.route(&row, &settings[&row.org]).await {
                self.unreadable(&[row], "The domain or its events", e).await?;
            }
        }
        let mut channels: HashMap<OrgId, Vec<Channel>> = HashMap::new();
        let mut groups: BTreeMap<GroupKey, Vec<Notification>> = BTreeMap::new();
        for row in to_send {
            // What is sent by itself is a group of its own.
            let alone = row.batch.is_none().then_some(row.id.0);
            groups.entry((row.org, row.channel.clone(), row.batch, alone)).or_default().push(row);
        }
        let mut ready = Vec::with_capacity(groups.len());
        for group in groups.into_values() {
            let org = group[0].org;
            if !self.read_settings(&mut settings, &group).await? {
                continue;
            }
            if let Entry::Vacant(unread) = channels.entry(org) {
                match self.store.channels(org).await {
                    Ok(read) => {
                        unread.insert(read);
                    }
                    Err(e) => {
                        self.unreadable(&group, "The notification settings", e).await?;
                        continue;
                    }
                }
            }
            ready.push(group);
        }
        let (channels, settings) = (&channels, &settings);
        let sends = ready.into_iter().map(async |group: Vec<Notification>| {
            let org = group[0].org;
            match self.send(group.clone(), &channels[&org], &settings[&org], leased).await {
                Err(e) => self.unreadable(&group, "What the message is about", e).await,
                Ok(()) => Ok(()),
            }
        });
        let sent = futures::future::join_all(sends).await;
        sent.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(n)
    }

    /// Reads the settings of the organisation of some rows unless they were; false when they can't be read.
    async fn read_settings(
        &self,
        settings: &mut HashMap<OrgId, OrgSettings>,
        rows: &[Notification],
    ) -> Result<bool, store::Error> {
        let Some(org) = rows.first().map(|n| n.org) else { return Ok(false) };
        let Entry::Vacant(unread) = settings.entry(org) else { return Ok(true) };
        let read = async {
            Ok(OrgSettings {
                rules: self.store.rules(org).await?,
                windows: self.store.maintenance(org).await?,
            })
        };
        match read.await {
            Ok(read) => {
                unread.insert(read);
                Ok(true)
            }
            Err(e) => self.unreadable(rows, "The notification settings", e).await.map(|()| false),
        }
    }

    /// Ends the attempt of rows for which something stored can't be read: the messages of others go on.
    async fn unreadable(
        &self,
        rows: &[Notification],
        what: &str,
        e: store::Error,
    ) -> Result<(), store::Error> {
        let store::Error::Broken(reason) = e else { return Err(e) };
        let org = rows.first().map_or(0, |n| n.org.0);
        tracing::error!(org, what, reason, "a notification can't be made of what is stored");
        let why = Failure::temporary(format!("{what} can't be read: {reason}"));
        self.store.notification_failed(rows, &why, (self.now)()).await.map(drop)
    }

    /// Applies the rules to the events of a scan. Each is also a line of the log, for installations that watch that.
    async fn route(&self, n: &Notification, settings: &OrgSettings) -> Result<(), store::Error> {
        let OrgSettings { rules, windows } = settings;
        let now = (self.now)();
        let kinds: Vec<_> = n.events.iter().map(|e| e.change.kind.as_str()).collect();
        let severity = n.events.iter().map(|e| e.change.severity).max();
        // Removed from the inventory, or pruned with the history, while it waited: there is nothing left to say.
        let routing = match self.store.item(n.org, &n.domain).await? {
            Some((item, _)) => {
                let acknowledged = match n.events.iter().any(|e| e.change.kind.is_reminder()) {
                    true => self.store.acknowledged(n.org, &n.domain, EventKind::ExpiresSoon).await?,
                    false => Vec::new(),
                };
                let history = match n.held || !rules.is_empty() {
                    true => self.history(n.org, &n.domain, &n.events).await?,
                    false => Vec::new(),
                };
                let recoveries = self.recoveries(n, rules, &history).await?;
                let followed_by = n.held.then(|| followed_by(n, &history));
                let batch = maintenance::Batch {
                    events: &n.events,
                    acknowledged: &acknowledged,
                    followed_by: followed_by.as_deref(),
                    recoveries: &recoveries,
                };
                route(rules, windows, batch, &item, now)
            }
            None => Routing::default(),
        };
        let is_logged = !n.held;
        if !self.store.route_notification(n, &routing, now).await? {
            return Ok(());
        }
        metrics::counter!("domainscope_routings_total", "outcome" => routed(&routing)).increment(1);
        // What was held waited on purpose.
        if is_logged {
            let at = n.events.iter().map(|e| e.at).min().unwrap_or(now);
            metrics::histogram!("domainscope_routing_seconds").record(seconds_between(at, now));
            tracing::info!(
                org = n.org.0,
                domain = %n.domain,
                severity = severity.map(model::event::Severity::as_str),
                events = kinds.join(","),
                messages = routing.planned.iter().filter(|p| p.skipped.is_none()).count(),
                held = routing.held.iter().map(|h| h.events.len()).sum::<usize>(),
                "domain changed"
            );
        }
        Ok(())
    }

    async fn send(
        &self,
        group: Vec<Notification>,
        channels: &[Channel],
        settings: &OrgSettings,
        leased: Instant,
    ) -> Result<(), store::Error> {
        let (group, known) = self.settle(group, settings).await?;
        let Some(first) = group.first() else { return Ok(()) };
        let channel = channels.iter().find(|c| c.id == first.channel);
        let message = self.message(&group, &known, &settings.rules).await?;
        let skipped = match channel {
            None => Some("The channel was removed"),
            Some(_) if message.parts.is_empty() => Some("The events were deleted"),
            Some(_) => None,
        };
        let (Some(channel), None) = (channel, skipped) else {
            return self.store.notification_skipped(&group, skipped.unwrap_or_default(), (self.now)()).await;
        };
        let left = store::DELIVERY.lease.saturating_sub(leased.elapsed() + MARGIN);
        let limit = left.min(store::DELIVERY.lease / 2);
        let outcome = if limit < SHORTEST {
            Err(Failure::temporary("reading what to send took too long"))
        } else {
            let sending = self.deliverer.send(channel, &message, &first.accepted, (self.now)());
            let silent = || Err(Failure::temporary(format!("no answer within {} s", limit.as_secs())));
            tokio::time::timeout(limit, sending).await.unwrap_or_else(|_| silent())
        };
        let (kind, now) = (channel.target.kind(), (self.now)());
        let words = match &outcome {
            Ok(answer) => {
                let next = next_repeats(&group, settings, &known, now);
                self.store.notification_delivered_until(&group, answer, &next, now).await?;
                "delivered"
            }
            Err(why) => match self.store.notification_failed(&group, why, now).await? {
                Retry::GivenUp => "given_up",
                _ if why.postponed => "postponed",
                _ => "failed",
            },
        };
        if let Err(why) = &outcome {
            let (key, attempt, reason) = (first.dedupe_key(), first.attempt, why.reason.as_str());
            if words == "given_up" {
                tracing::error!(key, channel = kind, attempt, reason, "a notification was given up");
            } else {
                tracing::warn!(
                    key,
                    channel = kind,
                    attempt,
                    reason,
                    "a notification failed; it is tried again"
                );
            }
        } else {
            let since = group.iter().map(|n| n.since).min().unwrap_or(now);
            metrics::histogram!("domainscope_notification_delivery_seconds", "channel" => kind)
                .record(seconds_between(since, now));
        }
        metrics::counter!("domainscope_notifications_total", "channel" => kind, "outcome" => words)
            .increment(1);
        Ok(())
    }

    /// One message of all events of a group.
    async fn message(
        &self,
        group: &[Notification],
        known: &KnownOf,
        of_org: &[Rule],
    ) -> Result<Message, store::Error> {
        let first = &group[0];
        let organisation = self.store.organisation_name(first.org).await?.unwrap_or_else(|| "Domains".into());
        let mut parts: Vec<Part> = Vec::new();
        let mut rules: Vec<String> = Vec::new();
        for n in group {
            rules.extend(n.rules.iter().filter(|r| !rules.contains(r)).cloned().collect::<Vec<_>>());
            if n.events.is_empty() {
                continue;
            }
            let repeated = n.events.iter().filter(|_| n.is_repeat).map(|e| e.id);
            match parts.iter_mut().find(|p| p.domain == n.domain) {
                Some(part) => {
                    part.events.extend(n.events.iter().cloned());
                    part.repeated.extend(repeated);
                }
                None => {
                    let known = known.get(&n.domain);
                    let row = known.and_then(|k| k.item.as_ref()).map(|(_, row)| row.clone());
                    let mut part = Part::new(n.domain.clone(), n.events.clone(), row);
                    if let Some(known) = known {
                        part.over.clone_from(&known.over);
                        part.endings.clone_from(&known.endings);
                    }
                    part.repeated.extend(repeated);
                    parts.push(part);
                }
            }
        }
        let cluster = self.deliverer.cluster();
        let message = Message {
            id: first.dedupe_key(),
            org: first.org,
            organisation,
            parts,
            rule_ids: rule_ids(of_org, &rules, &first.channel),
            rules,
            at: group.iter().filter_map(sent_at).max().unwrap_or((self.now)()),
            base: self.deliverer.base().cloned(),
            test: false,
            cluster: cluster.id,
            clusterset: cluster.set,
        };
        Ok(message.sorted())
    }
}

/// Identities of rules by name, of those that send to a channel.
fn rule_ids(of_org: &[Rule], names: &[String], channel: &str) -> BTreeMap<String, String> {
    let of_channel = of_org.iter().filter(|r| r.channels.iter().any(|c| c == channel));
    of_channel.filter(|r| names.contains(&r.name)).map(|r| (r.name.clone(), r.id.clone())).collect()
}

/// The date of a message about a row, the same for every attempt: when its newest event was detected, or when it is repeated.
fn sent_at(n: &Notification) -> Option<Timestamp> {
    if n.is_repeat { Some(n.since) } else { n.events.iter().map(|e| e.at).max() }
}

/// The events of the domain that followed those that were held.
fn followed_by(n: &Notification, history: &[Event]) -> Vec<Event> {
    let is_held = |e: &Event| n.events.iter().any(|h| h.id == e.id);
    history.iter().filter(|e| e.id > n.id && !is_held(e)).cloned().collect()
}

/// What became of the events of a scan, for metrics.
fn routed(routing: &Routing) -> &'static str {
    if routing.planned.iter().any(|p| p.skipped.is_none()) {
        "sent"
    } else if !routing.held.is_empty() {
        "held"
    } else {
        "not_sent"
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    let waited = (to.as_millisecond() - from.as_millisecond()).max(0);
    Duration::from_millis(waited.unsigned_abs()).as_secs_f64()
}
