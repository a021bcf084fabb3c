//! Dates of a scenario: absolute, or relative to the start of the lab.
//! In: `2012-07-06T13:58:57Z`, `2012-07-06`, `+23d`, `-12y3d`. Out: an instant.

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};

/// Reads a date; relative ones count from `now` and are cut to whole seconds.
///
/// # Errors
/// A sentence with the forms that are understood.
pub fn read(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let bad = || format!("`{text}` is not a date; write 2027-01-31, 2027-01-31T12:00:00Z, +23d or -12y3d");
    let Some(sign) = text.chars().next().filter(|c| matches!(c, '+' | '-')) else {
        return text
            .parse::<Timestamp>()
            .or_else(|_| text.parse::<Date>().and_then(|d| d.to_zoned(TimeZone::UTC)).map(|z| z.timestamp()))
            .map_err(|_| bad());
    };
    let mut span = Span::new();
    let mut digits = String::new();
    for c in text[1..].chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let n: i64 = digits.parse().map_err(|_| bad())?;
        digits.clear();
        span = match c {
            'y' => span.try_years(n),
            'w' => span.try_weeks(n),
            'd' => span.try_days(n),
            'h' => span.try_hours(n),
            'm' => span.try_minutes(n),
            's' => span.try_seconds(n),
            _ => return Err(bad()),
        }
        .map_err(|_| bad())?;
    }
    if !digits.is_empty() || text.len() < 2 {
        return Err(bad());
    }
    let start = Timestamp::from_second(now.as_second()).map_err(|_| bad())?.to_zoned(TimeZone::UTC);
    let moved = if sign == '+' { start.checked_add(span) } else { start.checked_sub(span) };
    moved.map(|z| z.timestamp()).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_dates_keep_their_text() {
        let now = Timestamp::UNIX_EPOCH;
        for text in ["2019-08-17T16:33:24.36Z", "2012-07-06T13:58:57Z"] {
            assert_eq!(read(text, now).unwrap().to_string(), text);
        }
        assert_eq!(read("2012-07-06", now).unwrap().to_string(), "2012-07-06T00:00:00Z");
    }

    #[test]
    fn relative_dates_count_from_the_start() {
        let now: Timestamp = "2026-11-20T12:00:00.5Z".parse().unwrap();
        assert_eq!(read("+23d", now).unwrap().to_string(), "2026-12-13T12:00:00Z");
        assert_eq!(read("-1y2d", now).unwrap().to_string(), "2025-11-18T12:00:00Z");
        for bad in ["", "+", "+d", "12", "tomorrow", "+3x", "-5"] {
            assert!(read(bad, now).is_err(), "{bad}");
        }
    }
}
