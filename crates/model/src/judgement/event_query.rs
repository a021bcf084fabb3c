//! What is asked of the event log: filters and page as an address carries them, for the page and for REST alike.

use super::event::{Event, EventKind, Severity};
use super::item::{Ownership, normal_tag};
use crate::base::ids::EventId;
use crate::base::names::DomainName;
use crate::base::time::StatedTime;
use crate::base::url::percent;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Longest text that is searched for, in characters.
const SEARCH_MAX: usize = 100;
/// Tags of one query.
const TAGS_MAX: usize = 20;
/// Longest period before now, in days: history is kept ten years at most.
const DAYS_MAX: u16 = 3660;

/// A selection of the event log, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventQuery {
    /// Only this domain.
    pub domain: Option<DomainName>,
    /// Part of a domain name, of the field, of a value, of the source or of the note; empty for all.
    pub search: String,
    /// Only these kinds; empty for all.
    pub kinds: Vec<EventKind>,
    /// At least this severity.
    pub at_least: Option<Severity>,
    /// Only those not acknowledged yet.
    pub unacknowledged: bool,
    /// Domains that have any of these tags now; empty for all.
    pub tags: Vec<String>,
    /// Owned or watched domains only.
    pub ownership: Option<Ownership>,
    /// Detected at this instant or later.
    pub since: Option<Timestamp>,
    /// Detected before this instant.
    pub until: Option<Timestamp>,
    /// Detected in so many days before now; [`EventQuery::at`] makes an instant of it.
    pub last_days: Option<u16>,
    /// Only those with a message that was given up.
    pub failed_delivery: bool,
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
            q.read(key, value.trim());
        }
        q.kinds.sort();
        q.kinds.dedup();
        q
    }

    /// The same where a filter that is not understood would widen what is changed.
    ///
    /// # Errors
    /// Names the first pair that can't be read.
    pub fn from_pairs_exactly<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<EventQuery, String> {
        let mut probe = EventQuery::default();
        for (key, value) in pairs.clone() {
            if !probe.read(key, value.trim()) {
                return Err(format!("“{key}={value}” is not a filter of events."));
            }
        }
        Ok(Self::from_pairs(pairs))
    }

    /// Reads a pair; false when it is not understood.
    fn read(&mut self, key: &str, value: &str) -> bool {
        fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
            let is_read = value.is_some();
            if is_read {
                *place = value;
            }
            is_read
        }
        // A form sends the fields that were left empty, too.
        if value.is_empty() {
            return matches!(
                key,
                "q" | "kind"
                    | "severity"
                    | "open"
                    | "tag"
                    | "ownership"
                    | "from"
                    | "to"
                    | "last"
                    | "delivery"
                    | "page"
            );
        }
        match key {
            "q" => {
                self.search = value.chars().take(SEARCH_MAX).collect();
                return value.chars().count() <= SEARCH_MAX;
            }
            "kind" => {
                let words: Vec<_> = value.split(',').map(EventKind::from_word).collect();
                self.kinds.extend(words.iter().flatten());
                return words.iter().all(Option::is_some);
            }
            "severity" => return set(&mut self.at_least, Severity::from_word(value)),
            "open" => {
                self.unacknowledged = matches!(value, "1" | "true");
                return matches!(value, "0" | "1" | "false" | "true");
            }
            "tag" => {
                let tag = normal_tag(value).filter(|t| self.tags.len() < TAGS_MAX && !self.tags.contains(t));
                let is_read = tag.is_some();
                self.tags.extend(tag);
                return is_read;
            }
            "ownership" => return set(&mut self.ownership, Ownership::from_word(value)),
            "from" => return set(&mut self.since, instant(value, 0)),
            // The last day belongs to the range.
            "to" => return set(&mut self.until, instant(value, 1)),
            "last" => {
                let days = value.strip_suffix('d').and_then(|n| n.parse().ok());
                return set(&mut self.last_days, days.filter(|n| (1..=DAYS_MAX).contains(n)));
            }
            "delivery" => {
                self.failed_delivery = value == "failed";
                return self.failed_delivery;
            }
            "page" => self.page = value.parse().unwrap_or(1).max(1),
            "per_page" => {
                self.per_page = value.parse().unwrap_or(Self::PER_PAGE).clamp(1, Self::MAX_PER_PAGE);
            }
            _ => return false,
        }
        true
    }

    /// The pairs of an address, defaults left out.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        let mut add = |key, value: String| out.push((key, value));
        if !self.search.is_empty() {
            add("q", self.search.clone());
        }
        if !self.kinds.is_empty() {
            let words: Vec<_> = self.kinds.iter().map(|k| k.as_str()).collect();
            add("kind", words.join(","));
        }
        if let Some(s) = self.at_least {
            add("severity", s.as_str().into());
        }
        if self.unacknowledged {
            add("open", "1".into());
        }
        for tag in &self.tags {
            add("tag", tag.clone());
        }
        if let Some(o) = self.ownership {
            add("ownership", o.as_str().into());
        }
        if let Some(days) = self.last_days {
            add("last", format!("{days}d"));
        }
        if let Some(at) = self.since {
            add("from", day(at, 0));
        }
        if let Some(at) = self.until {
            add("to", day(at, 1));
        }
        if self.failed_delivery {
            add("delivery", "failed".into());
        }
        if self.page > 1 {
            add("page", self.page.to_string());
        }
        if !matches!(self.per_page, 0 | Self::PER_PAGE) {
            add("per_page", self.per_page.to_string());
        }
        out
    }

    /// The query of an address (with its question mark), defaults left out.
    pub fn to_search(&self) -> String {
        let pairs: Vec<_> =
            self.to_pairs().into_iter().map(|(k, v)| format!("{k}={}", percent(&v))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }

    /// The same events at any page.
    pub fn filters(&self) -> EventQuery {
        EventQuery { page: 1, per_page: Self::PER_PAGE, ..self.clone() }
    }

    /// True when some events may be left out.
    pub fn is_filtered(&self) -> bool {
        !self.filters().to_pairs().is_empty()
    }

    /// The query with its days before now as an instant.
    pub fn at(&self, now: Timestamp) -> EventQuery {
        let Some(days) = self.last_days else { return self.clone() };
        let start =
            now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN);
        EventQuery { since: self.since.max(Some(start)), last_days: None, ..self.clone() }
    }
}

