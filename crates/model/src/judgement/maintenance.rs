//! Maintenance windows, and what becomes of the events of a scan: which are sent, which a window or an acknowledgement
//! keeps from being sent. Pure.

use super::event::{Event, EventKind};
use super::item::Item;
use super::notify::{Planned, Rule, plan};
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
            Scope::Domain { domain } => domain.unicode(),
        }
    }
}

/// A span in which changes are expected: events are recorded, and no message about them is sent.
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
        !event.change.kind.is_reminder()
            && self.is_active(event.at)
            && match &self.scope {
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
    /// Events that a maintenance window keeps from being sent, with its note.
    pub during: Vec<(EventId, String)>,
}

/// Applies windows, acknowledgements and rules to the events of one scan. `acknowledged` are earlier reminders about the
/// domain that were acknowledged.
pub fn route(
    rules: &[Rule],
    windows: &[Maintenance],
    acknowledged: &[Event],
    holding: &Item,
    events: &[Event],
    now: Timestamp,
) -> Routing {
    let (mut send, mut repeated, mut during, mut by) = (Vec::new(), Vec::new(), Vec::new(), String::new());
    for e in events {
        if let Some(window) = windows.iter().find(|w| w.covers(holding, e)) {
            during.push((e.id, window.note.clone()));
        } else if let Some(earlier) = acknowledged.iter().find(|a| is_repeat(e, a)) {
            by = earlier.acknowledged.as_ref().map(|a| a.by.clone()).unwrap_or_default();
            repeated.push(e.clone());
        } else {
            send.push(e.clone());
        }
    }
    let mut planned = plan(rules, holding, &send, now);
    for p in plan(rules, holding, &repeated, now) {
        if !planned.iter().any(|x| x.channel == p.channel) {
            let reason = format!("{by} acknowledged an earlier reminder of this date");
            planned.push(Planned { due_at: now, batch: false, skipped: Some(reason), ..p });
        }
    }
    Routing { planned, during }
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
