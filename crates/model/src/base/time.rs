//! Dates as sources state them, and how instants are shown to people. No clock: `now` is always passed in.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A point in time with exactly the precision its source stated.
///
/// Written (and serialised) as RFC 3339 for an instant, `YYYY-MM-DDTHH:MM:SS` for a local time whose zone was
/// not stated, `YYYY-MM-DD` for a bare date. Nothing is ever added: a bare date is not midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatedTime {
    /// An instant; the offset is the one the source used (UTC when it said `Z`).
    Instant(Timestamp, Offset),
    /// A wall-clock time without a zone.
    Local(DateTime),
    /// A calendar date.
    Date(Date),
}

impl StatedTime {
    /// An instant in UTC.
    pub fn utc(at: Timestamp) -> Self {
        StatedTime::Instant(at, Offset::UTC)
    }

    /// The calendar date as the source wrote it.
    pub fn date(&self) -> Date {
        match self {
            StatedTime::Instant(t, o) => o.to_datetime(*t).date(),
            StatedTime::Local(d) => d.date(),
            StatedTime::Date(d) => *d,
        }
    }

    /// The earliest instant this can mean. A deadline is judged by it, so that an alert is never late: a local
    /// time may have been meant in UTC+14, and a bare date begins there too.
    pub fn earliest(&self) -> Timestamp {
        let east = Offset::constant(14);
        match self {
            StatedTime::Instant(t, _) => *t,
            StatedTime::Local(d) => to_timestamp(*d, east),
            StatedTime::Date(d) => to_timestamp(midnight(*d), east),
        }
    }

    /// The instant used for sorting and for counting days: UTC where no zone was stated.
    pub fn nominal(&self) -> Timestamp {
        match self {
            StatedTime::Instant(t, _) => *t,
            StatedTime::Local(d) => to_timestamp(*d, Offset::UTC),
            StatedTime::Date(d) => to_timestamp(midnight(*d), Offset::UTC),
        }
    }

    /// The first instant at which the stated time has certainly passed for a reader in UTC: the instant itself,
    /// or the end of the stated day.
    pub fn passed_at(&self) -> Timestamp {
        match self {
            StatedTime::Date(_) => plus(self.nominal(), DAY),
            _ => self.nominal(),
        }
    }

    /// True when both can mean the same moment: used so that a switch of source (an instant where there was a
    /// date) is not taken for a change.
    pub fn agrees_with(&self, other: &StatedTime) -> bool {
        use StatedTime::{Instant, Local};
        match (self, other) {
            (Instant(a, _), Instant(b, _)) => a.as_second() == b.as_second(),
            (Local(a), Local(b)) => {
                let trim = |d: &DateTime| (d.date(), d.hour(), d.minute(), d.second());
                trim(a) == trim(b)
            }
            // An instant and a local time agree when some zone offset on a quarter hour maps one to the other.
            (Instant(t, _), Local(d)) | (Local(d), Instant(t, _)) => {
                let difference = to_timestamp(*d, Offset::UTC).as_second() - t.as_second();
                difference % 900 == 0 && difference.abs() <= 14 * 3600
            }
            // A date agrees with any moment that falls on it somewhere on earth.
            (a, b) => {
                if let (Local(_), _) | (_, Local(_)) = (a, b) {
                    a.date() == b.date()
                } else if let (StatedTime::Date(x), StatedTime::Date(y)) = (a, b) {
                    x == y
                } else {
                    let (instant, date) =
                        if let Instant(t, _) = a { (*t, b.date()) } else { (b.nominal(), a.date()) };
                    let on = |h: i8| Offset::constant(h).to_datetime(instant).date();
                    on(-12) <= date && date <= on(14)
                }
            }
        }
    }

    /// True when it is another, later moment.
    pub fn is_later_than(&self, other: &StatedTime) -> bool {
        self.nominal() > other.nominal() && !self.agrees_with(other)
    }

    /// Whole days from `now` until the stated day, negative when it is past. Counted between calendar days in UTC.
    pub fn days_from(&self, now: Timestamp) -> i64 {
        let today = Offset::UTC.to_datetime(now).date();
        let day = Offset::UTC.to_datetime(self.nominal()).date();
        days_between(today, day)
    }
}

fn to_timestamp(d: DateTime, offset: Offset) -> Timestamp {
    offset.to_timestamp(d).unwrap_or(Timestamp::MAX)
}

