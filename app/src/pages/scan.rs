//! The scan tool: a look at any domain, in the inventory or not; nothing is recorded. Negative caching stands out,
//! because a name asked for too early is why people come here.

use super::domain::dns::findings;
use super::domain::{
    delegation_picture, dnssec_card, domain_facts, nameservers, records, states, status_flags,
};
use crate::components::address_claim::address_claims;
use crate::components::banner::{Tone, banner, page_failure};
use crate::components::copy::copy_button;
use crate::components::icon;
use crate::components::negative::{negative, soa_line};
use crate::components::time::Ago;
use crate::components::tool::{Again, Tool, ask, result_bar, tool_title, waiting};
use crate::components::visitor;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::inventory::percent;
use model::registration::RegistrationState;
use model::time::human_clock;
use service::ScanReport;

/// The page.
#[component]
pub(crate) fn ScanPage() -> impl IntoView {
    let search = use_location().search;
    let name = Memo::new(move |_| query::value(&search.get(), "name").unwrap_or_default().trim().to_string());
    let again = RwSignal::new(0_u32);
    let data = json_resource(
        move || (name.get(), again.get()),
        |(name, _)| async move { if name.is_empty() { None } else { Some(server_fns::look_up(name).await) } },
    );
    let submit = ask("/tools/scan", again);
    view! {
        <Title text=move || tool_title("Scan", &name.get())/>
        <div class="page-head"><h1>"Scan"</h1><span class="sub">"scan any domain once; nothing is stored"</span></div>
        <form class="toolbar" method="get" action=visitor::form_action("/tools/scan") target=visitor::form_target() on:submit=submit>
            <label class="search search-wide"><span class="sr-only">"Domain"</span>{icon("search")}
                <input class="input mono" name="name" value=move || name.get() prop:value=move || name.get() required placeholder="alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
            {visitor::form_fields()}<button class="btn btn-primary" type="submit">"Scan"</button>
        </form>
        <Suspense fallback=|| waiting("Querying registry and name servers…")>
            {move || data.get().map(|d| match d {
                Some(Ok(r)) => report(&r, again),
                Some(Err(f)) => page_failure("The domain could not be looked up", &f),
                None => hint(),
            })}
        </Suspense>
    }
    .into_any()
}

fn hint() -> AnyView {
    view! {
        <section class="card empty">{icon::icon_in("scan", "i i-lg")}
            <h2>"Registration and DNS of a domain, right now"</h2>
            <p>"Registration from the registry, delegation and records from the authoritative servers themselves. No cache is queried, and none is filled."</p>
        </section>
    }
    .into_any()
}

fn report(r: &ScanReport, again: RwSignal<u32>) -> AnyView {
    let o = &r.observation;
    let now = r.now;
    let name = r.name.as_str().to_string();
    let registration = o.registration.value.as_ref().and_then(RegistrationState::registration);
    let understood = r.note.clone().map(|n| banner(Tone::Info, format!("Read as {}", r.unicode), n));
    let go = if visitor::open_tools().is_some() {
        ().into_any()
    } else if r.in_inventory {
        view! { <a class="btn" href=format!("/domains/{name}")>"Open in the inventory"</a> }.into_any()
    } else {
        view! { <a class="btn" href=format!("/domains/add?text={}", percent(&name))>{icon("plus")}"Add to the inventory"</a> }.into_any()
    };
    let advice = o.delegation.value.as_ref().and_then(|d| model::advice::negative_caching(d, now)).map(|a| {
        view! {
            <section class="card">
                <div class="card-head"><h2>"How long a missing name stays missing"</h2><div class="aside max-sm:hidden">"negative caching, RFC 2308"</div></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start">{negative(&a)}{soa_line(&a.soa)}</div>
            </section>
        }
    });
    let path = o.delegation.value.as_ref().filter(|d| !d.servers.is_empty()).map(|d| {
        view! {
            <section class="card"><div class="card-head"><h2>"Delegation"</h2></div>
                <div class="card-body">{delegation_picture(d, o.dnssec.value.as_ref())}</div></section>
        }
    });
    let info = registration.map(|x| domain_facts(x, &o.registration, o.dnssec.value.as_ref(), None, now));
    let flags = registration.and_then(|x| status_flags(x.statuses.as_ref()));
    // Findings come first; without findings there is no card.
    let health = (!o.findings.is_empty()).then(|| findings(&o.findings, &name));
    let figures = view! { <Ago at=now now=now/>{format!(", {} UTC", human_clock(now))} };
    let bar = result_bar(Tool::Scan, &name, Some(&name), figures, Again::Bump(again));
    let alabel =
        (r.unicode != name).then(|| view! { <span class="text-muted mono text-xs">{name.clone()}</span> });
    view! {
        <div class="grid grid-cols-1 gap-4 content-start" role="region" aria-label=format!("Scan of {}", r.unicode)>
            <div class="flex items-center gap-2 flex-wrap justify-between"><div class="flex items-center gap-2"><h2 class="text-2xl font-mono font-semibold tracking-[-.02em] wrap max-sm:text-xl min-w-0 whitespace-normal">{r.unicode.clone()}</h2>{copy_button(&name, name.clone())}{alabel}</div>{go}</div>
            {bar}
            <div class="empty:hidden [&_>_.banner:last-child]:mb-0">{understood}{states::failed_parts(o, now)}{states::registration_outcome(o, r.in_inventory)}</div>
            {advice}
            {health}
            {path}
            <div class="cols">
                <div class="grid grid-cols-1 gap-4 content-start">{nameservers(&o.delegation, now)}{records(&o.zone, &name, now)}{address_claims(&r.address_space)}</div>
                <div class="grid grid-cols-1 gap-4 content-start">{info}{flags}{dnssec_card(&o.dnssec, now)}
                    <section class="card">{super::domain::history::raws(&r.raw)}</section></div>
            </div>
        </div>
    }
    .into_any()
}
