//! Dates of an RDAP answer: its events (RFC 9083 section 4.5). In: the domain object; out: the date of an action. The
//! words servers use for the actions are `data/rdap_words.toml`.

use super::{cut, list};
use crate::whois::read_date;
use model::Timestamp;
use model::time::StatedTime;
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

/// What happened, or will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    Registration,
    #[serde(rename = "last changed")]
    LastChanged,
    Expiration,
    #[serde(rename = "registrar expiration")]
    RegistrarExpiration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    action: Action,
    words: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

static WORDS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        event: Vec<Row>,
    }
    toml::from_str::<File>(include_str!("../../data/rdap_words.toml"))
        .unwrap_or_else(|e| panic!("data/rdap_words.toml is checked by a test: {e}"))
        .event
});

/// Letters only, lower case.
fn letters(text: &str) -> String {
    text.chars().take(60).filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

impl Action {
    /// Where a word stands among those of this action; the registered one is the first.
    fn rank(self, word: &str) -> Option<usize> {
        let row = WORDS.iter().find(|r| r.action == self)?;
        row.words.iter().position(|w| letters(w) == word)
    }

    /// The action as the RFC names it.
    fn name(self) -> &'static str {
        match self {
            Action::Registration => "registration",
            Action::LastChanged => "last changed",
            Action::Expiration => "expiration",
            Action::RegistrarExpiration => "registrar expiration",
        }
    }

    /// Of several dates of one action: a name is registered once, and changed and renewed again and again.
    fn is_better(self, new: &StatedTime, kept: &StatedTime) -> bool {
        match self {
            Action::Registration => new.nominal() < kept.nominal(),
            _ => new.nominal() > kept.nominal(),
        }
    }
}

/// The date of an action; the registered word counts more than others, and of equal words the better date.
pub(super) fn date(answer: &Value, action: Action, warnings: &mut Vec<String>) -> Option<StatedTime> {
    let mut best: Option<(usize, StatedTime)> = None;
    let mut differ = false;
    for e in list(answer, "events") {
        let Some(word) = e.get("eventAction").and_then(Value::as_str) else { continue };
        let Some(rank) = action.rank(&letters(word)) else { continue };
        let Some(stated) = e.get("eventDate").filter(|d| !d.is_null()) else { continue };
        let Some(time) = time(stated) else {
            let what = stated.as_str().map_or_else(|| stated.to_string(), str::to_string);
            warnings.push(format!("“{}” of {} is not a date", cut(&what), action.name()));
            continue;
        };
        best = match best {
            Some((r, kept)) if r < rank || r == rank && !action.is_better(&time, &kept) => {
                differ |= r == rank && !kept.agrees_with(&time);
                Some((r, kept))
            }
            Some((r, kept)) => {
                differ |= r == rank && !kept.agrees_with(&time);
                Some((rank, time))
            }
            None => Some((rank, time)),
        };
    }
    // Changes may be a history; a second beginning or end is odd.
    if differ && action != Action::LastChanged {
        let which = if action == Action::Registration { "first" } else { "last" };
        warnings.push(format!("several dates of {} are stated; the {which} is taken", action.name()));
    }
    best.map(|(_, time)| time)
}

/// A date as text, or as seconds or milliseconds since 1970.
fn time(stated: &Value) -> Option<StatedTime> {
    match stated {
        Value::String(text) => read_date(text).or_else(|| {
            let text = text.trim();
            // A count of seconds has no zero in front.
            let digits = matches!(text.len(), 9 | 10 | 13)
                && text.bytes().all(|b| b.is_ascii_digit())
                && !text.starts_with('0');
            digits.then(|| text.parse().ok()).flatten().and_then(since_1970)
        }),
        Value::Number(n) => since_1970(n.as_i64()?),
        _ => None,
    }
}

/// The first name under a generic TLD was registered in 1985; smaller numbers are no instants.
const FIRST: i64 = 473_385_600;

fn since_1970(number: i64) -> Option<StatedTime> {
    let seconds = if number >= 1000 * FIRST { number / 1000 } else { number };
    let at = Timestamp::from_second(seconds).ok().filter(|_| seconds >= FIRST)?;
    // Written out, so that what is no date of a registration is refused by the same rules.
    read_date(&at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_load_and_mean_one_action_each() {
        let mut seen = std::collections::HashSet::new();
        for row in WORDS.iter() {
            assert!(!row.source.is_empty());
            assert_eq!(row.words.first().map(String::as_str), Some(row.action.name()));
            for w in &row.words {
                assert!(seen.insert(letters(w)), "{w}");
            }
        }
    }

    #[test]
    fn numbers_are_dates_only_where_a_registration_can_be() {
        let at = |v: serde_json::Value| time(&v).map(|t| t.to_string());
        assert_eq!(at(serde_json::json!(981_173_106)).as_deref(), Some("2001-02-03T04:05:06Z"));
        assert_eq!(at(serde_json::json!(981_173_106_000_i64)).as_deref(), Some("2001-02-03T04:05:06Z"));
        assert_eq!(at(serde_json::json!("981173106")).as_deref(), Some("2001-02-03T04:05:06Z"));
        assert_eq!(at(serde_json::json!("20010203")).as_deref(), Some("2001-02-03"));
        for no in [
            serde_json::json!(0),
            serde_json::json!(-1),
            serde_json::json!(i64::MAX),
            serde_json::json!(1.5),
            serde_json::json!("0698499659"),
        ] {
            assert_eq!(at(no), None);
        }
    }
}
