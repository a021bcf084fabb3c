//! `/tools/fqdn`: one host name asked uncached from every place we have, the chain of aliases behind it, and when its
//! records may be changed. A plain GET form: works without script; the browser adds its own answers after hydration.
//! Every name gets a document of its own, because its security policy names the host.

mod browser_side;
mod chain;
mod places;
mod plan;
mod web;

use crate::components::banner::{page_failure, tone_class, tone_icon};
use crate::components::icon;
use crate::components::negative::{negative, soa_line};
use crate::components::third_party::ThirdPartyCard;
use crate::components::tool::{Again, Tool, result_bar, tool_title, waiting};
use crate::components::visitor;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use browser_side::{BrowserSide, State, with_browser};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::fqdn::{FqdnReport, TypeOutcome};
use model::time::human_clock;

/// The page.
#[component]
pub(crate) fn FqdnPage() -> impl IntoView {
    let search = use_location().search;
    let name = Memo::new(move |_| query::value(&search.get(), "name").unwrap_or_default().trim().to_string());
    let data = json_resource(
        move || name.get(),
        |name| async move { if name.is_empty() { None } else { Some(server_fns::fqdn(name).await) } },
    );
    let about = match visitor::open_tools() {
        Some(_) => "queries the authoritative servers, uncached",
        None => "queries the authoritative servers, uncached, and asks the web server of the host",
    };
    view! {
        <Title text=move || tool_title("FQDN analyzer", &name.get())/>
        <div class="page-head"><h1>"FQDN analyzer"</h1><span class="sub">{about}</span></div>
        {form(name)}
        <Suspense fallback=|| waiting("Following the CNAME chain, querying every server of every zone…")>
            {move || data.get().map(|d| match d {
                Some(Ok(r)) => found(r),
                Some(Err(f)) => page_failure("The name could not be analyzed", &f),
                None => hint(),
            })}
        </Suspense>
    }
    .into_any()
}

/// The browser sends it itself; it only shows that it is on its way.
fn form(name: Memo<String>) -> AnyView {
    let busy = RwSignal::new(false);
    Effect::new(move |_| {
        // A page taken out of the back/forward cache is not on its way any more.
        let shown = window_event_listener_untyped("pageshow", move |_| busy.set(false));
        on_cleanup(move || shown.remove());
    });
    let spin = move || busy.get().then(|| view! { <span class="spin" aria-hidden="true"></span> });
    view! {
        <form class="toolbar" method="get" action=visitor::form_action("/tools/fqdn") target=visitor::form_target() on:submit=move |_| busy.set(true)>
            <label class="search search-wide"><span class="sr-only">"Host name"</span>{icon("search")}
                <input class="input mono" name="name" value=move || name.get() prop:value=move || name.get() required placeholder="www.alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
            {visitor::form_fields()}<button class="btn btn-primary" type="submit">{spin}"Analyze"</button>
        </form>
    }
    .into_any()
}

fn hint() -> AnyView {
    view! {
        <section class="card empty">{icon::icon_in("route", "i i-lg")}
            <h2>"Where does this name lead, and when is it safe to change?"</h2>
            <p>"Each alias with its zone, servers and TTL, the addresses at the end, what your browser gets from resolvers, and a dated plan for a change."</p>
        </section>
    }
    .into_any()
}