/// An instant, or the start (UTC) of the day so many days after a day.
fn instant(text: &str, later: i64) -> Option<Timestamp> {
    let Ok(day) = text.parse::<Date>() else { return text.parse().ok() };
    if text.contains('T') {
        return text.parse().ok();
    }
    let start: Timestamp = format!("{day}T00:00:00Z").parse().ok()?;
    start.checked_add(SignedDuration::from_hours(24 * later)).ok()
}

/// What [`instant`] reads back: a day where the instant is the start of one.
fn day(at: Timestamp, later: i64) -> String {
    let start = at.checked_sub(SignedDuration::from_hours(24 * later)).unwrap_or(at);
    let day = StatedTime::utc(start).date().to_string();
    if instant(&day, later) == Some(at) { day } else { at.to_string() }
}

/// How many events of one kind and severity match, and whether they were acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventGroup {
    /// Kind.
    pub kind: EventKind,
    /// Severity.
    pub severity: Severity,
    /// True for those not acknowledged yet.
    pub open: bool,
    /// The number.
    pub count: u64,
}

/// The events that match a query whatever its kinds, severity and acknowledgement, in groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts(pub Vec<EventGroup>);

impl EventCounts {
    /// How many match kinds, severity and acknowledgement of a query, too.
    pub fn matching(&self, q: &EventQuery) -> u64 {
        let is_meant = |g: &&EventGroup| {
            (q.kinds.is_empty() || q.kinds.contains(&g.kind))
                && q.at_least.is_none_or(|s| g.severity >= s)
                && (!q.unacknowledged || g.open)
        };
        self.0.iter().filter(is_meant).map(|g| g.count).sum()
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
    /// The newest event that matches, on whichever page.
    #[serde(default)]
    pub newest: Option<EventId>,
    /// Counts for the filters; `None` where too many events match to count them at once.
    #[serde(default)]
    pub counts: Option<EventCounts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> EventQuery {
        EventQuery::from_pairs(pairs.iter().copied())
    }

    #[test]
    fn a_query_survives_its_address() {
        let pairs = [
            ("q", "ns1 & co"),
            ("kind", "record_changed,renewed,nonsense"),
            ("severity", "warning"),
            ("open", "true"),
            ("tag", "prod"),
            ("tag", "edge"),
            ("tag", "prod"),
            ("ownership", "watched"),
            ("from", "2026-11-01"),
            ("to", "2026-11-22"),
            ("delivery", "failed"),
            ("page", "3"),
        ];
        let q = read(&pairs);
        assert_eq!((q.kinds.len(), q.tags.len(), q.page), (2, 2, 3));
        assert_eq!(q.until.unwrap().to_string(), "2026-11-23T00:00:00Z", "the last day belongs to the range");
        let again = q.to_pairs();
        assert_eq!(EventQuery::from_pairs(again.iter().map(|(k, v)| (*k, v.as_str()))), q);
        assert!(q.to_search().contains("from=2026-11-01&to=2026-11-22"), "{}", q.to_search());
        let exact = read(&[("from", "2026-11-01T06:30:00Z"), ("last", "7d")]);
        let again = exact.to_pairs();
        assert_eq!(EventQuery::from_pairs(again.iter().map(|(k, v)| (*k, v.as_str()))), exact);
        assert_eq!((read(&[]).to_search().as_str(), read(&[]).is_filtered()), ("", false));
    }

    #[test]
    fn days_before_now_are_an_instant() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let q = read(&[("last", "7d")]).at(now);
        assert_eq!((q.since.unwrap().to_string().as_str(), q.last_days), ("2026-11-13T14:05:00Z", None));
        let later = read(&[("last", "7d"), ("from", "2026-11-19")]).at(now);
        assert_eq!(later.since.unwrap().to_string(), "2026-11-19T00:00:00Z", "both count");
    }

