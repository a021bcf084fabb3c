//! The claims in a block, or those that match a search, with their state; refused ones first.

use super::listing;
use crate::components::icon;
use crate::components::pager::{Place, grouped, pager};
use crate::components::time::Ago;
use crate::server_fns::{ClaimRow, Networks, PrefixState, ROWS_PER_PAGE, Release};
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::percent;

/// Where the live object can be read, copied and edited.
pub(super) fn object(claim: &str) -> String {
    format!("/objects/networkclaims/{claim}")
}

/// The card.
pub(super) fn card(n: &Networks, shown: &str) -> AnyView {
    if n.total == 0 && n.counts == [0; 3] {
        return view! {
            <section class="card empty">{icon::icon_in("network", "i i-lg")}
                <h2>"No address space is claimed"</h2>
                <p>"A component claims its prefixes. Addresses in DNS are then shown with the claim that covers them."</p>
            </section>
        }
        .into_any();
    }
    let rows: Vec<_> = n.claims.iter().map(|r| row(r, n.rights.release, n.now)).collect();
    let place = Place {
        page: u32::try_from(n.page).unwrap_or(u32::MAX),
        per_page: ROWS_PER_PAGE as u32,
        total: n.rows as u64,
    };
    let pages = pager(place, "Pages of claims", |page| {
        let query = listing(shown, &n.search, n.state);
        format!("/networks{query}{}page={page}#claims", if query.is_empty() { '?' } else { '&' })
    });
    let pages = pages.map(|pages| {
        view! {
            <div class="card-body flex items-center gap-4 flex-wrap text-xs text-muted"><span>{place.words()}</span>{pages}</div>
        }
    });
    let heading = match n.search.as_str() {
        "" => view! { "Claims in "<span class="mono">{shown.to_string()}</span> }.into_any(),
        text => format!("Claims that match “{text}”").into_any(),
    };
    let none = rows.is_empty().then(|| {
        let all = listing(shown, "", None);
        if n.search.is_empty() && n.state.is_none() {
            return view! { <p class="card-body">"Nothing in this block is claimed yet."</p> }.into_any();
        }
        view! { <p class="card-body">"No record matches. "<a href=format!("/networks{all}")>"Show all in this block"</a></p> }
            .into_any()
    });
    let table = (!rows.is_empty()).then(|| {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Claims, table">
                <table class="tbl">
                    <thead><tr>
                        <th scope="col">"Prefix and claim"</th><th scope="col" class="max-sm:hidden">"Reference"</th>
                        <th scope="col">"State and reason"</th><th scope="col" class="max-sm:hidden num">"Since"</th>
                        <th scope="col"><span class="sr-only">"Actions"</span></th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
    });
    view! {
        <section class="card tbl-wrap" id="claims">
            <div class="card-head"><h2>{heading}</h2><span class="text-muted">{grouped(n.rows as u64)}</span><div class="aside">"worst first"</div></div>
            {filters(n, shown)}
            {none}
            {table}
            {pages}
        </section>
    }
    .into_any()
}

/// The search, which is a plain form, and the states as links.
fn filters(n: &Networks, shown: &str) -> AnyView {
    let chip =
        |label: &'static str, picture: Option<&'static str>, count: usize, state: Option<PrefixState>| {
            let on = n.state == state;
            let href = format!("/networks{}", listing(shown, &n.search, state));
            view! {
                <a class="chip" class:on=on href=href aria-current=on.then_some("true") data-noscroll="true">
                    {picture.map(icon)}{label}" "<span class="n">{grouped(count as u64)}</span></a>
            }
        };
    let states: Vec<_> = PrefixState::ALL
        .into_iter()
        .zip(n.counts)
        .map(|(state, count)| chip(state.label(), Some(picture(state)), count, Some(state)))
        .collect();
    let clear = (!n.search.is_empty()).then(|| {
        let href = format!("/networks{}", listing(shown, "", n.state));
        view! { <a class="btn btn-sm" href=href data-noscroll="true">"Clear search"</a> }
    });
    let state = n.state.map(|s| view! { <input type="hidden" name="state" value=s.as_str()/> });
    view! {
        <div class="toolbar px-4 py-3" role="search" aria-label="Filter claims">
            <form class="flex items-center gap-2" method="get" action="/networks">
                <input type="hidden" name="block" value=shown.to_string()/>{state}
                <div class="search">{icon("search")}
                    <input class="input" type="search" name="q" value=n.search.clone() maxlength="200" aria-label="Search by prefix, address, reference or description"
                        placeholder="Prefix, address, reference…" autocomplete="off" spellcheck="false" autocapitalize="off"/></div>
                <button class="btn btn-sm" type="submit">"Search"</button>{clear}
            </form>
            <div class="chips-scroll">{chip("All", None, n.counts.iter().sum(), None)}{states}</div>
        </div>
    }
    .into_any()
}