fn found(first: FqdnReport) -> AnyView {
    let browser = BrowserSide::start(&first);
    let label = format!("Analysis of {}", first.name);
    let answered = answered_in(&first);
    let zone = first.chain.first().map(|s| s.zone.clone()).filter(|z| !z.is_empty() && z != ".");
    // A host without an address has no web server to ask.
    let web = (visitor::open_tools().is_none() && !first.addresses.is_empty())
        .then(|| view! { <web::FromPlaces name=first.name.clone()/> });
    let third = visitor::open_tools().is_none().then(|| {
        let only_v6 = !first.addresses.is_empty() && first.addresses.iter().all(std::net::IpAddr::is_ipv6);
        let rtype = if only_v6 { "AAAA" } else { "A" };
        view! { <ThirdPartyCard name=first.name.clone() rtype=rtype.into() server=String::new()/> }
    });
    let bar = result_bar(Tool::Fqdn, &first.name, zone.as_deref(), answered, Again::Reload);
    let report = Memo::new(move |_| with_browser(&first, &browser.answers()));
    // Each part re-renders only when it changes, so that opened details stay open.
    let steps =
        Memo::new(move |_| report.with(|r| (r.chain.clone(), r.chain_words.clone(), r.chain_from.clone())));
    let change = Memo::new(move |_| report.with(|r| (r.ttl_plan.clone(), r.now)));
    let missing = Memo::new(move |_| report.with(|r| (r.chain.clone(), r.name.clone(), r.now)));
    view! {
        <div class="grid grid-cols-1 gap-4 content-start" role="region" aria-label=label>
            {verdict(report, browser)}
            {bar}
            {move || missing.with(|(chain, name, now)| not_there(chain, name, *now))}
            <div class="cols">
                <div class="grid grid-cols-1 gap-4 content-start">{move || steps.with(|(chain, words, from)| chain::card(chain, words, from))}</div>
                <div class="grid grid-cols-1 gap-4 content-start">{places::addresses(report)}{places::vantages(report, browser)}</div>
            </div>
            {web}
            {third}
            {move || change.with(|(p, now)| p.as_ref().map(|p| plan::card(p, *now)))}
        </div>
    }
    .into_any()
}

fn answered_in(r: &FqdnReport) -> String {
    let took = r.vantages.iter().find_map(|v| v.latency_ms).map(crate::components::time::millis);
    let took = took.map(|t| format!("Answered in {t} · ")).unwrap_or_default();
    format!("{took}{} UTC", human_clock(r.now))
}

/// The whole in a headline, the differences in one sentence.
fn verdict(report: Memo<FqdnReport>, browser: BrowserSide) -> AnyView {
    let tone = Memo::new(move |_| report.with(|r| r.tone));
    let class = move || format!("{} mb-0", tone_class(tone.get().into()));
    let picture = move || icon(tone_icon(tone.get().into())).into_any();
    let headline = Memo::new(move |_| report.with(|r| r.headline.clone()));
    let differences = Memo::new(move |_| {
        if browser.state.get() == State::Denied {
            return "Only the authoritative servers were queried: a query to a resolver would put the negative answer into its cache."
                .to_string();
        }
        report.with(|r| r.differences.clone())
    });
    view! {
        <div class=class role="status">{picture}
            <div class="flex-1 min-w-0 max-sm:basis-[70%] whitespace-normal wrap"><strong>{headline}</strong><p>{differences}</p></div>
        </div>
    }
    .into_any()
}

/// How long the absence lasts, where there is no address at the end.
fn not_there(chain: &[model::fqdn::ChainStep], name: &str, now: model::Timestamp) -> Option<AnyView> {
    let end = chain.last().filter(|s| s.target.is_none())?;
    let has_address = end
        .answers
        .iter()
        .any(|a| a.outcome == TypeOutcome::Records && matches!(a.rtype.as_str(), "A" | "AAAA"));
    let denied = end.answers.iter().any(|a| matches!(a.outcome, TypeOutcome::NxDomain | TypeOutcome::NoData));
    if has_address || !denied {
        return None;
    }
    let advice = model::advice::of_soa(end.soa.clone()?, &end.owner, now);
    let nothing = end.answers.iter().any(|a| a.outcome == TypeOutcome::NxDomain);
    let about = match (nothing, end.owner == name) {
        (true, true) => format!(
            "{} does not exist. This analysis filled no cache; a resolver that is queried caches the negative answer.",
            end.owner
        ),
        (true, false) => format!(
            "{name} leads to {}, which does not exist: every query to a resolver puts that into its cache.",
            end.owner
        ),
        (false, _) => {
            format!("{} exists but has no address: resolvers cache that like a missing name.", end.owner)
        }
    };
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"How long it stays missing"</h2></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start"><p class="max-w-[88ch]">{about}</p>{negative(&advice)}{soa_line(&advice.soa)}</div>
            </section>
        }
        .into_any(),
    )
}
