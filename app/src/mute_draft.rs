//! Until when a form mutes a domain.

use model::Timestamp;
use model::time::{DAY, StatedTime, plus};
use service::ApiError;

/// Days that a domain can be muted.
const DAYS_MAX: i64 = 365;

/// A number of days, or the last day (`2027-03-01`, UTC); the day wins. `None` for 0 days.
///
/// # Errors
/// A sentence that names the value and the rule.
pub(crate) fn read_mute(days: &str, until: &str, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
    let (days, until) = (days.trim(), until.trim());
    let end = if until.is_empty() {
        let days: i64 =
            days.parse().map_err(|_| ApiError::invalid(format!("“{days}” is not a number of days.")))?;
        if days == 0 {
            return Ok(None);
        }
        if !(0..=DAYS_MAX).contains(&days) {
            return Err(out_of_range());
        }
        plus(now, days * DAY)
    } else {
        let day = until
            .parse()
            .map_err(|_| ApiError::invalid(format!("“{until}” is not a date; write it as 2027-03-01.")))?;
        StatedTime::Date(day).passed_at()
    };
    if end <= now || end > plus(now, (DAYS_MAX + 1) * DAY) {
        return Err(out_of_range());
    }
    Ok(Some(end))
}

fn out_of_range() -> ApiError {
    ApiError::invalid(format!("A domain can be muted for 1 to {DAYS_MAX} days."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_read() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let read = |days: &str, until: &str| read_mute(days, until, now);
        let at = |text: &str| Some(text.parse().unwrap());
        assert_eq!(read("0", "").unwrap(), None);
        assert_eq!(read("7", "").unwrap(), at("2026-11-27T14:05:00Z"));
        assert_eq!(read("7", "2026-12-01").unwrap(), at("2026-12-02T00:00:00Z"), "that day included");
        assert_eq!(read("", "2026-11-20").unwrap(), at("2026-11-21T00:00:00Z"));
        for (days, until) in [
            ("-1", ""),
            ("366", ""),
            ("x", ""),
            ("", ""),
            ("", "2026-11-19"),
            ("", "2028-01-01"),
            ("", "soon"),
        ] {
            assert!(read(days, until).is_err(), "{days} {until}");
        }
    }
}
