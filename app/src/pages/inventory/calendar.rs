//! Expirations of the next 90 days as a strip: a day is a place, a bar is a count.

use crate::components::pager::grouped;
use jiff::civil::Date;
use leptos::prelude::*;
use model::inventory::{CALENDAR_DAYS, CalendarDay};
use model::judge::Thresholds;
use model::time::{DAY, StatedTime, days_between, first_of_month_after, human_date, plus};

#[allow(clippy::cast_possible_truncation)]
const DAYS: i32 = CALENDAR_DAYS as i32;

fn days_from(today: Date, day: Date) -> i32 {
    i32::try_from(days_between(today, day)).unwrap_or(-1)
}

fn percent(day: i32) -> String {
    format!("{:.2}%", f64::from(day) * 100.0 / f64::from(DAYS))
}

/// Whether the label of this day stands clear of these: of a day, and the room it takes on a strip of 320 px.
fn has_room(day: i32, labels: &[(i32, i32)]) -> bool {
    labels.iter().all(|(mark, room)| (day - mark).abs() >= *room)
}

/// "Today" and the last label, which are written inwards from the ends.
const ENDS: [(i32, i32); 2] = [(0, 15), (DAYS, 17)];

/// `Dec 1`.
fn short(d: Date) -> String {
    let all = human_date(d);
    all.split(',').next().unwrap_or(&all).to_string()
}

fn bar_class(day: i32, limits: Thresholds) -> &'static str {
    match i64::from(day) {
        d if d <= limits.critical_days => "f-critical",
        d if d <= limits.warning_days => "f-warn",
        _ => "f-faint",
    }
}

/// The picture, with its facts in its label.
pub(crate) fn calendar(calendar: &[CalendarDay], today: Date, limits: Thresholds) -> impl IntoView + use<> {
    let days: Vec<_> = calendar
        .iter()
        .map(|c| (days_from(today, c.day), c))
        .filter(|(d, _)| (0..=DAYS).contains(d))
        .collect();
    let sum = |from: i32, to: i32| -> u64 {
        days.iter().filter(|(d, _)| (from..=to).contains(d)).map(|(_, c)| c.count).sum()
    };
    let total = sum(0, DAYS);
    let label = format!(
        "Expirations in the next 90 days: {} in the first 30, {} in the next 30, {} after that",
        sum(0, 30),
        sum(31, 60),
        sum(61, DAYS)
    );
    let most = days.iter().map(|(_, c)| c.count).max().unwrap_or(1).max(1);
    let bars: Vec<_> = days
        .iter()
        .map(|(d, c)| {
            // 9 px say "one"; the tallest day has 17.
            #[allow(clippy::cast_precision_loss)]
            let height = if c.count <= 1 { 9.0 } else { 9.0 + 8.0 * (c.count as f64 / most as f64) };
            let title = format!("{}: {}", human_date(c.day), domains(c.count));
            view! {
                <rect x=percent(*d) transform="translate(-2 0)" y=format!("{:.1}", 30.0 - height) width="4"
                    height=format!("{height:.1}") rx="1" class=bar_class(*d, limits)><title>{title}</title></rect>
            }
        })
        .collect();
    let soon = i32::try_from(limits.warning_days).unwrap_or(DAYS);
    let soon_label = has_room(soon, &ENDS)
        .then(|| view! { <text x=percent(soon) y="43" text-anchor="middle" class="p-mute p-xs">{format!("{soon} days")}</text> });
    let labels = [ENDS[0], ENDS[1], (soon, if soon_label.is_some() { 12 } else { 0 })];
    let months: Vec<_> = (1..=3)
        .filter_map(|m| {
            let first = first_of_month_after(today, m)?;
            let d = days_from(today, first);
            has_room(d, &labels).then(
                || view! { <text x=percent(d) y="43" text-anchor="middle" class="p-mute p-xs">{short(first)}</text> },
            )
        })
        .collect();
    let ticks: Vec<_> = (0..=DAYS)
        .step_by(2)
        .map(|d| view! { <line x1=percent(d) x2=percent(d) y1="27" y2="30" class="p-axis"/> })
        .collect();
    let end = short(StatedTime::utc(plus(StatedTime::Date(today).nominal(), i64::from(DAYS) * DAY)).date());
    view! {
        <svg role="img" aria-label=label height="44">
            <rect x="0" y="18" width=percent(soon) height="12" class="f-accent-soft"/>
            {ticks}
            <line x1="0" x2="100%" y1="30.5" y2="30.5" class="p-axis"/>
            {bars}
            <text x="0" y="43" text-anchor="start" class="p-mute p-xs">"Today"</text>
            {soon_label}
            {months}
            <text x="100%" y="43" text-anchor="end" class="p-mute p-xs">{end}</text>
            <text x="0" y="10" class="p-mute">"Expirations, next 90 days"</text>
            <text x="100%" y="10" text-anchor="end" class="p-mute">{domains(total)}</text>
        </svg>
    }
    .into_any()
}

fn domains(n: u64) -> String {
    if n == 1 { "1 domain".into() } else { format!("{} domains", grouped(n)) }
}

#[cfg(test)]
mod tests {
    use super::{ENDS, bar_class, has_room};
    use model::judge::Thresholds;

    #[test]
    fn labels_of_months_keep_clear_of_the_fixed_ones() {
        let labels = [ENDS[0], ENDS[1], (30, 12)];
        let room = |day| has_room(day, &labels);
        let shown: Vec<i32> = (0..90).filter(|d| room(*d)).collect();
        assert_eq!((shown.first(), shown.last()), (Some(&15), Some(&73)));
        assert!(!room(9) && !room(40) && room(17) && room(45));
    }

    #[test]
    fn colours_follow_the_thresholds() {
        let limits = Thresholds { critical_days: 14, warning_days: 60, stale_days: 3 };
        let classes = [14, 15, 60, 61].map(|day| bar_class(day, limits));
        assert_eq!(classes, ["f-critical", "f-warn", "f-warn", "f-faint"]);
    }
}
