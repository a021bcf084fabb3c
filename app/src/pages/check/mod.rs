//! The check tool: every health check on a zone, or, before a move, on the servers it is about to move to. The
//! address holds the whole query and the form is a plain GET, so all of it works without script.

mod form;
pub(crate) mod report;

use crate::components::banner::{Tone, banner, page_failure};
use crate::components::tool::{ask, tool_title, waiting};
use crate::components::visitor;
use crate::components::{area::area_text, icon};
use crate::resource::json_resource;
use crate::server_fns;
use form::{CheckForm, Shown};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

/// The page.
#[component]
pub(crate) fn CheckPage() -> impl IntoView {
    let search = use_location().search;
    let asked = Memo::new(move |_| CheckForm::read(&search.get()));
    let shown = Memo::new(move |_| Shown::read(&search.get()));
    let again = RwSignal::new(0_u32);
    let data = json_resource(
        move || (asked.get(), again.get()),
        |(a, _)| async move {
            if a.runs() { Some(server_fns::check(a.zone.clone(), a.ns(), a.ds()).await) } else { None }
        },
    );
    view! {
        <Title text=move || asked.with(|a| tool_title("Check", a.zone.trim()))/>
        <div class="page-head"><h1>"Check"</h1><span class="sub">"all health checks, run against the zone’s own servers"</span></div>
        {form(asked, again)}
        <Suspense fallback=|| waiting("Querying every server… a slow or dead one takes a few seconds")>
            {move || data.get().map(|d| match d {
                Some(Ok(o)) => report::report(&o, &asked.get(), shown, again),
                Some(Err(f)) => page_failure("The check could not be made", &f),
                None => nothing_yet(&asked.get()),
            })}
        </Suspense>
    }
    .into_any()
}

fn form(asked: Memo<CheckForm>, again: RwSignal<u32>) -> AnyView {
    let submit = ask("/tools/check", again);
    let fields = move || {
        let a = asked.get();
        view! {
            <div class="toolbar">
                <label class="search search-wide"><span class="sr-only">"Zone"</span>{icon("search")}
                    <input class="input mono" name="zone" value=a.zone.clone() prop:value=a.zone.clone() required placeholder="alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
                {visitor::form_fields()}<button class="btn btn-primary" type="submit">"Check"</button>
            </div>
            <details class="card fold" open=a.unfolded()>
                <summary><b>"Before a move"</b><span class="text-muted">" test the servers you are about to switch to, as if the parent already pointed there"</span></summary>
                <div class="card-body grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <div class="field">
                        <label class="label" for="check-ns">"Name servers"</label>
                        <textarea class="input" id="check-ns" name="ns" rows="4" aria-describedby="check-ns-hint" spellcheck="false" autocapitalize="off" prop:value=a.ns_text.clone()
                            placeholder="ns1.new-dns.example/192.0.2.1\nns2.new-dns.example">{area_text(&a.ns_text)}</textarea>
                        <p class="hint" id="check-ns-hint">"One per line, "<code>"name"</code>" or "<code>"name/address"</code>". Give addresses where the name is below the zone itself: that is the glue the registrar requires."</p>
                    </div>
                    <div class="field">
                        <label class="label" for="check-ds">"DS records, when the zone is or will be signed"</label>
                        <textarea class="input" id="check-ds" name="ds" rows="4" aria-describedby="check-ds-hint" spellcheck="false" prop:value=a.ds_text.clone()
                            placeholder="12345,13,2,4f1c…">{area_text(&a.ds_text)}</textarea>
                        <p class="hint" id="check-ds-hint">"One per line, "<code>"keytag,algorithm,type,digest"</code>". The new servers must hold a key for each DS that stays at the parent, else the name fails for every validating resolver."</p>
                    </div>
                </div>
            </details>
        }
    };
    view! { <form class="grid gap-1 mb-4 [&_.toolbar]:mb-2" method="get" action=visitor::form_action("/tools/check") target=visitor::form_target() on:submit=submit>{fields}</form> }
        .into_any()
}

fn nothing_yet(a: &CheckForm) -> AnyView {
    if a.moving && !a.zone.is_empty() {
        return banner(
            Tone::Info,
            format!("Where does {} move to?", a.zone),
            "Enter the servers above. This check changes nothing at the registrar.",
        );
    }
    view! {
        <section class="card empty">{icon::icon_in("shield", "i i-lg")}
            <h2>"Is this zone healthy?"</h2>
            <p>"Delegation, servers, SOA, mail and DNSSEC, with Zonemaster’s test cases and terms. Each finding says what it means and what to do."</p>
        </section>
    }
    .into_any()
}
