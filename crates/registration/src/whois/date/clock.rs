//! The time of day and the zone behind a date, as WHOIS servers write them. In: what follows a date; out: a time, an
//! offset, or nothing where the text states none that can be read.

use super::super::tables::TABLES;
use super::{num, re};
use jiff::civil::Time;
use jiff::tz::Offset;
use regex::Regex;
use std::sync::LazyLock;

/// What may stand between a date and its time.
const LEAD: &str = r"(?:\s*-?T|\s+-\s|[\s,.;_日일(]+|\s*(?:at|à|um|kl\.?|om|alle|a las|às|o|в|о|klo)\s+)*";

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"^{LEAD}(\d{{1,2}})(?::|\s?[h時时시]\s?)(\d{{1,2}})(?:[:m分분]\s?(\d{{1,2}})(?:[.,:](\d{{1,9}})\d*)?)?\s*([ap]\.?m\b\.?)?"
    ))
});
/// `T101112`, ` 10.11.12`, `-10:11:12`, `:10:11:12`: forms that need all three numbers to be a time.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(?:T(\d{2})(\d{2})(\d{2})|[\s,]+(\d{1,2})\.(\d{2})\.(\d{2})(?:\s|$)|[-/:](\d{2}):(\d{2}):(\d{2})\b)",
    )
});
static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^[(\[]?\s*(?:UTC|GMT|Z)?\s*([-+−])\s?(\d{1,2})(?::?(\d{2}))?\s*[)\]]?(?:\s|\)|\[|$)")
});

/// A time of day; the last moment of a day may be written as the first of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub clock: Time,
    /// `24:00:00`.
    pub next_day: bool,
}

/// The time a text begins with, and what follows it.
pub(super) fn time_part(rest: &str) -> Option<(Clock, &str)> {
    let whole = WHOLE.captures(rest);
    let (numbers, end, nano) = if let Some(c) = &whole {
        let all: Vec<i8> = c.iter().skip(1).flatten().map(|m| num(m.as_str())).collect();
        ([*all.first()?, *all.get(1)?, *all.get(2)?], c.get(0)?.end(), 0)
    } else {
        let c = TIME.captures(rest)?;
        // `9:5:3` is a time; `00:0` is one that broke off (found by fuzzing).
        if c[2].len() == 1 && c.get(3).is_none() {
            return None;
        }
        let hour = match c.get(5) {
            Some(half) => of_half(num(&c[1]), half.as_str().starts_with(['p', 'P'])),
            None => num(&c[1]),
        };
        let second = c.get(3).map_or(0, |m| num(m.as_str()));
        let nano = c.get(4).map_or(0, |m| format!("{:0<9}", m.as_str()).parse().unwrap_or(0));
        ([hour, num(&c[2]), second], c.get(0)?.end(), nano)
    };
    let [hour, minute, second] = numbers;
    let next_day = numbers == [24, 0, 0];
    // A leap second is the last second of its minute.
    let clock = Time::new(if next_day { 0 } else { hour }, minute, second.min(59), nano).ok()?;
    (second <= 60).then_some((Clock { clock, next_day }, &rest[end..]))
}

/// The hour of a clock of twelve.
fn of_half(hour: i8, afternoon: bool) -> i8 {
    match (afternoon, hour) {
        (true, h @ 1..=11) => h + 12,
        (false, 12) => 0,
        (_, h) => h,
    }
}

/// The offset a text begins with: `Z`, `+02:00`, `-0700`, `+03`, `UTC`, `(UTC+8)`, `(GMT+0:00)`, `(JST)`, `WAT`.
pub(super) fn zone_part(rest: &str) -> Option<Offset> {
    let r = rest.trim_start_matches([' ', '\t', '秒', '초']);
    let r = r.strip_prefix("Uhr").unwrap_or(r).trim_start();
    if r.starts_with(['Z', 'z']) && !r[1..].starts_with(|c: char| c.is_alphanumeric()) {
        return Some(Offset::UTC);
    }
    if let Some(c) = OFFSET.captures(r) {
        let h: i32 = c[2].parse().ok()?;
        let m: i32 = c.get(3).map_or(Ok(0), |m| m.as_str().parse()).ok()?;
        let s = h * 3600 + m * 60;
        if h > 14 || m > 59 {
            return None;
        }
        return Offset::from_seconds(if &c[1] == "+" { s } else { -s }).ok();
    }
    let r = r.trim_start_matches(['(', '[', ' ']);
    let r = r.strip_prefix("Etc/").unwrap_or(r);
    // `U.T.C.`
    let end = r.find(|c: char| !c.is_ascii_alphabetic() && c != '.').unwrap_or(r.len());
    let name: String = r[..end].chars().filter(char::is_ascii_alphabetic).collect();
    if r[end..].starts_with(|c: char| c.is_alphanumeric() || c == '/') {
        // `EST5EDT` is half the year another zone.
        return None;
    }
    let minutes = TABLES.words.zone.get(&name.to_ascii_lowercase())?;
    Offset::from_seconds(minutes * 60).ok()
}