fn midnight(d: Date) -> DateTime {
    d.to_datetime(jiff::civil::Time::midnight())
}

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// So many seconds later (earlier when negative), at most the last instant there is. Seconds rather than jiff's calendar
/// spans, which would be a part of what browsers load.
pub fn plus(at: Timestamp, seconds: i64) -> Timestamp {
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let second = at.as_second().saturating_add(seconds).clamp(first, last);
    Timestamp::new(second, at.subsec_nanosecond()).unwrap_or(at)
}

/// The first day of the month that many months after that of a date.
pub fn first_of_month_after(d: Date, months: i16) -> Option<Date> {
    let month = i16::from(d.month()) - 1 + months;
    let number = i8::try_from(month.rem_euclid(12) + 1).ok()?;
    Date::new(d.year().checked_add(month.div_euclid(12))?, number, 1).ok()
}

/// Days from one date to another, negative when the other is earlier.
pub fn days_between(from: Date, to: Date) -> i64 {
    let day = |d| to_timestamp(midnight(d), Offset::UTC).as_second().div_euclid(DAY);
    day(to) - day(from)
}

impl fmt::Display for StatedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatedTime::Instant(t, o) if o.is_zero() => write!(f, "{t}"),
            StatedTime::Instant(t, o) => write!(f, "{}", t.display_with_offset(*o)),
            StatedTime::Local(d) => write!(f, "{d}"),
            StatedTime::Date(d) => write!(f, "{d}"),
        }
    }
}

/// A text that is none of the three forms of [`StatedTime`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("“{0}” is not a date (YYYY-MM-DD), a local time (YYYY-MM-DDTHH:MM:SS) or an RFC 3339 instant")]
pub struct NotATime(pub String);

impl FromStr for StatedTime {
    type Err = NotATime;

    fn from_str(s: &str) -> Result<Self, NotATime> {
        let refuse = || NotATime(s.chars().take(64).collect());
        if !s.is_ascii() || s.len() < 10 {
            return Err(refuse());
        }
        if s.len() == 10 {
            return s.parse().map(StatedTime::Date).map_err(|_| refuse());
        }
        if let Ok(t) = s.parse::<Timestamp>() {
            return Ok(StatedTime::Instant(t, offset_of(s).unwrap_or(Offset::UTC)));
        }
        if s.contains(['[', 'Z', 'z']) {
            return Err(refuse());
        }
        s.parse().map(StatedTime::Local).map_err(|_| refuse())
    }
}

/// The numeric offset at the end of an RFC 3339 text.
fn offset_of(s: &str) -> Option<Offset> {
    let tail = s.get(s.len().checked_sub(6)?..)?;
    let sign = match tail.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (h, m) = tail[1..].split_once(':')?;
    let seconds = h.parse::<i32>().ok()? * 3600 + m.parse::<i32>().ok()? * 60;
    Offset::from_seconds(sign * seconds).ok()
}

