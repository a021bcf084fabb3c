//! The panel in place of the resolvers when none was asked: why, what asking would do, until when, and the choice.

use super::form::CompareForm;
use crate::components::negative::{negative, soa_line};
use crate::components::{icon, visitor};
use leptos::prelude::*;
use model::compare::{Authority, StopReason, Stopped};

/// The panel.
pub(super) fn panel(words: &Stopped, authority: &Authority, asked: &CompareForm) -> AnyView {
    let title = match words.reason {
        StopReason::Denied => "Stopped: no resolver was queried",
        StopReason::NoAuthority => "Stopped: nothing to compare with",
        StopReason::NotServedYet => "Waiting for the authoritative servers; no resolver is queried yet",
    };
    let waits = words.reason == StopReason::NotServedYet;
    let watch = (words.reason == StopReason::Denied && visitor::open_tools().is_none()).then(|| {
        view! { <a class="btn btn-primary" href=asked.watched().url()>{icon("bell")}"Watch until it exists"</a> }
    });
    let choice = (!waits).then(|| {
        view! {
            <div class="flex items-center gap-2 flex-wrap">{watch}
                <a class="btn btn-danger" rel="nofollow" href=asked.forced().url()>{icon("warning")}"Query the resolvers anyway"</a></div>
        }
    });
    let advice = (authority.outcome.is_denial())
        .then(|| authority.soa.clone())
        .flatten()
        .map(|soa| model::advice::of_soa(soa, &authority.name, authority.asked_at))
        .map(|a| {
            view! {
                <details class="[&_>_summary]:cursor-pointer [&_>_summary]:text-[.75rem]"><summary>"How long negative answers are cached"</summary>
                    <div class="grid grid-cols-1 gap-2 content-start pt-2">{negative(&a)}{soa_line(&a.soa)}</div></details>
            }
        });
    view! {
        <section class="banner banner-warn mb-0 [&_h2]:text-[length:inherit] [&_h2]:font-semibold" aria-labelledby="compare-stop">
            {icon("lock")}
            <div class="flex-1 min-w-0 grid grid-cols-1 gap-2 content-start max-sm:basis-[70%]">
                <h2 id="compare-stop">{title}</h2>
                <p>{words.sentence.clone()}</p>
                <p><strong>{words.consequence.clone()}</strong></p>
                {choice}{advice}
            </div>
        </section>
    }
    .into_any()
}
