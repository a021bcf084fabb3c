//! The resolvers: a summary in one sentence, how many of each verdict, and a tile for each. Those that filter stand
//! apart, because their disagreement may be meant.

use super::asked::Asked;
use super::live::{Live, State};
use super::table;
use crate::components::icon;
use leptos::prelude::*;
use model::compare::{Judged, Summary, VerdictKind};
use model::resolvers::{Filtering, PublicResolver};

/// Icon, colour and tint of a verdict; its word always stands beside them.
pub(super) struct Look {
    icon: Option<&'static str>,
    text: &'static str,
    tile: &'static str,
    meter: &'static str,
}

/// How a verdict looks.
pub(super) fn look(kind: VerdictKind) -> Look {
    let (icon, text, tile, meter) = match kind {
        VerdictKind::Same => (Some("ok"), "verdict t-ok", "res", "m-ok"),
        VerdictKind::Stale => (Some("clock"), "verdict t-warn", "res warn", "m-warn"),
        VerdictKind::NegativeCached => (Some("unknown"), "verdict t-warn", "res warn", "m-warn"),
        VerdictKind::Different => (Some("split"), "verdict t-info", "res", "m-info"),
        VerdictKind::Filtered => (Some("filter"), "verdict", "res", "m-grey"),
        VerdictKind::Failing => (Some("critical"), "verdict t-critical", "res critical", "m-critical"),
        VerdictKind::Pending => (None, "verdict", "res wait", "m-wait"),
    };
    Look { icon, text, tile, meter }
}

/// The picture of a verdict; that of one still asked turns.
fn picture(kind: VerdictKind) -> AnyView {
    match look(kind).icon {
        Some(name) => icon(name).into_any(),
        None => view! { <span class="spin" aria-hidden="true"></span> }.into_any(),
    }
}

/// The verdict as icon and word.
pub(super) fn verdict(kind: VerdictKind) -> AnyView {
    view! { <span class=look(kind).text>{picture(kind)}{kind.label()}</span> }.into_any()
}

/// The section; empty while resolvers must not be asked.
pub(super) fn section(live: Live, asked: Memo<Asked>) -> AnyView {
    let rows = Memo::new(move |_| {
        live.seen.with(|c| c.answers.iter().map(|j| j.resolver.clone()).collect::<Vec<_>>())
    });
    let summary = Memo::new(move |_| live.seen.with(|c| c.summary.clone()));
    let drawn = move || {
        let rows = rows.get();
        if rows.is_empty() {
            return None;
        }
        let (plain, filtering): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|r| r.filtering == Filtering::None);
        let group = |title: &'static str, words: &'static str, rows: Vec<PublicResolver>| {
            (!rows.is_empty()).then(|| {
                let n = rows.len();
                let tiles: Vec<_> = rows.iter().map(|r| tile(r, live)).collect();
                view! {
                    <h3 class="case-head">{title}<span class="muted">{format!("{n} · {words}")}</span></h3>
                    <ul class="grid-res">{tiles}</ul>
                }
            })
        };
        let forced = live.seen.with_untracked(|c| c.authority.outcome.is_denial())
            && asked.with_untracked(|a| a.force);
        let forced = forced.then(|| {
            view! { <p class="hint">"Asked although the authoritative servers deny it: whoever answered “no” may remember that now."</p> }
        });
        Some(view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"Public resolvers"</h2><span class="muted">{move || answered(&summary.get())}</span></div>
                <div class="card-body cmp-sum">
                    <p role="status" aria-live="polite">{sentence(live, summary)}</p>{forced}
                    {move || meter(&summary.get())}
                </div>
                {group("Answer everything", "what they say comes from the authoritative servers, now or earlier", plain)}
                {group("Filter on purpose", "that they block a name is no fault of it", filtering)}
                {table::card(live)}
            </section>
        })
    };
    view! { {drawn} }.into_any()
}

fn answered(s: &Summary) -> String {
    format!("{} of {} answered", s.answered, s.total)
}

/// What all come to. Said when all have answered, so that nobody is read each count on the way.
fn sentence(live: Live, summary: Memo<Summary>) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let words = Memo::new(move |_| {
        let s = summary.get();
        let asking = live.state.with(|state| matches!(state, State::Still | State::Running));
        if s.answered < s.total && asking {
            format!("{} resolvers are being asked.", s.total)
        } else {
            s.sentence
        }
    });
    move || words.get()
}

fn meter(s: &Summary) -> AnyView {
    let parts: Vec<_> = s
        .counts
        .iter()
        .map(|(kind, n)| view! { <i class=look(*kind).meter style=format!("--n:{n}")></i> })
        .collect();
    let legend: Vec<_> = s
        .counts
        .iter()
        .map(|(kind, n)| {
            let word = kind.label().to_lowercase();
            view! { <span class=look(*kind).text>{picture(*kind)}<span class="muted"><b>{n.to_string()}</b>" "{word}</span></span> }
        })
        .collect();
    view! { <div class="meter" aria-hidden="true">{parts}</div><div class="legend">{legend}</div> }.into_any()
}

/// One resolver's own part of the comparison: it changes when its answer does.
fn mine(id: String, live: Live) -> Memo<Option<Judged>> {
    Memo::new(move |_| live.seen.with(|c| c.answers.iter().find(|j| j.resolver.id == id).cloned()))
}

fn tile(r: &PublicResolver, live: Live) -> AnyView {
    let mine = mine(r.id.clone(), live);
    let kind =
        Memo::new(move |_| mine.with(|j| j.as_ref().map_or(VerdictKind::Pending, |j| j.verdict.kind())));
    let says = move || mine.with(|j| j.as_ref().map(|j| j.sentence.clone()));
    let operator = (r.operator != r.name).then(|| r.operator.clone());
    let asked_over = move || {
        let over = mine.with(|j| j.as_ref()?.answer.as_ref()?.carried.map(|c| format!("over {}", c.label())));
        let parts: Vec<_> = operator.iter().cloned().chain(over).collect();
        if parts.is_empty() { "\u{a0}".to_string() } else { parts.join(" · ") }
    };
    let answer = move || {
        mine.get().filter(|j| j.answer.is_some()).map_or_else(
            || {
                view! { <span class="skel" style="--w:6.5rem"></span><span class="skel" style="--w:3rem"></span> }
                    .into_any()
            },
            |j| view! { <span class="clip" title=j.shows.clone()>{j.shows.clone()}</span><span class="muted">{j.short}</span> }.into_any(),
        )
    };
    view! {
        <li class=move || look(kind.get()).tile title=says>
            <div class="top"><b>{r.name.clone()}</b>{move || verdict(kind.get())}</div>
            <div class="where">{r.place()}</div>
            <div class="where who">{asked_over}</div>
            <div class="ans">{answer}</div>
        </li>
    }
    .into_any()
}
