//! The inventory: what a table row shows, how a list is asked for, and how that stands in a URL.

pub use super::list_query::{CertificateFilter, ExpiryFilter, ListQuery, SortKey};
use crate::base::ids::LogPosition;
use crate::base::names::DomainName;
use crate::base::time::StatedTime;
pub use crate::base::url::percent;
use crate::certificate::hosts::Certificates;
use crate::dns::Provider;
use crate::judgement::item::{Item, ItemPatch, Ownership};
use crate::judgement::judge::Thresholds;
use crate::judgement::status::Status;
use crate::observation::Observation;
use crate::ownership::Standing;
use crate::registration::{Outcome, Registration, RegistrationState};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Days a detected registration change keeps its row tinted.
pub const RECENT_DAYS: i64 = 7;

/// What is shown of an item in the table; kept denormalised by the store so that lists are one query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The name, A-labels.
    pub name: DomainName,
    /// The name as people read it.
    pub unicode: String,
    /// Owned or watched.
    pub ownership: Ownership,
    /// Tags, sorted.
    pub tags: Vec<String>,
    /// The expiration the domain is judged by.
    pub expires: Option<StatedTime>,
    /// True when the expiration was set manually.
    pub expires_by_hand: bool,
    /// Auto-renew as the user marked it.
    pub auto_renew: Option<bool>,
    /// Registrar name.
    pub registrar: Option<String>,
    /// DNS provider.
    pub provider: Option<Provider>,
    /// Status with reasons.
    pub status: Status,
    /// Outcome of the last good registration look-up.
    pub outcome: Option<Outcome>,
    /// Newest detected registration change.
    pub last_change_at: Option<Timestamp>,
    /// Newest detected DNS change.
    #[serde(default)]
    pub last_dns_change_at: Option<Timestamp>,
    /// The registry's own "modified", shown muted while nothing was detected.
    pub modified: Option<StatedTime>,
    /// The end of the certificate that ends first among the domain's host names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_ends: Option<Timestamp>,
    /// When any part was last tried.
    pub last_scan_at: Option<Timestamp>,
    /// When registration data was last read well.
    pub registered_read_at: Option<Timestamp>,
    /// Why the last registration look-up failed, if it did.
    pub error: Option<String>,
    /// How many changes wait for a second look.
    #[serde(default, skip_serializing_if = "is_none")]
    pub confirming: usize,
    /// Where the organisation's ownership claim stands. Not stored with the row: put there when it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Standing>,
    /// Since when scans and status are as they are; kept by the store from row to row.
    #[serde(default, skip_serializing_if = "Transitions::is_empty")]
    pub transitions: Transitions,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(n: &usize) -> bool {
    *n == 0
}

/// When what a row says in one word changed last; `None` where that was not noted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transitions {
    /// [`Row::is_observed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Timestamp>,
    /// [`StatusKind::is_healthy`](crate::status::StatusKind::is_healthy) of its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<Timestamp>,
    /// Whether the organisation's ownership claim [counts](Standing::counts).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Timestamp>,
}

impl Transitions {
    /// True when none was noted.
    pub fn is_empty(&self) -> bool {
        *self == Transitions::default()
    }
}

impl Row {
    /// True when the last scan read the registration.
    pub fn is_observed(&self) -> bool {
        self.last_scan_at.is_some() && self.error.is_none()
    }

    /// Its transitions. A row of an earlier version has none: what only a scan can say began with its last scan at the latest.
    pub fn known_transitions(&self) -> Transitions {
        let is_judged = self.status.kind.is_healthy().is_some();
        Transitions {
            observed: self.transitions.observed.or(self.last_scan_at.filter(|_| self.is_observed())),
            healthy: self.transitions.healthy.or(self.last_scan_at.filter(|_| is_judged)),
            verified: self.transitions.verified,
        }
    }

    /// Takes over the transitions of the row before it; what differs changed now.
    pub fn follow(&mut self, before: &Row, now: Timestamp) {
        let known = before.known_transitions();
        let is_same = before.is_observed() == self.is_observed();
        let is_alike = before.status.kind.is_healthy() == self.status.kind.is_healthy();
        self.transitions = Transitions {
            observed: if is_same { known.observed } else { Some(now) },
            healthy: if is_alike { known.healthy } else { Some(now) },
            // No scan changes it: written with the claim.
            verified: known.verified,
        };
    }

