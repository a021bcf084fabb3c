//! Watching until the record is propagated: the button, the progress, the result.

use super::form::CompareForm;
use super::live::{Live, State};
use crate::components::banner::{Tone, banner};
use crate::components::{icon, visitor};
use leptos::prelude::*;
use model::compare::EndKind;
use model::time::clock_utc;

/// The button that starts or stops it.
pub(super) fn control(live: Live, asked: Memo<CompareForm>) -> AnyView {
    let runs = Memo::new(move |_| live.state.with(|s| *s == State::Running));
    let watching = Memo::new(move |_| asked.with(|a| a.watch));
    // A watch runs for half an hour; visitors without an account can't start one.
    let may_watch = visitor::open_tools().is_none();
    let everywhere = Memo::new(move |_| live.seen.with(|c| c.summary.everywhere));
    // The panel that explains why no resolver was queried has a button of its own.
    let stopped = Memo::new(move |_| live.seen.with(|c| c.stopped.is_some()));
    let button = move || {
        let a = asked.get();
        if stopped.get() && !runs.get() {
            return ().into_any();
        }
        if watching.get() && runs.get() {
            let stop = a.once().url();
            return view! { <a class="btn" href=stop data-noscroll="true">{icon("x")}"Stop watching"</a> }
                .into_any();
        }
        let again = move |e: leptos::ev::MouseEvent| {
            if !asked.get_untracked().whole {
                e.prevent_default();
                // A second click while the answers still come would only throw away those that are on their way.
                if !runs.get_untracked() {
                    live.ask_again();
                }
            }
        };
        let start = (!everywhere.get() && !a.whole && may_watch).then(|| {
            let start = a.watched().url();
            view! { <a class="btn" href=start data-noscroll="true">{icon("bell")}"Watch propagation"</a> }
        });
        view! {
            <a class="btn" rel="external" href=a.once().url() on:click=again>{icon("refresh")}"Query again"</a>
            {start}
        }
        .into_any()
    };
    view! { <div class="flex items-center gap-2 flex-wrap">{button}</div> }.into_any()
}

/// How far a watch is, how it ended, and what went wrong.
pub(super) fn notice(live: Live, asked: Memo<CompareForm>) -> AnyView {
    let plain = format!(
        "<p class=\"banner\">Resolvers are queried while this page is open, which needs JavaScript. <a href=\"{}\">Show the whole \
         comparison at once</a> instead.</p>",
        asked.get_untracked().at_once().url().replace('&', "&amp;")
    );
    // The page may be in a background tab.
    Effect::new(move |_| {
        let State::Ended(end) = live.state.get() else { return };
        if asked.with_untracked(|a| a.watch) {
            let name = live.seen.with_untracked(|c| c.authority.name.clone());
            let words =
                if end.kind == EndKind::Everywhere { "is propagated" } else { "is no longer watched" };
            document().set_title(&format!("{name} {words} · Domainscope"));
        }
    });
    let asks = live.seen.with_untracked(|c| c.stopped.is_none());
    let partly = asked.with_untracked(|a| !a.whole && (asks || a.force));
    let without = partly.then(|| view! { <noscript inner_html=plain></noscript> });
    let said = move || {
        let watching = asked.with(|a| a.watch);
        match live.state.get() {
            State::Lost => Some(lost(live)),
            State::Halted => Some(banner(
                Tone::Info,
                "The watch was stopped",
                "The results below are from the last check.",
            )),
            State::Ended(end) if watching || end.kind != EndKind::Done => {
                let (tone, title) = match end.kind {
                    EndKind::Everywhere | EndKind::Done => (Tone::Ok, "Propagated everywhere"),
                    EndKind::GaveUp => (Tone::Warn, "Not propagated when the watch ended"),
                    EndKind::Failed => (Tone::Critical, "The comparison could not be made"),
                };
                Some(banner(tone, title, end.sentence))
            }
            State::Running if watching => Some(progress(live)),
            _ => None,
        }
    };
    view! { {without}{said} }.into_any()
}

fn progress(live: Live) -> AnyView {
    let words = move || match live.watch.get() {
        None => "Running the first check…".to_string(),
        Some(w) => w.sentence,
    };
    let bound = move || {
        live.watch.get().map(|w| {
            let now = live.seen.with_untracked(|c| c.now);
            format!("Check {} · stops at {}. Keep this page open.", w.round, clock_utc(w.gives_up, now))
        })
    };
    let meter = move || {
        live.watch.get().map(|w| {
            let (ready, rest) = (format!("--n:{}", w.ready), format!("--n:{}", w.of.saturating_sub(w.ready)));
            view! { <div class="meter" aria-hidden="true"><i class="bg-ok" style=ready></i><i class="bg-line-strong" style=rest></i></div> }
        })
    };
    view! {
        <div class="banner banner-info">
            <span class="spin" aria-hidden="true"></span>
            <div class="flex-1 min-w-0 max-sm:basis-[70%] grid grid-cols-1 gap-2 content-start"><div role="status"><strong>{words}</strong></div>{meter}<p>{bound}</p></div>
        </div>
    }
    .into_any()
}

fn lost(live: Live) -> AnyView {
    view! {
        <div class="banner banner-warn" role="status">{icon("warning")}
            <div class="flex-1 min-w-0"><strong>"The answers stopped coming"</strong>
                <p>"The connection was lost, or you are running too many lookups at once. The results so far are shown."</p></div>
            <button class="btn btn-sm end" type="button" on:click=move |_| live.ask_again()>"Query again"</button>
        </div>
    }
    .into_any()
}
