//! Answers of the list index: which entries a query matches, in which order, with what counts. Pure.

use super::entry::{Entries, Entry, NONE, Signature, Words};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use model::inventory::{
    CALENDAR_DAYS, CalendarDay, CertificateFilter, ExpiryFilter, Facet, Facets, ListQuery, RECENT_DAYS,
    SortKey, Summary,
};
use model::item::Ownership;
use model::status::StatusKind;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Most values a facet lists.
const FACET_MAX: usize = 100;

/// Filters that have a facet, as bits of what an entry fails.
const STATUS: u8 = 1;
const REGISTRAR: u8 = 2;
const PROVIDER: u8 = 4;
const TAG: u8 = 8;
const OWNERSHIP: u8 = 16;

/// What a query asks, ready to be held against entries.
pub(crate) struct Plan {
    query: ListQuery,
    needle: String,
    signature: Signature,
    now: i64,
}

/// What a query found.
pub(crate) struct Found {
    /// Names of the page, in order.
    pub(crate) names: Vec<String>,
    pub(crate) total: u64,
    /// The page shown, 1-based: the last one when a later one was asked for.
    pub(crate) page: u32,
    pub(crate) facets: Facets,
}

/// The day of an instant, in days since 1970, UTC.
fn day(micros: i64) -> i64 {
    micros.div_euclid(DAY)
}

fn start(date: Date) -> i64 {
    date.to_zoned(TimeZone::UTC).map_or(0, |z| z.timestamp().as_microsecond())
}

/// A filter's values as numbers; `None` when the filter is not set.
fn numbers(words: &Words, wanted: &[String]) -> Option<Vec<u32>> {
    (!wanted.is_empty()).then(|| wanted.iter().filter_map(|w| words.find(w)).collect())
}

/// The values of the facet filters in the numbers of the entries.
struct Wanted {
    registrar: Option<Vec<u32>>,
    provider: Option<Vec<u32>>,
    tag: Option<Vec<u32>>,
}

impl Plan {
    pub(crate) fn new(query: &ListQuery, now: Timestamp) -> Self {
        let needle = query.search.trim().to_lowercase();
        let signature = Signature::of(&[&needle]);
        Plan { query: query.clone(), needle, signature, now: now.as_microsecond() }
    }

    fn wanted(&self, entries: &Entries) -> Wanted {
        Wanted {
            registrar: numbers(&entries.registrars, &self.query.registrar),
            provider: numbers(&entries.providers, &self.query.provider),
            tag: numbers(&entries.tags, &self.query.tag),
        }
    }

    /// Whether the filters without facets let an entry through.
    fn passes(&self, e: &Entry) -> bool {
        let expires = match self.query.expires {
            None => true,
            Some(ExpiryFilter::Unknown) => e.expires == NONE,
            Some(_) if e.expires == NONE => false,
            Some(ExpiryFilter::Within(days)) => self.days_left(e) <= i64::from(days),
            Some(ExpiryFilter::Next(days)) => (0..=i64::from(days)).contains(&self.days_left(e)),
            Some(ExpiryFilter::Expired) => self.days_left(e) < 0,
            Some(ExpiryFilter::Between(from, to)) => {
                from.is_none_or(|d| e.expires >= start(d))
                    && to.is_none_or(|d| day(e.expires) <= day(start(d)))
            }
        };
        let certificate = match self.query.certificate {
            None => true,
            Some(CertificateFilter::Unseen) => e.certificate_ends == NONE,
            Some(_) if e.certificate_ends == NONE => false,
            Some(CertificateFilter::Ended) => e.certificate_ends <= self.now,
            Some(CertificateFilter::Within(days)) => {
                e.certificate_ends < self.now.saturating_add(i64::from(days).saturating_mul(DAY))
            }
        };
        expires
            && certificate
            && self.query.changed_days.is_none_or(|d| self.is_within(e.changed, i64::from(d)))
            && self.query.dns_changed_days.is_none_or(|d| self.is_within(e.dns_changed, i64::from(d)))
            && self.named(e)
    }

    /// Days from today to the expiration, UTC; negative when it is before today.
    fn days_left(&self, e: &Entry) -> i64 {
        day(e.expires) - day(self.now)
    }

    /// Counted in seconds, as the row's tint and badge are.
    fn is_within(&self, at: i64, days: i64) -> bool {
        at != NONE && self.now.div_euclid(SECOND) - at.div_euclid(SECOND) <= days.saturating_mul(86_400)
    }

    fn named(&self, e: &Entry) -> bool {
        self.needle.is_empty()
            || e.signature.may_contain(self.signature)
                && (e.name.contains(&self.needle)
                    || e.unicode.as_ref().is_some_and(|u| u.contains(&self.needle)))
    }

