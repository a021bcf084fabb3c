//! The time of day and the zone behind a date, as WHOIS servers write them. In: what follows a date; out: a time, an
//! offset, or nothing where the text states none that can be read.

use super::{num, re};
use crate::whois::vocabulary::tables::TABLES;
use jiff::civil::Time;
use jiff::tz::Offset;
use regex::Regex;
use std::sync::LazyLock;

/// What may stand between a date and its time.
const LEAD: &str = r"(?:\s*-?T|\s+-\s|[\s,.;_日일(]+|\s*(?:at|à|um|kl\.?|om|alle|a las|às|o|в|о|klo)\s+)*";

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"^{LEAD}(\d{{1,2}})(?::|\s?[h時时시]\s?)(\d{{1,2}})(?:[:m分분]\s?(\d{{1,2}})(?:[.,:](\d{{1,9}})\d*)?)?\s*([ap]\.?\s?m\b\.?)?"
    ))
});
/// `T101112`, ` 10.11.12`, `-10:11:12`, `:10:11:12`: forms that need all three numbers to be a time.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(?:T(\d{2})(\d{2})(\d{2})|[\s,]+(\d{1,2})\.(\d{2})\.(\d{2})(?:\s|$)|[-/:](\d{2}):(\d{2}):(\d{2})\b)",
    )
});
static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^[(\[]?\s*(?:UTC|GMT|Z)?\s*([-+−])\s?(\d{1,2})(?::?(\d{2}))?\s*[)\]]?(?:\s|\)|\[|[.,;]?(?:\s|$))")
});

/// A time of day; the last moment of a day may be written as the first of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub clock: Time,
    /// `24:00:00`.
    pub next_day: bool,
    /// The hour may be of a clock of twelve, and nothing that was read says of which half of the day.
    pub either_half: bool,
}

/// The time a text begins with, and what follows it.
pub(super) fn time_part(rest: &str) -> Option<(Clock, &str)> {
    let whole = WHOLE.captures(rest);
    let mut half_stated = false;
    let (numbers, end, nano) = if let Some(c) = &whole {
        let all: Vec<i8> = c.iter().skip(1).flatten().map(|m| num(m.as_str())).collect();
        ([*all.first()?, *all.get(1)?, *all.get(2)?], c.get(0)?.end(), 0)
    } else {
        let c = TIME.captures(rest)?;
        // `9:5:3` is a time; `00:0` is one that broke off (found by fuzzing).
        if c[2].len() == 1 && c.get(3).is_none() {
            return None;
        }
        half_stated = c.get(5).is_some();
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
    let either_half = !half_stated && (1..=12).contains(&hour);
    (second <= 60).then_some((Clock { clock, next_day, either_half }, &rest[end..]))
}

/// The hour of a clock of twelve.
fn of_half(hour: i8, afternoon: bool) -> i8 {
    match (afternoon, hour) {
        (true, h @ 1..=11) => h + 12,
        (false, 12) => 0,
        (_, h) => h,
    }
}

/// Words for the halves of the day, without dots: Greek, Vietnamese, Turkish, Swedish, Finnish, Albanian, Hungarian,
/// Ukrainian, Arabic, Persian, Chinese, Japanese, Korean, German, Spanish, Portuguese, French, English.
const HALF_DAYS: &[&str] = &[
    "μμ",
    "πμ",
    "μ",
    "π",
    "ch",
    "sa",
    "ös",
    "öö",
    "em",
    "fm",
    "ip",
    "ap",
    "md",
    "pd",
    "de",
    "du",
    "дп",
    "пп",
    "م",
    "ص",
    "بظ",
    "قظ",
    "下午",
    "上午",
    "午後",
    "午前",
    "오전",
    "오후",
    "vormittags",
    "nachmittags",
    "morgens",
    "abends",
    "tarde",
    "mañana",
    "noche",
    "manhã",
    "noite",
    "matin",
    "soir",
    "morning",
    "afternoon",
    "evening",
    "noon",
    "a",
    "p",
    "odp",
    "dop",
    "pop",
];

/// True when a word for half of the day follows a time, so that its hour is not known.
pub(super) fn half_day(rest: &str) -> bool {
    let word = rest.trim_start_matches([' ', '\t', '(', ',', '秒', '초']);
    let end = word.find(|c: char| !c.is_alphabetic() && c != '.').unwrap_or(word.len());
    let word: String = word[..end].chars().filter(|c| *c != '.').flat_map(char::to_lowercase).collect();
    HALF_DAYS.contains(&word.as_str())
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
    if shifted(&r[end..]) {
        // An offset that was not understood, or of which the sign says the opposite (`Etc/GMT+5`).
        return None;
    }
    let upper = name.bytes().all(|b| b.is_ascii_uppercase());
    let name = name.to_ascii_lowercase();
    // Small letters may be a word: `tot nu` is no Tongan time.
    let word = WORDS.contains(&name.as_str()) || r[end..].chars().any(char::is_alphanumeric);
    if !upper && word && !matches!(name.as_str(), "utc" | "gmt" | "z" | "zulu") {
        return None;
    }
    let minutes = TABLES.words.zone.get(&name)?;
    Offset::from_seconds(minutes * 60).ok()
}

/// Names of zones that are words of a language as well.
const WORDS: &[&str] = &[
    "tot", "met", "get", "cat", "bot", "pet", "eat", "ret", "art", "est", "wit", "wet", "west", "mut", "cot",
    "aft",
];

/// True when an offset other than none follows the name of a zone: `UTC+3`, not `MSK+00:00`.
fn shifted(rest: &str) -> bool {
    let Some(offset) = rest.trim_start().strip_prefix(['+', '-', '−']) else { return false };
    let offset = offset.trim_start();
    let end = offset.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(offset.len());
    offset[..end].bytes().any(|b| matches!(b, b'1'..=b'9'))
}