    /// The row of a holding, from what is known about the name.
    pub fn of(item: &Item, unicode: String, observation: Option<&Observation>) -> Self {
        let registration = observation.and_then(|o| o.registration.value.as_ref());
        let stated = registration.and_then(RegistrationState::registration);
        let published = stated.and_then(Registration::effective_expires);
        Row {
            name: item.name.clone(),
            unicode,
            ownership: item.ownership,
            tags: item.tags.clone(),
            expires: published.or(item.manual_expires.map(StatedTime::Date)),
            expires_by_hand: published.is_none() && item.manual_expires.is_some(),
            auto_renew: item.auto_renew,
            registrar: stated.and_then(|r| r.registrar.name.clone()),
            provider: observation.and_then(|o| o.delegation.value.as_ref()).and_then(|d| d.provider.clone()),
            status: item.status.clone(),
            outcome: registration.map(RegistrationState::outcome),
            last_change_at: item.last_change_at,
            last_dns_change_at: item.last_dns_change_at,
            modified: stated.and_then(|r| r.updated),
            certificate_ends: observation
                .and_then(|o| o.certificates.value.as_ref())
                .and_then(Certificates::first_end),
            last_scan_at: observation.and_then(Observation::last_scan),
            registered_read_at: observation.and_then(|o| o.registration.observed_at),
            error: observation.and_then(|o| o.registration.error.as_ref()).map(|e| e.sentence.clone()),
            confirming: observation.map_or(0, Observation::confirming),
            claim: None,
            transitions: Transitions::default(),
        }
    }

    /// True while the newest detected change is recent: the row is tinted and carries "New change".
    pub fn changed_recently(&self, now: Timestamp) -> bool {
        is_recent(self.last_change_at, now)
    }

    /// True while the newest detected DNS change is recent: the row carries "DNS changed" and no tint.
    pub fn dns_changed_recently(&self, now: Timestamp) -> bool {
        is_recent(self.last_dns_change_at, now)
    }
}

fn is_recent(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.as_second() - at.as_second() <= RECENT_DAYS * 86_400)
}

/// A value of a filter with the number of rows it would list, all other filters applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facet {
    /// The value; the empty text stands for "unknown".
    pub value: String,
    /// How many rows.
    pub count: u64,
}

/// Counts beside the filters. Each filter's counts ignore that filter itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facets {
    /// Status words.
    pub status: Vec<Facet>,
    /// Registrars, most first, at most 100.
    pub registrar: Vec<Facet>,
    /// Providers, most first, at most 100.
    pub provider: Vec<Facet>,
    /// Tags, most first, at most 100.
    pub tag: Vec<Facet>,
    /// Owned and watched.
    pub ownership: Vec<Facet>,
}

/// A page of the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many match.
    pub total: u64,
    /// The page shown, 1-based.
    pub page: u32,
    /// Rows a page.
    pub per_page: u32,
    /// Counts for the filters.
    pub facets: Facets,
    /// The change log's head when the page was read.
    pub rv: LogPosition,
}

/// Expirations on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarDay {
    /// The day, UTC.
    pub day: Date,
    /// Owned domains that expire on it.
    pub count: u64,
}

/// Days that the calendar of the strip shows after today, and most days before an expiration that are a threshold.
pub const CALENDAR_DAYS: i64 = 90;

/// The strip that answers "is anything on fire?"; watched domains stay out of all but the totals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Items of the organisation.
    pub total: u64,
    /// Of these owned.
    pub owned: u64,
    /// Of these watched.
    pub watched: u64,
    /// Owned and Critical.
    pub critical: u64,
    /// Owned and Warning.
    pub warning: u64,
    /// Owned and expired: the expiration is before today, UTC.
    pub expired: u64,
    /// Owned and expiring within the days of a warning, today included.
    pub expiring: u64,
    /// Owned and with a registration change detected in the last 7 days.
    pub changed: u64,
    /// Owned and with a DNS change detected in the last 7 days.
    pub dns_changed: u64,
    /// Owned domains' expirations in the next 90 days, days without any left out.
    pub calendar: Vec<CalendarDay>,
    /// Events not acknowledged yet, of severity warning or more.
    pub open_events: u64,
    /// The thresholds that domains are judged by.
    pub thresholds: Thresholds,
}

/// What became of one line of a list of names to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLine {
    /// 1-based line.
    pub line: u32,
    /// What was typed.
    pub input: String,
    /// What it came to.
    pub result: AddResult,
    /// What is stored with the name: ownership, tags, note.
    #[serde(default)]
    pub set: ItemPatch,
}

/// What adding a text would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPreview {
    /// Every line, as it would end.
    pub lines: Vec<AddedLine>,
    /// Headings of CSV columns that are not read.
    pub ignored_columns: Vec<String>,
}

/// What became of a name to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum AddResult {
    /// Added; `note` says what was understood when the input was not the plain name.
    Added {
        /// The name.
        name: DomainName,
        /// In words.
        note: Option<String>,
    },
    /// Already in the inventory, or twice in the list.
    Duplicate {
        /// The name.
        name: DomainName,
        /// In words.
        note: Option<String>,
    },
    /// Not a name; the reason in words.
    Refused {
        /// The rule that was broken.
        reason: String,
    },
}