    /// Which facet filters an entry fails.
    fn fails(&self, e: &Entry, w: &Wanted) -> u8 {
        let fail = |bit: u8, ok: bool| if ok { 0 } else { bit };
        let has = |want: &Option<Vec<u32>>, n: u32| want.as_ref().is_none_or(|v| v.contains(&n));
        let status = &self.query.status;
        fail(STATUS, status.is_empty() || status.iter().any(|k| k.rank() == i64::from(e.status)))
            | fail(REGISTRAR, has(&w.registrar, e.registrar))
            | fail(PROVIDER, has(&w.provider, e.provider))
            | fail(TAG, w.tag.as_ref().is_none_or(|v| e.tags.iter().any(|t| v.contains(t))))
            | fail(OWNERSHIP, self.query.ownership.is_none_or(|o| (o == Ownership::Owned) == e.owned))
    }

    /// Sorting key: smaller is earlier. Entries of equal keys stand in the order of their names.
    fn key(&self, entries: &Entries, e: &Entry, place: u32) -> u64 {
        // Instants in an order of unsigned numbers; what is unknown is last in both directions.
        let time = |t: i64| (t != NONE).then_some(t.cast_unsigned() ^ 1 << 63);
        let word = |words: &Words, n: u32| (n != 0).then(|| u64::from(words.places[n as usize]));
        let known = match self.query.sort {
            SortKey::Name => Some(u64::from(place)),
            SortKey::Expiration => time(e.expires),
            SortKey::Registrar => word(&entries.registrars, e.registrar),
            SortKey::Provider => word(&entries.providers, e.provider),
            SortKey::Status => Some(u64::from(e.status)),
            SortKey::Certificate => time(e.certificate_ends),
            SortKey::Change => time(if e.changed == NONE { e.modified } else { e.changed }),
        };
        match known {
            None => u64::MAX,
            Some(k) if self.query.descending => u64::MAX - 1 - k.min(u64::MAX - 1),
            Some(k) => k.min(u64::MAX - 1),
        }
    }

    /// The page a query asks for.
    pub(crate) fn run(&self, entries: &Entries) -> Found {
        let wanted = self.wanted(entries);
        let mut counts = Counts::new(entries);
        let size = self.query.per_page.clamp(1, ListQuery::MAX_PER_PAGE) as usize;
        let asked = self.query.page.max(1) as usize;
        let mut matches = Smallest::new(asked.saturating_mul(size).min(entries.all.len()));
        let mut total = 0usize;
        for (place, e) in (0u32..).zip(&entries.all) {
            if !self.passes(e) {
                continue;
            }
            let fails = self.fails(e, &wanted);
            counts.add(e, fails);
            if fails == 0 {
                total += 1;
                matches.push((self.key(entries, e, place), place));
            }
        }
        // When fewer pages match than were asked for, all matches were kept, the last page among them.
        let page = asked.min(total.div_ceil(size).max(1));
        let names = matches
            .after((page - 1) * size)
            .iter()
            .take(size)
            .map(|(_, place)| entries.all[*place as usize].name.to_string())
            .collect();
        Found {
            names,
            total: total as u64,
            page: u32::try_from(page).unwrap_or(u32::MAX),
            facets: counts.facets(entries, &self.query),
        }
    }

    /// Names of everything a query matches, sorted.
    pub(crate) fn names(&self, entries: &Entries, limit: usize) -> Vec<String> {
        let wanted = self.wanted(entries);
        let matching = entries.all.iter().filter(|e| self.passes(e) && self.fails(e, &wanted) == 0);
        matching.take(limit).map(|e| e.name.to_string()).collect()
    }

    /// The strip above the inventory, all but the open events and what the thresholds count.
    pub(crate) fn summary(&self, entries: &Entries) -> Summary {
        let mut s = Summary { total: entries.all.len() as u64, ..Summary::default() };
        let mut calendar = vec![0u64; usize::try_from(CALENDAR_DAYS).unwrap_or(0) + 1];
        for e in entries.all.iter().filter(|e| e.owned) {
            s.owned += 1;
            s.critical += u64::from(i64::from(e.status) == StatusKind::Critical.rank());
            s.warning += u64::from(i64::from(e.status) == StatusKind::Warning.rank());
            s.changed += u64::from(self.is_within(e.changed, RECENT_DAYS));
            s.dns_changed += u64::from(self.is_within(e.dns_changed, RECENT_DAYS));
            if e.expires != NONE {
                let left = self.days_left(e);
                s.expired += u64::from(left < 0);
                if let Some(n) = usize::try_from(left).ok().and_then(|i| calendar.get_mut(i)) {
                    *n += 1;
                }
            }
        }
        s.watched = s.total - s.owned;
        s.calendar = (day(self.now)..)
            .zip(calendar)
            .filter(|(_, count)| *count > 0)
            .filter_map(|(d, count)| {
                let at = Timestamp::from_microsecond(d * DAY).ok()?;
                Some(CalendarDay { day: Offset::UTC.to_datetime(at).date(), count })
            })
            .collect();
        s
    }
}