fn picture(state: PrefixState) -> &'static str {
    match state {
        PrefixState::Unavailable => "critical",
        PrefixState::Allocated => "ok",
        PrefixState::Released => "clock",
    }
}

/// Releasing a claim, in two steps: the second says how many prefixes go, and is refused when the claim has changed since.
fn release(claim: &str, what: Release) -> AnyView {
    let label = format!("Release {claim}");
    let words = match what.prefixes {
        0 => format!("{label}, which holds no prefix"),
        1 => format!("{label} and its prefix"),
        n => format!("{label} and its {n} prefixes"),
    };
    view! {
        <details class="confirm">
            <summary class="btn btn-sm" aria-label=label>"Release"</summary>
            <form method="post" action="/api/fn/release">
                <input type="hidden" name="name" value=claim.to_string()/>
                <input type="hidden" name="position" value=what.position/>
                <button class="btn btn-sm btn-danger" type="submit">{words}</button>
            </form>
        </details>
    }
    .into_any()
}

/// A reason in which the claim that holds the addresses is a link.
fn linked(message: &str, held_by: Option<&str>) -> AnyView {
    let parts = held_by.and_then(|by| Some((message.split_once(&format!("held by {by} "))?, by)));
    let Some(((before, after), by)) = parts else { return message.to_string().into_any() };
    let href = format!("/networks?q={}", percent(by));
    view! { {before.to_string()}"held by "<a class="underline" href=href>{by.to_string()}</a>" "{after.to_string()} }.into_any()
}

fn row(r: &ClaimRow, may_release: bool, now: Timestamp) -> AnyView {
    let class = match r.state {
        PrefixState::Unavailable => "pill pill-critical",
        PrefixState::Allocated => "pill pill-normal",
        PrefixState::Released => "pill pill-unknown",
    };
    let yaml = format!("{} as YAML", r.claim);
    // A released prefix has no claim any more, or one that holds something else.
    let actions = r.release.map(|what| {
        view! {
            <span class="flex items-start gap-2">
                <a class="btn btn-sm" href=object(&r.claim) rel="external" aria-label=yaml>"YAML"</a>
                {may_release.then(|| release(&r.claim, what))}
            </span>
        }
    });
    let words = match (&r.gone, &r.message) {
        (Some(gone), _) => gone.sentence().into_any(),
        (None, Some(message)) => linked(message, r.held_by.as_deref()),
        (None, None) => r.description.clone().into_any(),
    };
    view! {
        <tr class:bad=r.state == PrefixState::Unavailable>
            <th scope="row"><span class="two"><span class="mono">{r.prefix.clone()}</span><small>{r.claim.clone()}</small></span></th>
            <td class="max-sm:hidden"><span class="mono text-xs">{r.reference.clone()}</span></td>
            <td class="wrap"><span class=class>{icon(picture(r.state))}<span>{r.state.label()}</span></span><span class="block text-xs">{words}</span></td>
            <td class="num max-sm:hidden"><Ago at=r.date now=now/></td>
            <td>{actions}</td>
        </tr>
    }
    .into_any()
}
