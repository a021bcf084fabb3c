//! The resolvers: a summary in one sentence, how many of each verdict, and a tile for each. Those that filter stand
//! apart, because their disagreement may be meant.

use super::form::CompareForm;
use super::live::{Live, State};
use super::table;
use super::verdict::{picture, style, verdict};
use leptos::prelude::*;
use model::compare::{Judged, Summary, VerdictKind};
use model::resolvers::{Filtering, PublicResolver};

/// The section; empty while resolvers must not be asked.
pub(super) fn section(live: Live, asked: Memo<CompareForm>) -> AnyView {
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
                    <h3 class="case-head">{title}<span class="font-normal text-muted">{format!("{n} · {words}")}</span></h3>
                    <ul class="grid grid-cols-4 gap-px bg-surface max-xl:grid-cols-2 max-sm:grid-cols-[1fr] [&_>_li]:list-none">{tiles}</ul>
                }
            })
        };
        let forced = live.seen.with_untracked(|c| c.authority.outcome.is_denial())
            && asked.with_untracked(|a| a.force);
        let forced = forced.then(|| {
            view! { <p class="hint">"Queried although the authoritative servers deny the name: resolvers may now cache the negative answer."</p> }
        });
        Some(view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"Public resolvers"</h2><span class="min-w-0 truncate text-muted">{move || answered(&summary.get())}</span></div>
                <div class="card-body grid gap-3 border-b">
                    <p role="status" aria-live="polite">{sentence(live, summary)}</p>{forced}
                    {move || meter(&summary.get())}
                </div>
                {group("Unfiltered", "answers come from the authoritative servers, fresh or cached", plain)}
                {group("Filtering resolvers", "blocking is not a DNS fault", filtering)}
                {table::card(live)}
            </section>
        })
    };
    view! { {drawn} }.into_any()
}

fn answered(s: &Summary) -> String {
    format!("{} of {} answered", s.answered, s.total)
}

/// The summary. It changes when all have answered, so that screen readers do not read every count.
fn sentence(live: Live, summary: Memo<Summary>) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let words = Memo::new(move |_| {
        let s = summary.get();
        let asking = live.state.with(|state| matches!(state, State::Still | State::Running));
        if s.answered < s.total && asking { format!("Querying {} resolvers.", s.total) } else { s.sentence }
    });
    move || words.get()
}

fn meter(s: &Summary) -> AnyView {
    let parts: Vec<_> = s
        .counts
        .iter()
        .map(|(kind, n)| view! { <i class=style(*kind).meter style=format!("--n:{n}")></i> })
        .collect();
    let legend: Vec<_> = s
        .counts
        .iter()
        .map(|(kind, n)| {
            let word = kind.label().to_lowercase();
            view! { <span class=style(*kind).text>{picture(*kind)}<span class="text-muted"><b>{n.to_string()}</b>" "{word}</span></span> }
        })
        .collect();
    view! { <div class="meter" aria-hidden="true">{parts}</div><div class="text-xs flex flex-wrap gap-y-1 gap-x-4 text-muted [&_span]:inline-flex [&_span]:items-center [&_span]:gap-1.5 [&_b]:text-text [&_b]:font-medium [&_.verdict]:gap-1 [&_.verdict]:whitespace-nowrap [&_.verdict]:font-medium [&_.i]:w-3.5 [&_.i]:h-3.5">{legend}</div> }.into_any()
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
            |j| view! { <span class="min-w-0 truncate" title=j.shows.clone()>{j.shows.clone()}</span><span class="font-sans text-muted">{j.short}</span> }.into_any(),
        )
    };
    view! {
        <li class=move || style(kind.get()).tile title=says>
            <div class="top"><b>{r.name.clone()}</b>{move || verdict(kind.get())}</div>
            <div class="text-xs truncate text-muted">{r.place()}</div>
            <div class="text-xs truncate text-muted max-sm:hidden">{asked_over}</div>
            <div class="ans">{answer}</div>
        </li>
    }
    .into_any()
}