/// The smallest of many keys, at most `room` of them, without keeping or sorting the rest.
struct Smallest {
    room: usize,
    kept: Vec<(u64, u32)>,
    /// What is not smaller than this is too large; known once more than enough were seen.
    bound: Option<(u64, u32)>,
}

impl Smallest {
    fn new(room: usize) -> Self {
        Smallest { room: room.max(1), kept: Vec::new(), bound: None }
    }

    fn push(&mut self, key: (u64, u32)) {
        if self.bound.is_some_and(|b| key >= b) {
            return;
        }
        self.kept.push(key);
        // Weeding out when four times too many are there keeps the work for each key constant.
        if self.kept.len() >= self.room.saturating_mul(4) {
            let (_, last, _) = self.kept.select_nth_unstable(self.room - 1);
            self.bound = Some(*last);
            self.kept.truncate(self.room);
        }
    }

    /// Those after the `skip` smallest, in order.
    fn after(mut self, skip: usize) -> Vec<(u64, u32)> {
        if self.kept.len() > self.room {
            self.kept.select_nth_unstable(self.room - 1);
            self.kept.truncate(self.room);
        }
        if skip >= self.kept.len() {
            return Vec::new();
        }
        if skip > 0 {
            self.kept.select_nth_unstable(skip);
        }
        let mut page = self.kept.split_off(skip);
        page.sort_unstable();
        page
    }
}

/// Facet counts in the making: an entry counts for a facet when it fails no filter, or only that facet's own.
struct Counts {
    status: [u64; 256],
    registrar: Vec<u64>,
    provider: Vec<u64>,
    tag: Vec<u64>,
    owned: u64,
    watched: u64,
}

impl Counts {
    fn new(entries: &Entries) -> Self {
        Counts {
            status: [0; 256],
            registrar: vec![0; entries.registrars.texts.len()],
            provider: vec![0; entries.providers.texts.len()],
            tag: vec![0; entries.tags.texts.len()],
            owned: 0,
            watched: 0,
        }
    }

    fn add(&mut self, e: &Entry, fails: u8) {
        let counts = |bit: u8| fails & !bit == 0;
        if counts(STATUS) {
            self.status[usize::from(e.status)] += 1;
        }
        if counts(REGISTRAR) {
            self.registrar[e.registrar as usize] += 1;
        }
        if counts(PROVIDER) {
            self.provider[e.provider as usize] += 1;
        }
        if counts(TAG) {
            for t in &e.tags {
                self.tag[*t as usize] += 1;
            }
        }
        if counts(OWNERSHIP) {
            *(if e.owned { &mut self.owned } else { &mut self.watched }) += 1;
        }
    }

    fn facets(self, entries: &Entries, query: &ListQuery) -> Facets {
        let facet = |value: &str, count| Facet { value: value.to_string(), count };
        Facets {
            status: StatusKind::ALL
                .into_iter()
                .map(|k| facet(k.as_str(), self.status[usize::try_from(k.rank()).unwrap_or(0)]))
                .collect(),
            registrar: most(&entries.registrars, &self.registrar, &query.registrar),
            provider: most(&entries.providers, &self.provider, &query.provider),
            tag: most(&entries.tags, &self.tag, &query.tag),
            ownership: vec![
                facet(Ownership::Owned.as_str(), self.owned),
                facet(Ownership::Watched.as_str(), self.watched),
            ],
        }
    }
}

/// The values with the highest counts, then by name. What is selected is listed too, even with no row or beyond
/// the limit, so that it can be deselected.
fn most(words: &Words, counts: &[u64], selected: &[String]) -> Vec<Facet> {
    let mut all: Vec<(u64, &str)> =
        words.texts.iter().zip(counts).filter(|(_, n)| **n > 0).map(|(t, n)| (*n, &**t)).collect();
    all.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
    let is_selected = |t: &str| selected.iter().any(|s| s == t);
    let mut out: Vec<_> = all
        .iter()
        .enumerate()
        .filter(|(i, (_, t))| *i < FACET_MAX || is_selected(t))
        .map(|(_, (n, t))| Facet { value: (*t).to_string(), count: *n })
        .collect();
    for s in selected {
        if !out.iter().any(|f| f.value == *s) {
            out.push(Facet { value: s.clone(), count: 0 });
        }
    }
    out
}
