//! What is asked of the event log: filters and page as an address carries them, for the page and for REST alike.

use super::event::{Event, EventKind, Severity};
use crate::base::names::DomainName;
use crate::base::url::percent;
use serde::{Deserialize, Serialize};

/// A selection of the event log, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventQuery {
    /// Only this domain.
    pub domain: Option<DomainName>,
    /// Only these kinds; empty for all.
    pub kinds: Vec<EventKind>,
    /// At least this severity.
    pub at_least: Option<Severity>,
    /// Only those not acknowledged yet.
    pub unacknowledged: bool,
    /// 1-based page.
    pub page: u32,
    /// Rows a page, at most 200.
    pub per_page: u32,
}

impl EventQuery {
    /// Most rows of a page.
    pub const MAX_PER_PAGE: u32 = 200;
    /// Rows of a page unless asked otherwise.
    pub const PER_PAGE: u32 = 50;

    /// Reads the decoded pairs of an address. A filter that can't be read is left out, so that an old link still opens;
    /// `domain` is not read here, because who asks decides about a name that is none.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> EventQuery {
        let mut q = EventQuery { page: 1, per_page: Self::PER_PAGE, ..EventQuery::default() };
        for (key, value) in pairs {
            let value = value.trim();
            match key {
                "kind" => q.kinds.extend(value.split(',').filter_map(EventKind::from_word)),
                "severity" => q.at_least = Severity::from_word(value),
                "open" => q.unacknowledged = matches!(value, "1" | "true"),
                "page" => q.page = value.parse().unwrap_or(1).max(1),
                "per_page" => {
                    q.per_page = value.parse().unwrap_or(Self::PER_PAGE).clamp(1, Self::MAX_PER_PAGE);
                }
                _ => {}
            }
        }
        q.kinds.sort();
        q.kinds.dedup();
        q
    }

    /// The query of an address (with its question mark), defaults left out.
    pub fn to_search(&self) -> String {
        let mut out = Vec::new();
        if !self.kinds.is_empty() {
            let words: Vec<_> = self.kinds.iter().map(|k| k.as_str()).collect();
            out.push(format!("kind={}", percent(&words.join(","))));
        }
        out.extend(self.at_least.map(|s| format!("severity={}", s.as_str())));
        if self.unacknowledged {
            out.push("open=1".into());
        }
        if self.page > 1 {
            out.push(format!("page={}", self.page));
        }
        if !matches!(self.per_page, 0 | Self::PER_PAGE) {
            out.push(format!("per_page={}", self.per_page));
        }
        if out.is_empty() { String::new() } else { format!("?{}", out.join("&")) }
    }
}

/// A page of the event log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPage {
    /// Newest first.
    pub events: Vec<Event>,
    /// How many match in all.
    pub total: u64,
    /// 1-based page.
    pub page: u32,
    /// Rows a page.
    pub per_page: u32,
}
