//! A date may never be more precise than the text it came from, and never be one the text does not hold.

use model::time::StatedTime;

/// Panics when `text` does not hold what `date` claims.
pub fn no_more_than_stated(field: &str, date: &StatedTime, text: &str) {
    let digits = runs_of_digits(text);
    let day = date.date();
    let year = i64::from(day.year());
    assert!((1970..=2200).contains(&year), "{field}: {date} is no date of a registration");
    if let StatedTime::Instant(at, _) = date
        && digits.iter().any(|run| is_since_1970(run, at.as_second()))
    {
        return;
    }
    // The end of a day, hour 24, is the next one's beginning.
    let ended = if text.contains("24") { day.yesterday().ok() } else { None };
    let has = |wanted: i64| holds_number(&digits, wanted);
    let stated = |year: i16, day: i8| (has(year.into()) || has((year % 100).into())) && has(day.into());
    let told = stated(day.year(), day.day()) || ended.is_some_and(|e| stated(e.year(), e.day()));
    assert!(told, "{field}: {date}, but the text has no such year and day");
    match date {
        StatedTime::Date(_) => {}
        StatedTime::Local(_) => {
            assert!(has_clock(text, &digits), "{field}: {date}, but the text states no time of day");
        }
        StatedTime::Instant(..) => {
            assert!(has_clock(text, &digits), "{field}: {date}, but the text states no time of day");
            assert!(has_zone(text), "{field}: {date}, but the text states no zone");
        }
    }
}

/// Seconds or milliseconds since 1970, as some servers write them.
fn is_since_1970(run: &str, seconds: i64) -> bool {
    let written = seconds.to_string();
    run == written || (run.len() == written.len() + 3 && run.starts_with(&written))
}

fn runs_of_digits(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect()
}

/// True when the number stands in the text, alone or inside a run such as `20200131`.
fn holds_number(runs: &[&str], wanted: i64) -> bool {
    let (plain, padded) = (wanted.to_string(), format!("{wanted:02}"));
    runs.iter().any(|run| *run == plain || *run == padded || (run.len() >= 8 && run.contains(&padded)))
}

/// `1:02`, `9:5:3`, `10h30`, `10.11.12`, `T101112`, or twelve digits in a row.
fn has_clock(text: &str, runs: &[&str]) -> bool {
    let digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let colon = |i: usize| {
        digit(bytes.get(i.wrapping_sub(1)))
            && digit(bytes.get(i + 1))
            && (digit(bytes.get(i + 2)) || bytes.get(i + 2) == Some(&b':') && digit(bytes.get(i + 3)))
    };
    let dotted =
        |w: &[u8]| w[0] == b'.' && w[3] == b'.' && [1, 2, 4, 5].iter().all(|i| w[*i].is_ascii_digit());
    let packed = |w: &[u8]| w[0] == b'T' && w[1..].iter().all(u8::is_ascii_digit);
    let hour = |(at, _): (usize, &str)| text[..at].trim_end().ends_with(|c: char| c.is_ascii_digit());
    runs.iter().any(|run| run.len() >= 12)
        || (1..bytes.len()).any(|i| bytes[i] == b':' && colon(i))
        || bytes.windows(6).any(dotted)
        || bytes.windows(7).any(packed)
        || ["h", "時", "时", "시"].iter().any(|word| text.match_indices(word).any(hour))
}

/// A sign before a digit, or a letter that can name a zone.
fn has_zone(text: &str) -> bool {
    let signed =
        text.as_bytes().windows(2).any(|w| matches!(w[0], b'+' | b'-') && matches!(w[1], b'0'..=b'9' | b' '));
    signed || text.contains(|c: char| c.is_ascii_alphabetic())
}
