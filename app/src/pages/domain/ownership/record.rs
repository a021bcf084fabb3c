//! The record to publish: one method at a time, each value with a copy button, and how to enter it at the provider.

use super::ClaimState;
use crate::browser;
use crate::components::copy::copy_button;
use crate::server_fns;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use model::ownership::{ClaimRecord, ClaimState as State, ClaimView, Method};

/// Suggested TTL in seconds.
const TTL: &str = "300";

fn short(method: Method) -> &'static str {
    match method {
        Method::Txt => "TXT",
        Method::TxtApex => "TXT at the domain",
        Method::Cname => "CNAME",
        Method::Http => "File",
    }
}

/// The card.
pub(super) fn record(state: ClaimState, v: &ClaimView, r: &ClaimRecord) -> AnyView {
    let Some(offer) = r.offers.iter().find(|o| o.method == r.claim.method) else { return ().into_any() };
    let is_file = offer.method == Method::Http;
    let title = match (&v.provider, is_file) {
        (_, true) => "File to publish".to_string(),
        (Some(provider), false) => format!("Record to create at {provider}"),
        (None, false) => "Record to create".to_string(),
    };
    let line = |what: &'static str, value: String, note: String| {
        let note = (!note.is_empty()).then(|| view! { <small>{note}</small> });
        view! { <div><dt>{what}</dt><dd>{value.clone()}" "{note}</dd><dd>{copy_button(&what.to_lowercase(), value)}</dd></div> }
    };
    let rows = if is_file {
        vec![
            line("Address", offer.record.name.clone(), String::new()),
            line("Content", offer.record.value.clone(), String::new()),
        ]
    } else {
        vec![
            line("Type", offer.record.rtype.clone(), String::new()),
            line("Host", offer.host.clone(), format!("full name: {}", offer.record.name)),
            line("Value", offer.record.value.clone(), String::new()),
            line("TTL", TTL.into(), String::new()),
        ]
    };
    view! {
        <section class="card">
            <div class="card-head"><h2>{title}</h2><div class="aside">{methods(state, v, r)}</div></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <dl class="rec">{rows}</dl>
                <p class="hint">{offer.hint.clone()}</p>
            </div>
        </section>
    }
    .into_any()
}

/// The methods as buttons of a form; none while the method can't be changed.
fn methods(state: ClaimState, v: &ClaimView, r: &ClaimRecord) -> Option<AnyView> {
    let changes = matches!(r.claim.state, State::Pending | State::Grace { .. } | State::Contested { .. });
    if !changes || v.methods.len() < 2 {
        return None;
    }
    let current = r.claim.method;
    let buttons: Vec<_> = v
        .methods
        .iter()
        .map(|method| {
            let method = *method;
            let name = v.name.clone();
            let choose = move |e: SubmitEvent| {
                e.prevent_default();
                let Some(f) = browser::form_of(&e) else { return };
                let name = browser::field(&f, "name");
                state.run(async move { server_fns::start_claim(name, method.as_str().to_string()).await });
            };
            let class = if method == current { "btn btn-sm bg-accent-soft text-accent" } else { "btn btn-sm" };
            view! {
                <form method="post" action="/api/fn/start_claim" on:submit=choose>
                    <input type="hidden" name="name" value=name/>
                    <input type="hidden" name="method" value=method.as_str()/>
                    <button class=class type="submit" aria-pressed=(method == current).to_string()>{short(method)}</button>
                </form>
            }
        })
        .collect();
    Some(view! { <div class="flex items-center gap-2 flex-wrap" role="group" aria-label="Method">{buttons}</div> }.into_any())
}
