//! `/tools/compare`: what the owner's servers say, beside what recursive resolvers remember. In: a name, a type. Out:
//! the authoritative answer, then each resolver's verdict as it comes. The form is a plain GET: without script it asks
//! for the whole comparison (`whole=1`); every name gets a document of its own, because its policy names the host.

mod authority;
mod form;
mod live;
mod places;
mod resolvers;
mod stopped;
mod table;
mod vantage;
mod verdict;
mod watch;

use crate::components::address_claim::address_claims;
use crate::components::banner::page_failure;
use crate::components::icon;
use crate::components::third_party::ThirdPartyCard;
use crate::components::tool::{Again, TYPES, Tool, result_bar, tool_title, waiting};
use crate::components::visitor;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use form::CompareForm;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use live::Live;
use model::address_space::AddressSpace;
use model::compare::{Authority, Comparison};
use std::net::IpAddr;

/// The page.
#[component]
pub(crate) fn ComparePage() -> impl IntoView {
    let search = use_location().search;
    let whole = visitor::is_embedded();
    let asked = Memo::new(move |_| {
        let form = CompareForm::read(|key| query::value(&search.get(), key));
        if whole { form.at_once() } else { form }
    });
    let question = Memo::new(move |_| asked.with(CompareForm::question));
    let data = json_resource(
        move || question.get(),
        |q| async move {
            if q.name.is_empty() {
                None
            } else if q.whole {
                Some(server_fns::compare(q.name, q.rtype, q.force).await)
            } else {
                Some(server_fns::authority(q.name, q.rtype).await)
            }
        },
    );
    view! {
        <Title text=move || question.with(|q| {
            let about = format!("{} {}", q.name, if q.name.is_empty() { "" } else { &q.rtype });
            tool_title("Cache vs authoritative", about.trim())
        })/>
        <div class="page-head"><h1>"Cache vs authoritative"</h1><span class="sub">"authoritative servers next to what resolvers have cached"</span></div>
        {form(asked)}
        <Suspense fallback=|| waiting("Querying the authoritative servers first…")>
            {move || data.get().map(|d| match d {
                Some(Ok(c)) => found(c, asked),
                Some(Err(f)) => page_failure("The comparison could not be made", &f),
                None => hint(),
            })}
        </Suspense>
    }
    .into_any()
}

/// The browser sends it itself; without script it asks for everything at once.
fn form(asked: Memo<CompareForm>) -> AnyView {
    let busy = RwSignal::new(false);
    Effect::new(move |_| {
        // A page taken out of the back/forward cache is not on its way any more.
        let shown = window_event_listener_untyped("pageshow", move |_| busy.set(false));
        on_cleanup(move || shown.remove());
    });
    let spin = move || busy.get().then(|| view! { <span class="spin" aria-hidden="true"></span> });
    let name = move || asked.with(|a| a.name.clone());
    let at_once = r#"<input type="hidden" name="whole" value="1">"#.to_string();
    // No program runs in another site's frame.
    let whole = visitor::is_embedded().then(|| view! { <input type="hidden" name="whole" value="1"/> });
    let options = move || {
        let rtype = asked.with(|a| a.rtype.clone());
        let known = TYPES.contains(&rtype.as_str());
        let other = (!known).then(|| view! { <option value=rtype.clone() selected>{rtype.clone()}</option> });
        let all = TYPES.map(|t| view! { <option value=t selected=t == rtype>{t}</option> });
        view! { {all.into_iter().collect_view()}{other} }
    };
    view! {
        <form class="toolbar" method="get" action=visitor::form_action("/tools/compare") target=visitor::form_target() on:submit=move |_| busy.set(true)>
            <label class="search search-wide"><span class="sr-only">"Host name"</span>{icon("search")}
                <input class="input mono" name="name" value=name prop:value=name required placeholder="www.alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
            <label class="type"><span class="sr-only">"Record type"</span><select class="input" name="type">{options}</select></label>
            <noscript inner_html=at_once></noscript>{whole}
            {visitor::form_fields()}<button class="btn btn-primary" type="submit">{spin}"Compare"</button>
        </form>
    }
    .into_any()
}

fn hint() -> AnyView {
    view! {
        <section class="card empty">{icon::icon_in("compare", "i i-lg")}
            <h2>"Has the change reached everyone?"</h2>
            <p>"The authoritative servers are queried first, uncached. Public resolvers are queried only if the record exists, so that no negative answer enters their caches."</p>
        </section>
    }
    .into_any()
}

fn found(first: Comparison, asked: Memo<CompareForm>) -> AnyView {
    let label = format!("Comparison of {} {}", first.authority.name, first.authority.rtype);
    let a = &first.authority;
    let zone = Some(a.zone.as_str()).filter(|z| !z.is_empty() && *z != ".");
    let bar = result_bar(Tool::Compare, &a.name, zone, (), Again::Own);
    let (place_name, place_type) = (a.name.clone(), a.rtype.clone());
    // A server of the zone that answers: measurement networks ask it without a cache between.
    let answering = a.servers.iter().find(|s| s.zone == a.zone && s.kind.is_authoritative());
    let a_server = answering.map(|s| s.server.clone()).unwrap_or_default();
    let placed = first.address_space.clone();
    let live = Live::start(first, asked);
    let authority = Memo::new(move |_| live.seen.with(|c| c.authority.clone()));
    let stopped = Memo::new(move |_| live.seen.with(|c| c.stopped.clone()));
    // A watch sees other addresses than those that were placed: nothing is said of these.
    let claims = move || {
        let is_served = |s: &AddressSpace, a: &Authority| {
            a.records.iter().any(|r| r.data.parse().is_ok_and(|address: IpAddr| address == s.address))
        };
        let served: Vec<_> = authority.with(|a| placed.iter().filter(|s| is_served(s, a)).cloned().collect());
        address_claims(&served)
    };
    let from_places = visitor::open_tools().is_none().then(|| {
        let server = a_server;
        view! {
            <places::FromPlaces name=place_name.clone() rtype=place_type.clone()/>
            <ThirdPartyCard name=place_name rtype=place_type server/>
        }
    });
    let denied = move || {
        let words = stopped.get()?;
        Some(authority.with(|a| stopped::panel(&words, a, &asked.get())))
    };
    view! {
        <div class="grid grid-cols-1 gap-4 content-start" role="region" aria-label=label>
            <div class="flex items-center gap-2 flex-wrap justify-between">{bar}{watch::control(live, asked)}</div>
            <div class="empty:hidden [&_>_.banner:last-child]:mb-0 cmp-notice">{watch::notice(live, asked)}</div>
            <div class="cols">
                {move || authority.with(authority::card)}
                {(!visitor::is_embedded()).then(|| vantage::card(live))}
            </div>
            <div class="empty:hidden">{claims}</div>
            {from_places}
            <div class="empty:hidden [&_>_.banner:last-child]:mb-0 cmp-notice">{denied}</div>
            {resolvers::section(live, asked)}
        </div>
    }
    .into_any()
}
