//! Kept states as lanes over time. In: lanes from the model. Out: a picture with its facts in its label. Everything is
//! placed in per cent of the width, so that it fits a phone without scrolling.

use jiff::Timestamp;
use jiff::tz::Offset;
use leptos::prelude::*;
use model::time::{DAY, first_of_month_after, human_day, plus};
use model::timeline::{Lane, Span, Tone};

/// Maps instants to places, in per cent from the left.
#[derive(Clone, Copy)]
struct Scale {
    from: i64,
    to: i64,
}

impl Scale {
    fn x(self, t: Timestamp) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let part = (t.as_second() - self.from) as f64 / (self.to - self.from).max(1) as f64;
        part.clamp(0.0, 1.0) * 100.0
    }
}

fn bar_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "lane-bar",
        Tone::Other => "lane-bar lane-other",
        Tone::Set => "lane-bar lane-set",
        Tone::Bad => "lane-bar lane-bad",
        Tone::Off | Tone::Unknown => "lane-bar lane-off",
    }
}

/// The picture; nothing without states. `marks` are the two states that are compared.
pub(crate) fn timeline(
    lanes: &[Lane],
    marks: &[(&'static str, Timestamp)],
    now: Timestamp,
) -> Option<AnyView> {
    let first = lanes.iter().flat_map(|l| l.spans.first()).map(|s| s.from).min()?;
    // Young histories get at least a month, so that a day is not as wide as the page.
    let from = first.min(plus(now, -30 * DAY));
    let scale = Scale { from: from.as_second(), to: now.as_second() };
    let changes: usize = lanes.iter().map(|l| l.spans.len().saturating_sub(1)).sum();
    let told: Vec<String> = lanes.iter().map(told).collect();
    let label = format!("From {} to {}: {}", human_day(first), human_day(now), told.join(". "));
    let week = plus(now, -7 * DAY);
    let behind = Behind { week: scale.x(week), marks: marks.iter().map(|(_, at)| scale.x(*at)).collect() };
    let drawn: Vec<_> = lanes.iter().map(|l| lane(l, scale, &behind)).collect();
    let marks: Vec<_> = marks.iter().map(|(word, at)| mark(word, *at, scale)).collect();
    let title = match changes {
        0 => "no change was detected yet".to_string(),
        1 => "1 change".to_string(),
        n => format!("{n} changes"),
    };
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"Over time"</h2><span class="min-w-0 truncate text-muted">{title}</span>
                    <div class="aside max-sm:hidden"><span class="text-xs flex flex-wrap gap-y-1 gap-x-4 text-muted [&_span]:inline-flex [&_span]:items-center [&_span]:gap-1.5 [&_b]:text-text [&_b]:font-medium [&_.i]:w-3.5 [&_.i]:h-3.5">
                        <span><i class="w-2 h-2 rounded-full border-[1.5px] border-accent"></i>"change"</span><span><i class="w-3 h-0 border-t-[1.5px] border-dashed border-t-control"></i>"not set"</span>
                        <span><i class="w-3 h-2.5 bg-yellow-50 border border-row-changed-line"></i>"last 7 days"</span>
                    </span></div></div>
                <div class="card-body lanes" role="img" aria-label=label>
                    {drawn}
                    <span></span><div class="lane-axis">{ticks(scale)}</div>
                    {marks}
                </div>
            </section>
        }
        .into_any(),
    )
}

/// What is drawn behind the bars of every lane.
struct Behind {
    week: f64,
    marks: Vec<f64>,
}

fn left(x: f64) -> String {
    format!("left:{x:.2}%")
}

fn told(l: &Lane) -> String {
    let spans: Vec<_> = l.spans.iter().map(|s| format!("{} from {}", s.text, human_day(s.from))).collect();
    format!("{}: {}", l.label, spans.join(", then "))
}

/// A word below the axis: right of its place in the left half, left of it in the right half.
fn at_place(x: f64, words: String) -> AnyView {
    let style = if x > 50.0 { format!("right:{:.2}%", 100.0 - x) } else { left(x) };
    view! { <span style=style>{words}</span> }.into_any()
}

/// The compared states stand in rows of their own: their days may be the same.
fn mark(word: &str, at: Timestamp, scale: Scale) -> AnyView {
    let words = format!("{word} {}", human_day(at));
    view! { <span></span><div class="lane-axis text-accent">{at_place(scale.x(at), words)}</div> }.into_any()
}

/// Names of months between first day and today, at most four and never close to another.
fn ticks(scale: Scale) -> Vec<AnyView> {
    let instant = |s: i64| Timestamp::from_second(s).unwrap_or(Timestamp::UNIX_EPOCH);
    let date = |s: i64| Offset::UTC.to_datetime(instant(s)).date();
    let mut out = vec![at_place(0.0, human_day(instant(scale.from))), at_place(100.0, "today".into())];
    let months = (scale.to - scale.from) / (30 * 86_400);
    let every = [1, 3, 6, 12, 24, 60].into_iter().find(|n| months / n <= 4).unwrap_or(120);
    let (mut month, end) = (date(scale.from).first_of_month(), date(scale.to));
    while month <= end {
        let number = i64::from(month.year()) * 12 + i64::from(month.month()) - 1;
        let x = scale.x(model::time::StatedTime::Date(month).nominal());
        // Room for the words at both ends, on a phone too.
        if number % every == 0 && (30.0..=80.0).contains(&x) {
            let all = model::time::human_date(month);
            let name = all.split(' ').next().unwrap_or_default();
            out.push(view! { <span style=left(x)>{format!("{name} {}", month.year())}</span> }.into_any());
        }
        let Some(next) = first_of_month_after(month, 1) else { break };
        month = next;
    }
    out
}

fn lane(l: &Lane, scale: Scale, behind: &Behind) -> AnyView {
    let spans: Vec<_> = l.spans.iter().map(|s| span(s, scale)).collect();
    let dots: Vec<_> = l
        .spans
        .iter()
        .skip(1)
        .map(|s| view! { <i class="lane-dot" style=left(scale.x(s.from))></i> })
        .collect();
    let marks: Vec<_> =
        behind.marks.iter().map(|x| view! { <i class="lane-mark" style=left(*x)></i> }).collect();
    let class = if l.code { "mono text-xs wrap" } else { "wrap" };
    view! {
        <span class=class>{l.label.clone()}</span>
        <div class="lane"><i class="lane-week" style=left(behind.week)></i>{spans}{dots}{marks}</div>
    }
    .into_any()
}

fn span(s: &Span, scale: Scale) -> AnyView {
    let (x1, x2) = (scale.x(s.from), scale.x(s.to));
    let title = format!("{}, {} to {}", s.text, human_day(s.from), human_day(s.to));
    let empty = matches!(s.tone, Tone::Off | Tone::Unknown) || x2 - x1 < 4.0;
    let text = (!empty).then(|| s.text.clone());
    // A short one grows into the picture, not over its edge.
    let place = if x2 > 50.0 { format!("right:{:.2}%", 100.0 - x2) } else { left(x1) };
    let style = format!("{place};width:{:.2}%", (x2 - x1).max(0.5));
    view! { <span class=bar_class(s.tone) style=style title=title>{text}</span> }.into_any()
}
