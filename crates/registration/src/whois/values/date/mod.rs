//! Dates as WHOIS servers write them. In: a value, and what is known of the order of day and month; out: a
//! [`StatedTime`] with exactly the precision of the text, or `None`. An order that no one states is never guessed.

mod clock;
#[cfg(test)]
mod forms;
mod period;
#[cfg(test)]
mod tests;
pub(crate) use period::{Side, parse_side};

use crate::whois::vocabulary::tables::{Order, TABLES};
use clock::{half_day, time_part, zone_part};
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use model::time::StatedTime;
use regex::Regex;
use std::sync::LazyLock;

/// Why a value that looks like a date was not read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDate {
    /// Not a date at all, or a placeholder.
    Not,
    /// `04/05/2020` where the order of day and month is not known.
    Ambiguous,
}

static YMD: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^(\d{4})\s?([-./年]\s?|년\s?|\s)(\d{1,2})(?:[-./]\s?|\s?[月월]\s?|\s)(\d{1,2})(?:\.|\b|T|_)")
});
static YMOND: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\d{4})(?:[-./ ]|\. )([^\W\d_]{3,12})(?:[-./ ]|\. )(\d{1,2})\b\.?"));
static COMPACT: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\d{4})(\d{2})(\d{2})(?:[T.]?(\d{2})(\d{2})(\d{2})?(Z|\b)|\b|T)"));
static DMONY: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(\d{1,2})(?:st|nd|rd|th|er|\.|º)?[-\s./]*(?:(?:de|of)\s+)?([^\W\d_]{3,12})\.?[-\s./,]*(?:de\s+)?(\d{4})\b",
    )
});
static MONDY: LazyLock<Regex> =
    LazyLock::new(|| re(r"^([^\W\d_]{3,12})\.?[-\s/]+(\d{1,2})(?:st|nd|rd|th)?,?[-\s/]+(\d{4})\b"));
static CTIME: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(?:([^\W\d_]{3,12})\s+(\d{1,2})|(\d{1,2})\s+([^\W\d_]{3,12}))\s+(\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?)\s+(?:([a-z]{1,5}|[-+]\d{2}:?\d{2})\s+)?(\d{4})\b",
    )
});
static NUMERIC: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\d{1,2})\s?([-./])\s?(\d{1,2})\s?[-./]\s?(\d{4})\b"));
static EMBEDDED: LazyLock<Regex> =
    LazyLock::new(|| re(r"(?:^|\s)((?:19|20)\d{2})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}))?(?:\s|$)"));

pub(super) fn re(pattern: &str) -> Regex {
    // Digits of other scripts are not read as numbers, so they are no digits here.
    Regex::new(&format!("(?i){}", pattern.replace(r"\b", r"(?-u:\b)").replace(r"\d", "[0-9]")))
        .unwrap_or_else(|e| panic!("a date pattern is checked by tests: {e}"))
}

/// The order that a label or a remark states: `(dd/mm/yyyy)`, `JJ/MM/AAAA`, `DD.MM.YYYY`.
pub(crate) fn order_in(text: &str) -> Option<Order> {
    let t: String =
        text.chars().take(200).filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    if ["ddmmyy", "jjmmaa", "ddmmaa", "ttmmjj"].iter().any(|p| t.contains(p)) {
        Some(Order::Dmy)
    } else if t.contains("mmddyy") {
        Some(Order::Mdy)
    } else {
        None
    }
}

/// The order a date shows by itself (a number above 12), so that other dates of the same answer can be read.
pub(crate) fn order_shown(value: &str) -> Option<Order> {
    let c = NUMERIC.captures(value.trim())?;
    let (a, b): (u8, u8) = (c[1].parse().ok()?, c[3].parse().ok()?);
    match (a > 12, b > 12) {
        (true, false) => Some(Order::Dmy),
        (false, true) => Some(Order::Mdy),
        _ => None,
    }
}

/// Words that may stand before a date.
const LEADS: &[&str] = &[
    "before ", "on ", "since ", "until ", "till ", "at ", "from ", "the ", "le ", "el ", "am ", "den ", "il ",
];

/// Reads a date; `order` says how to read dates written with numbers only.
pub(crate) fn parse(value: &str, order: Option<Order>) -> Result<StatedTime, NoDate> {
    parse_side(value, order, Side::Either)
}

