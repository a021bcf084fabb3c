//! Maintenance windows, and what becomes of the events of a scan: which are sent, which wait for the end of a window or a
//! mute, and which an acknowledgement keeps from being sent. Pure.

use super::ending::Recovery;
use super::event::{Event, EventKind};
pub use super::hold::{Closed, Held, still_holding};
use super::item::Item;
use super::notify::{Planned, Rule, plan, plan_with};
use crate::base::ids::EventId;
use crate::base::names::DomainName;
use crate::base::time::StatedTime;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Windows of an organisation at most; those that ended long ago make room.
pub const WINDOWS_MAX: usize = 100;
/// Longest note of a window, in characters.
pub const NOTE_MAX: usize = 200;
/// Longest window, in days.
pub const DAYS_MAX: i64 = 31;

/// The domains that a window is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Scope {
    /// All domains of the organisation.
    All,
    /// Those with a tag.
    Tag {
        /// The tag.
        tag: String,
    },
    /// One domain.
    Domain {
        /// Its name.
        domain: DomainName,
    },
}

impl Scope {
    /// In words.
    pub fn label(&self) -> String {
        match self {
            Scope::All => "All domains".into(),
            Scope::Tag { tag } => format!("Domains tagged {tag}"),
            Scope::Domain { domain } => domain.as_str().into(),
        }
    }
}

/// A span in which changes are expected: events are recorded, and messages about what still holds are sent at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maintenance {
    /// Identity.
    pub id: String,
    /// Beginning.
    pub from: Timestamp,
    /// End; the instant itself is outside.
    pub to: Timestamp,
    /// Which domains.
    #[serde(flatten)]
    pub scope: Scope,
    /// What is done.
    pub note: String,
    /// Who entered it.
    pub by: String,
}

impl Maintenance {
    /// True while it lasts.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.to
    }

    /// True when an event of a holding is silenced by it. Reminders of expirations are not: they come from the calendar, not
    /// from the work, and are announced only once.
    pub fn covers(&self, holding: &Item, event: &Event) -> bool {
        !event.change.kind.is_reminder() && self.is_active(event.at) && self.is_about(holding)
    }

    /// True for a holding in its scope.
    pub fn is_about(&self, holding: &Item) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Tag { tag } => holding.tags.contains(tag),
            Scope::Domain { domain } => *domain == holding.name,
        }
    }
}

/// What becomes of the events of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Messages to be sent, and those that are closed at once with a reason.
    pub planned: Vec<Planned>,
    /// Events that a maintenance window delays, with its note.
    pub during: Vec<(EventId, String)>,
    /// Events that wait for the end of a mute or a window.
    pub held: Vec<Held>,
    /// Events about which no message is sent at all, with the reason.
    pub closed: Vec<Closed>,
}

/// When messages about a holding are sent again that a mute or a window keeps back now, and which of both it is.
pub fn kept_until(
    windows: &[Maintenance],
    holding: &Item,
    now: Timestamp,
) -> Option<(Timestamp, &'static str)> {
    let muted = holding.muted_until.filter(|until| now < *until).map(|until| (until, "Muted"));
    let active = windows.iter().filter(|w| w.is_active(now) && w.is_about(holding));
    muted.into_iter().chain(active.map(|w| (w.to, "Maintenance"))).max_by_key(|(until, _)| *until)
}

/// Why an event led to no message.
pub const NO_RULE: &str = "No rule sends it";
/// Why an event led to none although a rule is about it.
pub const MUTED_RULE: &str = "The rule that sends it is muted";
/// Why an event that was held led to no message.
pub const NO_LONGER: &str = "It no longer held when messages were sent again";

/// Events of one scan, or those of a domain that were held, as they are routed.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The events, in order.
    pub events: &'a [Event],
    /// Earlier reminders about the domain that were acknowledged.
    pub acknowledged: &'a [Event],
    /// For events that were held: those of the domain that followed.
    pub followed_by: Option<&'a [Event]>,
    /// Which of the events end what channels were sent.
    pub recoveries: &'a [Recovery],
}

