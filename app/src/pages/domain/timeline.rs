//! Kept states as lanes over time. In: lanes from the model. Out: a picture with its facts in its label.

use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use leptos::prelude::*;
use model::time::human_day;
use model::timeline::{Lane, Span, Tone};

const LEFT: f64 = 176.0;
const RIGHT: f64 = 1120.0;
const ROW: i32 = 36;

/// Maps instants to places.
#[derive(Clone, Copy)]
struct Scale {
    from: i64,
    to: i64,
}

impl Scale {
    fn x(self, t: Timestamp) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let part = (t.as_second() - self.from) as f64 / (self.to - self.from).max(1) as f64;
        LEFT + part.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

fn bar_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "p-well p-bar",
        Tone::Other => "f-accent-soft s-accent-line",
        Tone::Set => "f-ok-soft s-ok-line",
        Tone::Bad => "f-critical-soft s-critical-line",
        Tone::Off | Tone::Unknown => "p-well",
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
    let from = first.min(now.checked_sub((24 * 30).hours()).unwrap_or(first));
    let scale = Scale { from: from.as_second(), to: now.as_second() };
    let height = 24 + ROW * i32::try_from(lanes.len()).unwrap_or(1) + 24;
    let changes: usize = lanes.iter().map(|l| l.spans.len().saturating_sub(1)).sum();
    let told: Vec<String> = lanes.iter().map(told).collect();
    let label = format!("From {} to {}: {}", human_day(first), human_day(now), told.join(". "));
    let drawn: Vec<_> = lanes.iter().zip(0_i32..).map(|(l, i)| lane(l, i, scale)).collect();
    let week = now.checked_sub((24 * 7).hours()).unwrap_or(now);
    let (wx, ww) = (scale.x(week), RIGHT - scale.x(week));
    let marks: Vec<_> = marks
        .iter()
        .map(|(word, at)| {
            let x = scale.x(*at);
            let words = format!("{word} {}", human_day(*at));
            let anchor = if x > 1000.0 { "end" } else { "start" };
            view! {
                <line x1=f(x) x2=f(x) y1="20" y2=height - 18 class="accent dash" stroke-width="1"/>
                <text x=f(x) y=height - 5 text-anchor=anchor class="f-accent p-xs">{words}</text>
            }
        })
        .collect();
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
                <div class="card-body pic" tabindex="0" role="group" aria-label="Timeline, picture">
                    <svg class="min-w-240" viewBox=format!("0 0 1128 {height}") role="img" aria-label=label>
                        <rect x=f(wx) y="20" width=f(ww) height=height - 44 class="f-changed"/>
                        {months(scale, height)}{drawn}{marks}
                    </svg>
                </div>
            </section>
        }
        .into_any(),
    )
}

fn f(x: f64) -> String {
    format!("{x:.1}")
}

fn told(l: &Lane) -> String {
    let spans: Vec<_> = l.spans.iter().map(|s| format!("{} from {}", s.text, human_day(s.from))).collect();
    format!("{}: {}", l.label, spans.join(", then "))
}

fn months(scale: Scale, height: i32) -> Vec<AnyView> {
    let date =
        |s: i64| Offset::UTC.to_datetime(Timestamp::from_second(s).unwrap_or(Timestamp::UNIX_EPOCH)).date();
    let (mut at, end) = (date(scale.from).first_of_month(), date(scale.to));
    let days = (scale.to - scale.from) / 86_400;
    let every = match days {
        ..=450 => 1,
        451..=1000 => 3,
        _ => 12,
    };
    let mut out = Vec::new();
    while at <= end && out.len() < 60 {
        let stamp = model::time::StatedTime::Date(at).nominal();
        let shown = stamp.as_second() >= scale.from && i32::from(at.month() - 1) % every == 0;
        if shown {
            let x = scale.x(stamp);
            let all = model::time::human_date(at);
            let month = all.split(' ').next().unwrap_or_default().to_string();
            let words = if at.month() == 1 { format!("{month} {}", at.year()) } else { month };
            out.push(
                view! {
                    <line x1=f(x) x2=f(x) y1="20" y2=height - 24 class="p-line"/>
                    <text x=f(x + 4.0) y="13" class="p-mute p-xs">{words}</text>
                }
                .into_any(),
            );
        }
        let Ok(next) = at.checked_add(1.month()) else { break };
        at = next;
    }
    out
}

fn lane(l: &Lane, i: i32, scale: Scale) -> AnyView {
    let y = 30 + i * ROW;
    let spans: Vec<_> = l.spans.iter().map(|s| span(s, y, scale)).collect();
    let dots: Vec<_> = l
        .spans
        .iter()
        .skip(1)
        .map(|s| view! { <circle cx=f(scale.x(s.from)) cy=y + 9 r="3.5" class="f-surface accent" stroke-width="1.5"/> })
        .collect();
    let class = if l.code { "p-mono p-xs" } else { "" };
    view! { <text x="0" y=y + 13 class=class>{l.label.clone()}</text>{spans}{dots} }.into_any()
}

fn span(s: &Span, y: i32, scale: Scale) -> AnyView {
    let (x1, x2) = (scale.x(s.from), scale.x(s.to));
    let width = (x2 - x1 - 1.5).max(2.0);
    let title = format!("{}, {} to {}", s.text, human_day(s.from), human_day(s.to));
    if matches!(s.tone, Tone::Off | Tone::Unknown) {
        return view! {
            <line x1=f(x1) x2=f(x2) y1=y + 9 y2=y + 9 class="p-edge dash" stroke-width="1"><title>{title}</title></line>
        }
        .into_any();
    }
    // About 6.2 px a character at 11 px.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let room = ((width - 16.0) / 6.2).max(0.0) as usize;
    let text = if s.text.chars().count() <= room {
        Some(s.text.clone())
    } else {
        (room >= 6).then(|| format!("{}…", s.text.chars().take(room - 1).collect::<String>()))
    };
    view! {
        <rect x=f(x1) y=y width=f(width) height="18" rx="3" class=bar_class(s.tone)><title>{title}</title></rect>
        {text.map(|t| view! { <text x=f(x1 + 8.0) y=y + 13 class="p-xs">{t}</text> })}
    }
    .into_any()
}
