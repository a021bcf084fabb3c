//! The dated plan for a change: a list drawn as a timeline where there is room, with the name's own numbers, and a
//! calendar entry for the moment it becomes safe.

use crate::components::icon_sm;
use leptos::prelude::*;
use model::Timestamp;
use model::fqdn::{PlanStage, StageKind, TtlPlan};
use model::inventory::percent;
use model::time::clock_utc;
use model::time::human_seconds;

/// The card.
pub(super) fn card(p: &TtlPlan, now: Timestamp) -> AnyView {
    let stages: Vec<_> = p.stages.iter().enumerate().map(|(i, s)| stage(i, s)).collect();
    let class = if p.stages.len() == 2 { "plan plan-2" } else { "plan" };
    let notes: Vec<_> =
        p.notes.iter().map(|n| view! { <p class="hint max-w-[88ch]">{n.clone()}</p> }).collect();
    let waits = p.stages.iter().any(|s| s.kind == StageKind::Lower);
    let remind = waits.then(|| {
        let words = format!("Remind me at {}", clock_utc(p.safe_at, now));
        let file = format!("change-{}.ics", p.name);
        view! { <a class="btn btn-sm" href=entry(p, now) download=file title="A calendar entry">{icon_sm("calendar")}{words}</a> }
    });
    let about = format!("{} {} has a TTL of {} s", p.name, p.rtype, p.ttl);
    view! {
        <section class="card">
            <div class="card-head"><h2>"Planning a change?"</h2><span class="min-w-0 truncate text-muted">{about}</span><div class="aside">{remind}</div></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <p class="max-w-[88ch]">{p.sentence.clone()}</p>
                <ol class=class>{stages}</ol>
                {notes}
            </div>
        </section>
    }
    .into_any()
}

fn stage(i: usize, s: &PlanStage) -> AnyView {
    let class = match s.kind {
        StageKind::Lower => Some("plan-lower"),
        StageKind::Change => None,
        StageKind::Raise => Some("plan-raise"),
    };
    let span = s.lasts.map(|n| match s.kind {
        StageKind::Lower => format!("copies with the old TTL last up to {}", human_seconds(n.into())),
        _ => human_seconds(n.into()),
    });
    view! {
        <li class=class>
            <div class="font-semibold">{s.title.clone()}</div>
            <time class="text-muted" datetime=s.at.to_string()>{s.when.clone()}</time>
            <div class="plan-bar"><span class="dot" aria-hidden="true">{(i + 1).to_string()}</span><span class="text-xs truncate flex-1 text-center text-[color:var(--tone)] px-2 max-[48em]:inline max-[48em]:text-left max-[48em]:p-0 max-[48em]:whitespace-normal max-[48em]:empty:hidden">{span}</span></div>
            <code class="mono text-xs wrap">{s.record.clone()}</code>
            <div class="text-muted text-xs">{s.detail.clone()}</div>
        </li>
    }
    .into_any()
}

/// An iCalendar entry (RFC 5545) at the time the change is safe, as an address that can be downloaded.
fn entry(p: &TtlPlan, now: Timestamp) -> String {
    let stamp = |t: Timestamp| t.strftime("%Y%m%dT%H%M%SZ").to_string();
    // Names and mnemonics only: nothing in them needs RFC 5545 escapes.
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Domainscope//FQDN analyzer//EN\r\nBEGIN:VEVENT\r\n\
         UID:{}-{}@domainscope\r\nDTSTAMP:{}\r\nDTSTART:{}\r\nDURATION:PT15M\r\n\
         SUMMARY:Safe to change {} {}\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:PT0S\r\n\
         DESCRIPTION:Safe to change {} {}\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        p.safe_at.as_second(),
        p.name,
        stamp(now),
        stamp(p.safe_at),
        p.name,
        p.rtype,
        p.name,
        p.rtype,
    );
    format!("data:text/calendar;charset=utf-8,{}", percent(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reminder_is_at_the_time_the_change_is_safe() {
        let plan = TtlPlan {
            name: "www.alder.example".into(),
            rtype: "CNAME".into(),
            ttl: 86_400,
            lowered: 300,
            negative_ttl: None,
            missing: Vec::new(),
            sentence: String::new(),
            notes: Vec::new(),
            stages: Vec::new(),
            safe_at: "2026-11-21T14:05:00Z".parse().unwrap(),
        };
        let url = entry(&plan, "2026-11-20T14:05:00Z".parse().unwrap());
        assert!(url.starts_with("data:text/calendar;charset=utf-8,BEGIN:VCALENDAR%0D%0A"), "{url}");
        assert!(url.contains("DTSTART:20261121T140500Z"), "{url}");
        assert!(!url.contains(['\r', '\n', ' ', '#']), "{url}");
    }
}
