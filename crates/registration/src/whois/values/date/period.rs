//! Which day of a period a value means: a registration expires on the last one, and begins on no day "until" which it
//! lasts. In: a value and the side wanted; out: a [`StatedTime`], or nothing where the text has no such side.

use super::{NoDate, date_part, read, skip_weekday, unled};
use crate::whois::vocabulary::tables::Order;
use model::time::StatedTime;

/// What a date is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Either,
    Start,
    End,
}

/// Words and signs between the two days of a period.
const JOINS: &[&str] = &[
    "-", "–", "—", "−", "~", "～", "/", "..", "...", "->", "→", "to", "until", "till", "through", "bis",
    "tot", "t/m", "do", "до", "по", "a", "al", "au", "à", "e", "och", "til", "asti", "至", "到", "から",
];

/// Reads the wanted side of a date or period; `order` says how to read dates written with numbers only.
pub(crate) fn parse_side(value: &str, order: Option<Order>, side: Side) -> Result<StatedTime, NoDate> {
    let value: String = value.chars().take(120).collect();
    let (v, leads) = unled(&value);
    let led = |words: &[&str]| leads.iter().any(|l| words.contains(l));
    match side {
        Side::Either => read(v, order).map(|(t, _)| t),
        Side::Start if led(&["until", "till"]) => Err(NoDate::Not),
        Side::Start => read(v, order).map(|(t, _)| t),
        Side::End => end(v, order, led(&["from", "since"])),
    }
}

/// The last day; of a text that only begins a period, nothing.
fn end(v: &str, order: Option<Order>, begins: bool) -> Result<StatedTime, NoDate> {
    let (first, rest) = read(v, order)?;
    let alone = if begins { Err(NoDate::Not) } else { Ok(first) };
    let Some((at, next)) = next_date(rest, order) else { return alone };
    match next? {
        // `2031-01-01 (renewed 2030-01-01)`: not a period.
        day if day <= first.date() => alone,
        _ if joined(&rest[..at]) => end(skip_weekday(&rest[at..]), order, false),
        // `2031-01-01 (grace period to 2031-03-01)`: which of them is meant?
        _ => Err(NoDate::Not),
    }
}

/// Where another full date begins, and which day it is.
fn next_date(rest: &str, order: Option<Order>) -> Option<(usize, Result<jiff::civil::Date, NoDate>)> {
    let mut before = '0';
    for (at, c) in rest.char_indices() {
        let starts = if c.is_ascii_digit() {
            !before.is_ascii_alphanumeric()
        } else {
            c.is_alphabetic() && !before.is_alphanumeric()
        };
        before = c;
        if !starts {
            continue;
        }
        match date_part(skip_weekday(&rest[at..]), order) {
            Ok((day, ..)) => return Some((at, Ok(day))),
            Err(NoDate::Ambiguous) => return Some((at, Err(NoDate::Ambiguous))),
            Err(NoDate::Not) => {}
        }
    }
    None
}

/// True when nothing stands between two days but the time of the first and what makes them a period.
fn joined(between: &str) -> bool {
    let clock = |w: &str| {
        let zone = w.len() <= 5 && w.bytes().all(|b| b.is_ascii_uppercase());
        zone || w.chars().all(|c| c.is_ascii_digit() || ":.,+-()TZ".contains(c))
    };
    between.split_whitespace().all(|w| JOINS.contains(&w.to_lowercase().as_str()) || clock(w))
}