/// The date without what stands before it, and the lead words that did.
fn unled(value: &str) -> (&str, Vec<&'static str>) {
    let mut v = value.trim_start_matches(|c: char| c.is_whitespace() || "\"'([=:~-".contains(c));
    let mut leads = Vec::new();
    for lead in LEADS {
        if v.get(..lead.len()).is_some_and(|head| head.eq_ignore_ascii_case(lead)) {
            v = v[lead.len()..].trim_start();
            leads.push(lead.trim_end());
        }
    }
    (skip_weekday(v), leads)
}

/// The moment a text begins with, and what follows its date.
fn read(v: &str, order: Option<Order>) -> Result<(StatedTime, &str), NoDate> {
    if let Some(moment) = epoch_seconds(v) {
        return Ok((StatedTime::Instant(moment, Offset::UTC), ""));
    }
    let (date, after, ctime) = date_part(v, order)?;
    let (rest, zone_hint) = match &ctime {
        Some((time, zone)) => (time.as_str(), zone.as_deref()),
        None => (after, None),
    };
    let Some((time, rest)) = time_part(rest) else { return Ok((StatedTime::Date(date), after)) };
    let zone = zone_hint.unwrap_or(rest);
    if time.either_half && half_day(zone) {
        return Ok((StatedTime::Date(date), after));
    }
    let days = i64::from(time.next_day);
    let local = DateTime::from_parts(date, time.clock).checked_add(days.days()).map_err(|_| NoDate::Not)?;
    let read = match zone_part(zone) {
        Some(o) => TimeZone::fixed(o)
            .to_ambiguous_timestamp(local)
            .compatible()
            .map(|t| StatedTime::Instant(t, o))
            .map_err(|_| NoDate::Not)?,
        None => StatedTime::Local(local),
    };
    Ok((read, after))
}

/// Seconds since 1970, ten digits; not where the digits may as well be a year, a month, a day and an hour.
fn epoch_seconds(v: &str) -> Option<Timestamp> {
    if v.len() != 10
        || !v.bytes().all(|b| b.is_ascii_digit())
        || date(&v[..4], num(&v[4..6]), num(&v[6..8])).is_ok()
    {
        return None;
    }
    let at = Timestamp::from_second(v.parse().ok()?).ok()?;
    let day = TimeZone::UTC.to_datetime(at).date();
    // Nine digits end in September 2001; from there on, and no later than any other date may be.
    (at.as_second() >= 1_000_000_000 && plausible(day)).then_some(at)
}

/// How names of weekdays begin: English, French, Spanish, German, Dutch.
const WEEKDAYS: &[&str] = &[
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "lun", "mar", "mer", "mie", "jeu", "jue", "ven", "vie",
    "sam", "dim", "dom", "die", "mit", "don", "fre", "son", "maa", "din", "woe", "vri", "zat", "zon",
];

fn skip_weekday(v: &str) -> &str {
    let end = v.find(|c: char| !c.is_alphabetic()).unwrap_or(v.len());
    let day = &v[..end];
    let is_day = day.len() >= 2
        && WEEKDAYS
            .iter()
            .any(|d| day.len() >= 3 && day.is_char_boundary(3) && day[..3].eq_ignore_ascii_case(d))
        && !TABLES.words.month.contains_key(&day.to_lowercase());
    if is_day { v[end..].trim_start_matches([',', '.', ' ']) } else { v }
}

type Clock = Option<(String, Option<String>)>;

