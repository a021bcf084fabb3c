//! How far a point of presence was away from this server over the last day: a line of medians below a fainter one of the 95th
//! percentile, with gaps where it was away, and the same in words.

use leptos::prelude::*;
use model::Timestamp;
use service::LatencyHour;

/// Size in pixels.
const SIZE: (i64, i64) = (120, 20);
const HOURS: i64 = 24;
const HOUR_SECONDS: i64 = 3_600;

/// The line; nothing without a measured hour.
pub(super) fn line(hours: &[LatencyHour], now: Timestamp, slow_ms: u32) -> Option<AnyView> {
    let top = hours.iter().map(|h| h.p95).max()?.max(slow_ms);
    let medians = path(hours, now, top, |h| h.median);
    let high = path(hours, now, top, |h| h.p95);
    let class = if hours.last().is_some_and(|h| h.median > slow_ms) { "spark slow" } else { "spark" };
    Some(
        view! {
            <svg class=class viewBox=format!("0 0 {} {}", SIZE.0, SIZE.1) role="img" aria-label=words(hours)>
                <path d=high class="high"></path><path d=medians></path>
            </svg>
        }
        .into_any(),
    )
}

/// The line of one figure, in the box of [`SIZE`]; a single hour between gaps is a short dash.
fn path(hours: &[LatencyHour], now: Timestamp, top: u32, pick: fn(&LatencyHour) -> u32) -> String {
    let this = now.as_second().div_euclid(HOUR_SECONDS);
    let index = |h: &LatencyHour| HOURS - 1 - (this - h.at.as_second().div_euclid(HOUR_SECONDS));
    let (width, height) = (SIZE.0 / HOURS, SIZE.1 - 4);
    let mut out = String::new();
    let mut before = None;
    for h in hours {
        let i = index(h).clamp(0, HOURS - 1);
        let y = 2 + height - height * i64::from(pick(h)) / i64::from(top.max(1));
        let step = if before == Some(i - 1) { 'L' } else { 'M' };
        out.push_str(&format!("{step}{} {y}h{}", i * width, width - 1));
        before = Some(i);
    }
    out
}

fn words(hours: &[LatencyHour]) -> String {
    let range = |pick: fn(&LatencyHour) -> u32| {
        let least = hours.iter().map(pick).min().unwrap_or(0);
        let most = hours.iter().map(pick).max().unwrap_or(0);
        if least == most { format!("{least} ms") } else { format!("{least} to {most} ms") }
    };
    let n = match hours.len() {
        1 => "1 hour".to_string(),
        n => format!("{n} hours"),
    };
    format!("Measured in {n} of the last 24: median {}, p95 {}", range(|h| h.median), range(|h| h.p95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_lie_where_they_belong_with_gaps_between() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let hour = |ago: i64, median, p95| LatencyHour {
            at: Timestamp::from_second((1_800_000_000 / 3_600 - ago) * 3_600).unwrap(),
            median,
            p95,
        };
        let hours = [hour(23, 10, 20), hour(1, 100, 200), hour(0, 50, 400)];
        assert_eq!(path(&hours, now, 400, |h| h.p95), "M0 18h4M110 10h4L115 2h4");
        assert_eq!(
            words(&hours),
            "Measured in 3 hours of the last 24: median 10 to 100 ms, p95 20 to 400 ms"
        );
        assert_eq!(words(&hours[..1]), "Measured in 1 hour of the last 24: median 10 ms, p95 20 ms");
        // What the clock of a replica says of an hour to come stays inside.
        assert_eq!(path(&[hour(-9, 1, 1)], now, 100, |h| h.p95), "M115 18h4");
        assert!(line(&[], now, 300).is_none());
    }
}
