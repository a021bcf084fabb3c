//! What forms say about checks: an interval and the days of reminders.

use model::checks::{Checks, INTERVALS, checked_interval, interval_words};
use model::expiry::parse_days;
use service::ApiError;

fn refused(e: &str) -> ApiError {
    ApiError::invalid(format!("{}.", e.trim_end_matches('.')))
}

/// The fields of a form: seconds, and days separated by commas. Empty ones follow what is set above.
///
/// # Errors
/// A sentence that names the value and the rule.
pub fn read_checks(interval: &str, days: &str) -> Result<Checks, ApiError> {
    let (interval, days) = (interval.trim(), days.trim());
    let interval_s = match interval {
        "" => None,
        text => {
            let seconds =
                text.parse().map_err(|_| refused(&format!("“{text}” is not a number of seconds")))?;
            Some(checked_interval(seconds).map_err(|e| refused(&e))?)
        }
    };
    let expiry_days = match days {
        "" => None,
        text => Some(parse_days(text).map_err(|e| refused(&e))?),
    };
    Ok(Checks { interval_s, expiry_days })
}

/// Days as a form has them.
pub(crate) fn days_text(days: &[i64]) -> String {
    days.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The intervals that a form offers, with one that is set otherwise: value, words, whether it is set.
pub(crate) fn intervals(set: Option<i64>) -> Vec<(i64, String, bool)> {
    let mut offered: Vec<i64> = INTERVALS.iter().map(|(s, _)| *s).collect();
    offered.extend(set.filter(|s| !offered.contains(s)));
    offered.sort_unstable();
    offered.into_iter().map(|s| (s, sentence(&interval_words(s)), set == Some(s))).collect()
}

/// The same with a capital letter.
fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_wrong_ones_named() {
        assert!(read_checks("", " ").unwrap().is_empty());
        let checks = read_checks("900", "7, 30").unwrap();
        assert_eq!((checks.interval_s, checks.expiry_days), (Some(900), Some(vec![30, 7])));
        for (interval, days, word) in [("60", "", "5 minutes"), ("x", "", "“x”"), ("", "400", "365")] {
            let refused = read_checks(interval, days).unwrap_err();
            assert!(refused.detail.contains(word), "{refused:?}");
        }
        assert_eq!(days_text(&[30, 7]), "30, 7");
        assert!(intervals(Some(5400)).contains(&(5400, "Every 90 minutes".into(), true)));
        assert_eq!(intervals(None).len(), INTERVALS.len());
    }
}