fn date_part(v: &str, order: Option<Order>) -> Result<(Date, &str, Clock), NoDate> {
    let after = |c: &regex::Captures<'_>| c.get(0).map_or(0, |m| m.end());
    if let Some(c) = CTIME.captures(v) {
        let at = |first: usize, second: usize| c.get(first).or(c.get(second)).map_or("", |m| m.as_str());
        let d = date(&c[7], month(at(1, 4))?, num(at(2, 3)))?;
        // The zone stands before the year or behind it.
        let zone = c.get(6).map_or(&v[after(&c)..], |m| m.as_str());
        return Ok((d, &v[after(&c)..], Some((format!(" {}", &c[5]), Some(zone.to_string())))));
    }
    let starts_with_digit = v.starts_with(|c: char| c.is_ascii_digit());
    if starts_with_digit {
        if let Some(c) = YMD.captures(v).filter(|c| has_day(v, c, 4)) {
            let d = date(&c[1], num(&c[3]), num(&c[4]))?;
            return Ok((d, &v[c.get(4).map_or(0, |m| m.end())..], None));
        }
        if let Some(c) = COMPACT.captures(v) {
            let d = date(&c[1], num(&c[2]), num(&c[3]))?;
            let clock = c.get(4).map(|h| {
                let second = c.get(6).map_or("00", |m| m.as_str());
                (format!(" {}:{}:{second}{}{}", h.as_str(), &c[5], &c[7], &v[after(&c)..]), None)
            });
            // A `T` that the pattern took belongs to the time.
            let end = c.get(3).map_or(0, |m| m.end());
            return Ok((d, &v[end..], clock));
        }
        if let Some(c) = NUMERIC.captures(v) {
            let (a, b) = (num(&c[1]), num(&c[3]));
            let shown = match (a > 12, b > 12) {
                (true, false) => Some(Order::Dmy),
                (false, true) => Some(Order::Mdy),
                _ if a == b => Some(Order::Dmy),
                // No one writes month first with dots.
                _ if &c[2] == "." => Some(Order::Dmy),
                _ => order.filter(|o| *o != Order::Ymd),
            };
            let (day, month) = match shown {
                Some(Order::Mdy) => (b, a),
                Some(_) => (a, b),
                None => return Err(NoDate::Ambiguous),
            };
            return Ok((date(&c[4], month, day)?, &v[after(&c)..], None));
        }
        if let Some(c) = DMONY.captures(v) {
            let d = date(&c[3], month(&c[2])?, num(&c[1]))?;
            return Ok((d, &v[after(&c)..], None));
        }
        if let Some(c) = YMOND.captures(v).filter(|c| has_day(v, c, 3)) {
            let d = date(&c[1], month(&c[2])?, num(&c[3]))?;
            return Ok((d, &v[after(&c)..], None));
        }
    } else {
        if let Some(c) = MONDY.captures(v) {
            let d = date(&c[3], month(&c[1])?, num(&c[2]))?;
            return Ok((d, &v[after(&c)..], None));
        }
    }
    // RIPE style: `hostmaster@example.net 20080711`, `EX1-UANIC 20080711101112`.
    let by_whom =
        v.contains('@') || v.to_ascii_uppercase().contains(" AT ") || v.split_whitespace().nth(2).is_none();
    if by_whom && let Some(c) = EMBEDDED.captures(v) {
        let clock = c.get(4).map(|h| (format!(" {}:{}:{}", h.as_str(), &c[5], &c[6]), None));
        return Ok((date(&c[1], num(&c[2]), num(&c[3]))?, &v[after(&c)..], clock));
    }
    Err(NoDate::Not)
}

/// False for `2031-09 10:00`, whose last number is an hour: a month and a time are no date.
fn has_day(v: &str, found: &regex::Captures<'_>, day: usize) -> bool {
    let Some(day) = found.get(day) else { return false };
    let apart = v[..day.start()].ends_with(|c: char| c.is_whitespace() || c.is_control());
    !(apart && v[day.end()..].starts_with(':'))
}

pub(super) fn num(s: &str) -> i8 {
    s.parse().unwrap_or(0)
}

pub(super) fn month(word: &str) -> Result<i8, NoDate> {
    TABLES.words.month.get(&word.to_lowercase()).copied().ok_or(NoDate::Not)
}

/// A calendar date that a registration can have; zero years and other placeholders are none.
pub(super) fn date(year: &str, month: i8, day: i8) -> Result<Date, NoDate> {
    let year: i16 = year.parse().map_err(|_| NoDate::Not)?;
    let d = Date::new(year, month, day).map_err(|_| NoDate::Not)?;
    if plausible(d) { Ok(d) } else { Err(NoDate::Not) }
}

/// Registrations begin and end in these years; the very first day of Unix time is a placeholder.
fn plausible(day: Date) -> bool {
    let epoch = day.year() == 1970 && day.month() == 1 && day.day() == 1;
    (1970..=2200).contains(&day.year()) && !epoch
}