    #[test]
    fn what_is_changed_by_filters_is_named_exactly() {
        let exactly =
            |pairs: &[(&'static str, &'static str)]| EventQuery::from_pairs_exactly(pairs.iter().copied());
        assert_eq!(exactly(&[("severity", "warning"), ("q", "")]).unwrap().at_least, Some(Severity::Warning));
        for wrong in [
            ("sevrity", "warning"),
            ("severity", "loud"),
            ("kind", "renewed,x"),
            ("from", "soon"),
            ("last", "7"),
        ] {
            assert!(exactly(&[wrong]).unwrap_err().contains(wrong.0));
        }
        // Cut, it would match more.
        let long = "a".repeat(SEARCH_MAX + 1);
        assert!(EventQuery::from_pairs_exactly([("q", long.as_str())]).is_err());
        assert!(EventQuery::from_pairs_exactly([("q", &long[1..])]).is_ok());
    }

    #[test]
    fn counts_are_those_of_the_filters() {
        let group = |kind, severity, open, count| EventGroup { kind, severity, open, count };
        let counts = EventCounts(vec![
            group(EventKind::Renewed, Severity::Info, true, 4),
            group(EventKind::Released, Severity::Critical, true, 2),
            group(EventKind::Released, Severity::Critical, false, 1),
        ]);
        assert_eq!(counts.matching(&read(&[])), 7);
        assert_eq!(counts.matching(&read(&[("kind", "released")])), 3);
        assert_eq!(counts.matching(&read(&[("severity", "warning"), ("open", "1")])), 2);
    }
}