/// Applies mute, windows, acknowledgements and rules to events of a domain.
pub fn route(
    rules: &[Rule],
    windows: &[Maintenance],
    batch: Batch<'_>,
    holding: &Item,
    now: Timestamp,
) -> Routing {
    let mut routing = Routing::default();
    let muted = holding.muted_until.filter(|until| now < *until);
    let (mut free, mut was_held) = (Vec::new(), batch.followed_by.is_some());
    for e in batch.events {
        let window = windows.iter().filter(|w| w.covers(holding, e)).max_by_key(|w| w.to);
        if let Some(window) = window {
            routing.during.push((e.id, window.note.clone()));
            // Routed late, after the end of the window.
            was_held |= window.to <= now;
        }
        let window = window.filter(|w| now < w.to);
        match muted.into_iter().chain(window.map(|w| w.to)).max() {
            Some(until) => {
                let reason = match window {
                    Some(w) if muted.is_none() && w.note.is_empty() => "Maintenance".to_string(),
                    Some(w) if muted.is_none() => format!("Maintenance ({})", w.note),
                    _ => "Muted".to_string(),
                };
                match routing.held.iter_mut().find(|h| h.until == until && h.reason == reason) {
                    Some(held) => held.events.push(e.id),
                    None => routing.held.push(Held { events: vec![e.id], until, reason }),
                }
            }
            None => free.push(e.clone()),
        }
    }
    if was_held {
        let over;
        (free, over) = still_holding(&free, batch.followed_by.unwrap_or_default());
        if !over.is_empty() {
            routing.closed.push(Closed { events: over, reason: NO_LONGER.into() });
        }
    }
    let (mut send, mut repeated, mut by) = (Vec::new(), Vec::new(), String::new());
    for e in free {
        if let Some(earlier) = batch.acknowledged.iter().find(|a| a.id != e.id && is_repeat(&e, a)) {
            by = earlier.acknowledged.as_ref().map(|a| a.by.clone()).unwrap_or_default();
            repeated.push(e);
        } else {
            send.push(e);
        }
    }
    routing.planned = plan_with(rules, holding, &send, batch.recoveries, now);
    let reason = format!("{by} acknowledged an earlier reminder of this date");
    let mut seen = Vec::new();
    for p in plan(rules, holding, &repeated, now) {
        seen.extend(p.events.iter().copied());
        if !routing.planned.iter().any(|x| x.channel == p.channel) {
            routing.planned.push(Planned { due_at: now, batch: false, skipped: Some(reason.clone()), ..p });
        }
    }
    let is_planned = |id: &EventId| routing.planned.iter().any(|p| p.events.contains(id));
    // Its channels get another message of these events.
    seen.retain(|id| !is_planned(id));
    seen.sort_unstable();
    seen.dedup();
    let unwanted: Vec<_> = send.iter().chain(&repeated).map(|e| e.id).collect();
    let unwanted: Vec<_> = unwanted.into_iter().filter(|id| !is_planned(id) && !seen.contains(id)).collect();
    if !seen.is_empty() {
        routing.closed.push(Closed { events: seen, reason });
    }
    // Without any rule there is nothing to explain.
    if !unwanted.is_empty() && rules.iter().any(|r| r.enabled) {
        let is_muted = |id: &EventId| {
            let event = send.iter().chain(&repeated).find(|e| e.id == *id);
            event.is_some_and(|e| rules.iter().any(|r| r.is_muted(now) && r.matches(holding, e)))
        };
        let (muted, unwanted): (Vec<_>, Vec<_>) = unwanted.into_iter().partition(is_muted);
        for (events, reason) in [(muted, MUTED_RULE), (unwanted, NO_RULE)] {
            if !events.is_empty() {
                routing.closed.push(Closed { events, reason: reason.into() });
            }
        }
    }
    routing
}

/// True for a further reminder of the date that an acknowledged one was about, unless it is more urgent.
fn is_repeat(event: &Event, earlier: &Event) -> bool {
    let date = |e: &Event| e.change.new.as_deref().and_then(|t| t.parse::<StatedTime>().ok());
    let same_date = match (date(event), date(earlier)) {
        (Some(a), Some(b)) => a.agrees_with(&b),
        _ => event.change.new == earlier.change.new,
    };
    event.change.kind == EventKind::ExpiresSoon
        && earlier.change.kind == EventKind::ExpiresSoon
        && earlier.acknowledged.is_some()
        && same_date
        && event.change.severity <= earlier.change.severity
}
