//! Dates as WHOIS servers write them. In: a value, and what is known of the order of day and month; out: a
//! [`StatedTime`] with exactly the precision of the text, or `None`. An order that nobody states is never guessed.

mod clock;
#[cfg(test)]
mod forms;

use super::tables::{Order, TABLES};
use clock::{time_part, zone_part};
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
    let value: String = value.chars().take(120).collect();
    let mut v = value.trim_start_matches(|c: char| c.is_whitespace() || "\"'([=:~-".contains(c));
    for lead in LEADS {
        let led = v.get(..lead.len()).is_some_and(|head| head.eq_ignore_ascii_case(lead));
        v = if led { v[lead.len()..].trim_start() } else { v };
    }
    let v = skip_weekday(v);
    if let Some(moment) = epoch_seconds(v) {
        return Ok(StatedTime::Instant(moment, Offset::UTC));
    }
    let (date, rest, ctime) = date_part(v, order)?;
    let (rest, zone_hint) = match &ctime {
        Some((time, zone)) => (time.as_str(), zone.as_deref()),
        None => (rest, None),
    };
    let Some((time, rest)) = time_part(rest) else { return Ok(StatedTime::Date(date)) };
    let days = i64::from(time.next_day);
    let local = DateTime::from_parts(date, time.clock).checked_add(days.days()).map_err(|_| NoDate::Not)?;
    match zone_part(zone_hint.unwrap_or(rest)) {
        Some(o) => TimeZone::fixed(o)
            .to_ambiguous_timestamp(local)
            .compatible()
            .map(|t| StatedTime::Instant(t, o))
            .map_err(|_| NoDate::Not),
        None => Ok(StatedTime::Local(local)),
    }
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
        return Ok((d, "", Some((format!(" {}", &c[5]), Some(zone.to_string())))));
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
                // Nobody writes month first with dots.
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
        return Ok((date(&c[1], num(&c[2]), num(&c[3]))?, "", clock));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(v: &str, order: Option<Order>) -> String {
        parse(v, order).map_or_else(|e| format!("{e:?}"), |t| t.to_string())
    }

    #[test]
    fn every_form_keeps_its_precision() {
        let mut bad = Vec::new();
        for (value, want) in [
            ("2018-02-09T11:59:43Z", "2018-02-09T11:59:43Z"),
            ("2018-02-09 11:59:43", "2018-02-09T11:59:43"),
            ("2019-05-17-T23:02:50Z", "2019-05-17T23:02:50Z"),
            ("2019-08-12T10:52:01-0700", "2019-08-12T10:52:01-07:00"),
            ("2017-12-16T03:58:55.24Z", "2017-12-16T03:58:55.24Z"),
            ("2002-05-15T00:00:00.0Z", "2002-05-15T00:00:00Z"),
            ("2011-07-21 18:03:50+03", "2011-07-21T18:03:50+03:00"),
            ("2011-01-23 00:00:07 +02:00", "2011-01-23T00:00:07+02:00"),
            ("2000-08-29 10:22:50 (UTC+8)", "2000-08-29T10:22:50+08:00"),
            ("1999-06-07 13:01:43 (GMT+0:00)", "1999-06-07T13:01:43Z"),
            ("2019/06/01 04:52:02 (JST)", "2019-06-01T04:52:02+09:00"),
            ("07-01-1998 00:00:00 GMT+1", "1998-01-07T00:00:00+01:00"),
            ("07 Oct 2009 10:02 WAT", "2009-10-07T10:02:00+01:00"),
            ("23-Jun-2003 14:02:33 UTC", "2003-06-23T14:02:33Z"),
            ("Fri Sep 02 13:12:22 GMT 2011", "2011-09-02T13:12:22Z"),
            ("Tue Feb 10 18:01:05 2004", "2004-02-10T18:01:05"),
            ("Tue Dec 12 2000", "2000-12-12"),
            ("May 22 2002", "2002-05-22"),
            ("October  9 2012", "2012-10-09"),
            ("30th April 2003 at 00:00:00.000", "2003-04-30T00:00:00"),
            ("before 1 January 1996", "1996-01-01"),
            ("Before 2001", "Not"),
            ("2031-09 10:00", "Not"),
            ("2031-09- 10:00:00", "Not"),
            ("2031 Sep 10:00", "Not"),
            ("2031 Sep 10 10:00", "2031-09-10T10:00:00"),
            ("2031 09 10 10:00", "2031-09-10T10:00:00"),
            ("2031-09-10:11:12:13", "2031-09-10T11:12:13"),
            ("12/Mar/2004:10:11:12 +0000", "2004-03-12T10:11:12Z"),
            ("before Aug-1996", "Not"),
            ("15-Jul-1985", "1985-07-15"),
            ("15-Jul-85", "Not"),
            ("2012. 05. 19.", "2012-05-19"),
            ("2008.03.16 01:08:04", "2008-03-16T01:08:04"),
            ("20221101 00:10:24", "2022-11-01T00:10:24"),
            ("20221101001024", "2022-11-01T00:10:24"),
            ("19961206 #24302", "1996-12-06"),
            ("2001-Aug-23.", "2001-08-23"),
            ("15.12.2015 09:48:01", "2015-12-15T09:48:01"),
            ("5.1.2018", "2018-01-05"),
            ("2020-05-23 (YYYY-MM-DD)", "2020-05-23"),
            ("2018-02-05 22:59:12.55172", "2018-02-05T22:59:12.55172"),
            ("1/15/2010 3:45:00 PM", "2010-01-15T15:45:00"),
            ("21-March-2002", "2002-03-21"),
            ("domain-registrar AT isoc.org.il 19990605 (Assigned)", "1999-06-05"),
            ("hostmaster@example.net 20080711", "2008-07-11"),
            ("EX1-UANIC 20080711101112", "2008-07-11T10:11:12"),
            ("0000-00-00 00:00:00", "Not"),
            ("1970-01-01T00:00:00Z", "Not"),
            ("0001-01-01T00:00:00Z", "Not"),
            ("null", "Not"),
            ("2002-10-22 17:48:23 CLST", "2002-10-22T17:48:23-03:00"),
            ("2002-10-22 17:48:23 XYZT", "2002-10-22T17:48:23"),
            ("2020-02-30", "Not"),
            ("Thu, 25 Feb 2010 01:04:59 GMT", "2010-02-25T01:04:59Z"),
            ("29/07/1998 15:00:00 EEST", "1998-07-29T15:00:00+03:00"),
            ("2012-10-15 12:00:00 +0000 UTC", "2012-10-15T12:00:00Z"),
            ("Sat Sep 02 2000 13:12:22 UTC", "2000-09-02T13:12:22Z"),
            ("20-oct-2004 03:00:00 GMT-5", "2004-10-20T03:00:00-05:00"),
            ("2012-1-5", "2012-01-05"),
            ("1.2.2012.", "2012-02-01"),
            ("2008年3月4日", "2008-03-04"),
            ("2013-08-05T00:00:00.000-04:00", "2013-08-05T00:00:00-04:00"),
            ("Wed Jun 12 12:00:00 UTC 2013", "2013-06-12T12:00:00Z"),
            ("2014-08-21 10:11:12 UTC+03:00", "2014-08-21T10:11:12+03:00"),
            ("12-Mar-2004 - 10:11", "2004-03-12T10:11:00"),
            ("2012-01-02, 10:11:12", "2012-01-02T10:11:12"),
            ("4th of March 2002", "2002-03-04"),
            ("Monday 4 March, 2002", "2002-03-04"),
            ("2002-Mar-04 10:11:12 UTC", "2002-03-04T10:11:12Z"),
            ("Mar-04-2002", "2002-03-04"),
            ("20020304T101112Z", "2002-03-04T10:11:12Z"),
            ("2002-03-04T10:11Z", "2002-03-04T10:11:00Z"),
            ("2002/03/04 10:11:12+08", "2002-03-04T10:11:12+08:00"),
            ("04 Mar 2002 10:11:12 -0500", "2002-03-04T10:11:12-05:00"),
            ("2002-03-04 10:11:12 [UTC]", "2002-03-04T10:11:12Z"),
            ("2002-03-04 UTC", "2002-03-04"),
            ("04.03.2002. 10:11:12", "2002-03-04T10:11:12"),
            ("4.mar.2002", "2002-03-04"),
            ("04-MARS-2002", "2002-03-04"),
            ("lundi 4 mars 2002", "2002-03-04"),
            ("Thursday, 4-Mar-2002", "2002-03-04"),
            ("2031-13-01", "Not"),
            ("31.02.2002", "Not"),
            ("1899-12-30", "Not"),
            ("9999-12-31", "Not"),
            ("12345678", "Not"),
            ("+49 30 1234567", "Not"),
            ("2027-03-01 10:11:12 EST5EDT", "2027-03-01T10:11:12"),
            ("2027年03月01日 10:11:12", "2027-03-01T10:11:12"),
            ("2027-03-01;10:11:12", "2027-03-01T10:11:12"),
            ("1 września 2027", "2027-09-01"),
            ("1 МАРТА 2027", "2027-03-01"),
            ("2027. március 1.", "2027-03-01"),
            ("1078131905", "2004-03-01T09:05:05Z"),
            ("2004030110", "Not"),
            ("0000000001", "Not"),
            // Seconds that would end in 2223.
            ("8012408052", "Not"),
        ] {
            let got = read(value, Some(Order::Dmy));
            if got != want {
                bad.push(format!("{value}: {got} instead of {want}"));
            }
        }
        assert!(bad.is_empty(), "{bad:#?}");
    }

    #[test]
    fn the_order_of_day_and_month_is_not_guessed() {
        assert_eq!(read("06-04-2004", None), "Ambiguous");
        assert_eq!(read("06-04-2004", Some(Order::Dmy)), "2004-04-06");
        assert_eq!(read("03/02/2020", Some(Order::Mdy)), "2020-03-02");
        assert_eq!(read("16-04-2004", None), "2004-04-16");
        assert_eq!(read("05/05/2004", None), "2004-05-05");
        assert_eq!(order_in("Creation Date (dd/mm/yyyy)"), Some(Order::Dmy));
        assert_eq!(order_shown("12/18/2001"), Some(Order::Mdy));
    }
}