impl Serialize for StatedTime {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StatedTime {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = String::deserialize(d)?;
        s.parse().map_err(serde::de::Error::custom)
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date as people read it here: `Jul 6, 2029`.
pub fn human_date(d: Date) -> String {
    format!("{} {}, {}", MONTHS[usize::from(d.month().unsigned_abs()) - 1], d.day(), d.year())
}

/// The UTC date of an instant as people read it: `Jul 6, 2029`.
pub fn human_day(t: Timestamp) -> String {
    human_date(Offset::UTC.to_datetime(t).date())
}

/// Date and time in UTC: `Nov 20, 2026, 14:05 UTC`.
pub fn human_instant(t: Timestamp) -> String {
    let d = Offset::UTC.to_datetime(t);
    format!("{}, {:02}:{:02} UTC", human_date(d.date()), d.hour(), d.minute())
}

/// Clock time in UTC: `14:05`.
pub fn human_clock(t: Timestamp) -> String {
    let d = Offset::UTC.to_datetime(t);
    format!("{:02}:{:02}", d.hour(), d.minute())
}

/// How long ago (or ahead) `t` is, in words: `4 minutes ago`, `in 3 days`, `just now`.
pub fn relative(t: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - t.as_second();
    let past = seconds >= 0;
    let s = seconds.abs();
    let (n, unit) = match s {
        0..45 => return if past { "just now".into() } else { "in a moment".into() },
        45..3600 => ((s + 30).max(60) / 60, "minute"),
        3600..86_400 => (s / 3600, "hour"),
        86_400..5_184_000 => (s / 86_400, "day"),
        5_184_000..63_072_000 => (s / 2_629_800, "month"),
        _ => (s / 31_557_600, "year"),
    };
    let plural = if n == 1 { "" } else { "s" };
    if past { format!("{n} {unit}{plural} ago") } else { format!("in {n} {unit}{plural}") }
}

/// A span of seconds in words: `45 s`, `5 min`, `2 h 5 min`, `1 day`, `2 days 3 h`.
pub fn human_seconds(s: u64) -> String {
    let (d, h, m, r) = (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    let days = |d| if d == 1 { "1 day".to_string() } else { format!("{d} days") };
    match (d, h, m, r) {
        (0, 0, 0, r) => format!("{r} s"),
        (0, 0, m, 0) => format!("{m} min"),
        (0, 0, m, r) => format!("{m} min {r} s"),
        (0, h, 0, _) => format!("{h} h"),
        (0, h, m, _) => format!("{h} h {m} min"),
        (d, 0, ..) => days(d),
        (d, h, ..) => format!("{} {h} h", days(d)),
    }
}

/// A clock time in UTC; with its date when it is not on the day of `now`.
pub fn clock(at: Timestamp, now: Timestamp) -> String {
    let day = |t| Offset::UTC.to_datetime(t).date();
    let (d, today) = (day(at), day(now));
    if d == today {
        human_clock(at)
    } else if today.tomorrow().is_ok_and(|t| t == d) {
        format!("{} tomorrow", human_clock(at))
    } else {
        format!("{}, {}", human_date(d), human_clock(at))
    }
}

/// The same with its zone, for the middle of a sentence: `14:41 UTC`, `09:48 UTC tomorrow`, `Nov 22, 2026, 14:05 UTC`.
pub fn clock_utc(at: Timestamp, now: Timestamp) -> String {
    let words = clock(at, now);
    match words.strip_suffix(" tomorrow") {
        Some(time) => format!("{time} UTC tomorrow"),
        None => format!("{words} UTC"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;

    fn st(s: &str) -> StatedTime {
        s.parse().unwrap()
    }

    #[test]
    fn three_forms_round_trip() {
        for s in [
            "2029-07-06T13:58:57Z",
            "2019-08-17T16:33:24.36Z",
            "2020-09-14T04:00:00+08:00",
            "2020-09-14T04:00:00-03:30",
            "2020-09-14T04:00:00",
            "2020-09-14",
        ] {
            assert_eq!(st(s).to_string(), s);
        }
        for bad in ["", "yesterday", "2020-13-01", "2020-02-30", "14.09.2020", "2020-09-14T25:00:00"] {
            assert!(bad.parse::<StatedTime>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_switch_of_precision_is_not_a_change() {
        assert!(st("2029-07-06").agrees_with(&st("2029-07-06T13:58:57Z")));
        assert!(st("2029-07-06T13:58:57Z").agrees_with(&st("2029-07-06T15:58:57+02:00")));
        assert!(st("2029-07-06T15:58:57").agrees_with(&st("2029-07-06T13:58:57Z")));
        assert!(!st("2029-07-06T15:58:58").agrees_with(&st("2029-07-06T13:58:57Z")));
        assert!(!st("2030-07-06").agrees_with(&st("2029-07-06T13:58:57Z")));
        assert!(!st("2029-07-06").agrees_with(&st("2029-07-07")));
    }

    #[test]
    fn seconds_and_days_are_counted() {
        let at: Timestamp = "2026-02-27T23:59:59.5Z".parse().unwrap();
        assert_eq!(plus(at, 1).to_string(), "2026-02-28T00:00:00.5Z");
        assert_eq!(plus(at, -2 * DAY).to_string(), "2026-02-25T23:59:59.5Z");
        assert_eq!(plus("1969-12-31T23:59:59.5Z".parse().unwrap(), 1).to_string(), "1970-01-01T00:00:00.5Z");
        assert_eq!(plus(Timestamp::MAX, i64::MAX), Timestamp::MAX);
        let day = |s: &str| s.parse::<Date>().unwrap();
        assert_eq!(days_between(day("2024-02-28"), day("2024-03-01")), 2);
        assert_eq!(first_of_month_after(day("2026-11-30"), 3), Some(day("2027-02-01")));
        assert_eq!(days_between(day("1970-01-02"), day("1969-12-31")), -2);
    }

    #[test]
    fn words_for_spans() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        assert_eq!(relative(now, now), "just now");
        assert_eq!(relative(now - 4.minutes(), now), "4 minutes ago");
        assert_eq!(relative(now + 49.hours(), now), "in 2 days");
        assert_eq!(human_seconds(7500), "2 h 5 min");
        assert_eq!(human_seconds(86_400), "1 day");
        assert_eq!(st("2026-12-13").days_from(now), 23);
        assert_eq!(st("2026-11-18").days_from(now), -2);
    }
}
