//! The owner's data about a domain: tags, expiration and auto-renew by hand, a note. Plain forms.

use super::state::DomainState;
use crate::browser;
use crate::components::icon_sm;
use crate::server_fns;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use model::detail::Detail;
use model::inventory::ListQuery;
use model::item::Item;
use model::registration::RegistrationState;
use model::time::human_date;

/// The tags, and a small form behind a plus.
pub(crate) fn tags(dom: DomainState, item: &Item) -> AnyView {
    let name = item.name.as_str().to_string();
    let all: Vec<_> = item
        .tags
        .iter()
        .map(|t| {
            let url = ListQuery { tag: vec![t.clone()], ..ListQuery::default() }.to_url();
            view! { <a class="tag" href=url><span class="min-w-0 truncate">{t.clone()}</span></a> }
        })
        .collect();
    let joined = item.tags.join(", ");
    let form_name = name.clone();
    let submit = move |e: SubmitEvent| {
        e.prevent_default();
        let Some(f) = browser::form_of(&e) else { return };
        dom.save(server_fns::set_tags(form_name.clone(), browser::field(&f, "tags")));
    };
    view! {
        {all}
        <details class="menu">
            <summary class="btn btn-ghost btn-icon btn-xs" aria-label="Edit tags">{icon_sm("plus")}</summary>
            <form class="menu-list menu-form" method="post" action="/api/fn/set_tags" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <label class="field"><span class="label">"Tags"</span>
                    <input class="input" name="tags" value=joined autocomplete="off" placeholder="core, prod"/>
                    <span class="hint">"Separated by commas."</span></label>
                <button class="btn btn-sm" type="submit">"Save tags"</button>
            </form>
        </details>
    }
    .into_any()
}

/// Expiration and auto-renew by hand.
pub(crate) fn renewal(dom: DomainState, d: &Detail) -> AnyView {
    let item = &d.item;
    let name = item.name.as_str().to_string();
    let registration = d
        .observation
        .as_ref()
        .and_then(|o| o.registration.value.as_ref())
        .and_then(RegistrationState::registration);
    let published = registration.and_then(|r| r.effective_expires().map(|e| (e, r.expires)));
    let hint = match &published {
        Some((e, at_registry)) => format!(
            "The {} publishes {}; alerts follow that. A date set here counts only while none is published.",
            if *at_registry == Some(*e) { "registry" } else { "registrar" },
            human_date(e.date())
        ),
        None => "The registry publishes no expiration. Alerts follow the date set here.".to_string(),
    };
    let date = item.manual_expires.map(|d| d.to_string()).unwrap_or_default();
    let auto = item.auto_renew;
    let form_name = name.clone();
    let submit = move |e: SubmitEvent| {
        e.prevent_default();
        let Some(f) = browser::form_of(&e) else { return };
        let (expires, auto) = (browser::field(&f, "expires"), browser::field(&f, "auto_renew"));
        dom.save(server_fns::set_renewal(form_name.clone(), expires, auto));
    };
    let choice = move |value: &'static str, label: &'static str, on: bool| {
        view! { <option value=value selected=on>{label}</option> }
    };
    view! {
        <section class="card" id="renewal">
            <div class="card-head"><h2>"Renewal, set by hand"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/set_renewal" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <div class="grid grid-cols-[1fr_1fr] gap-3 max-sm:grid-cols-[1fr]">
                    <label class="field"><span class="label">"Expiration"</span>
                        <input class="input" type="date" name="expires" value=date aria-describedby="renewal-hint"/></label>
                    <label class="field"><span class="label">"Auto-renew"</span>
                        <select class="input" name="auto_renew">
                            {choice("", "Unknown", auto.is_none())}
                            {choice("yes", "On", auto == Some(true))}
                            {choice("no", "Off", auto == Some(false))}
                        </select></label>
                </div>
                <p class="hint" id="renewal-hint">{hint}</p>
                <div><button class="btn btn-sm" type="submit">"Save"</button></div>
            </form>
        </section>
    }
    .into_any()
}

/// The note.
pub(crate) fn note(dom: DomainState, item: &Item) -> AnyView {
    let name = item.name.as_str().to_string();
    let note = crate::components::area::area_text(&item.note);
    let form_name = name.clone();
    let submit = move |e: SubmitEvent| {
        e.prevent_default();
        let Some(f) = browser::form_of(&e) else { return };
        dom.save(server_fns::set_note(form_name.clone(), browser::field(&f, "note")));
    };
    let rows = if note.len() > 120 { "6" } else { "3" };
    view! {
        <section class="card">
            <div class="card-head"><h2><label for="note">"Note"</label></h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/set_note" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <textarea class="input note" id="note" name="note" rows=rows maxlength="2000" placeholder="Who pays for it, what it is for">{note}</textarea>
                <div><button class="btn btn-sm" type="submit">"Save note"</button></div>
            </form>
        </section>
    }
    .into_any()
}
