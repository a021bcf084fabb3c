//! The owner's data about a domain: tags, manual expiration, auto-renew, a note. Plain forms.

use super::state::DomainState;
use crate::browser;
use crate::check_draft::{days_text, intervals};
use crate::components::icon_sm;
use crate::server_fns;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use model::detail::Detail;
use model::inventory::ListQuery;
use model::item::{Item, NOTE_MAX};
use model::registration::RegistrationState;
use model::time::{human_date, human_instant};

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

/// The form for manual expiration and auto-renew.
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
            <div class="card-head"><h2>"Renewal, set manually"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/set_renewal" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
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

/// Whether messages about the domain are sent. A plain form: the answer is its page again.
pub(crate) fn mute(d: &Detail) -> AnyView {
    let name = d.item.name.as_str().to_string();
    let muted = d.item.muted_until.filter(|until| *until > d.now);
    let words = match muted {
        Some(until) => {
            format!(
                "No messages until {}. Events are recorded all the same; problems that remain then are sent at that time.",
                human_instant(until)
            )
        }
        None => "Messages about this domain are sent as the rules say.".to_string(),
    };
    let choice = |days: &'static str, label: &'static str| view! { <option value=days>{label}</option> };
    let on = muted.is_some().then(|| choice("0", "Send messages again"));
    let today = human_day_value(d.now);
    view! {
        <section class="card" id="notifications">
            <div class="card-head"><h2>"Notifications"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/mute">
                <input type="hidden" name="name" value=name/>
                <p class="hint">{words}</p>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <label class="field"><span class="label">"Mute"</span>
                        <select class="input" name="days">
                            {on}{choice("1", "Mute for a day")}{choice("7", "Mute for a week")}{choice("30", "Mute for 30 days")}
                        </select></label>
                    <label class="field"><span class="label">"Or mute until the end of"</span>
                        <input class="input" type="date" name="until" min=today/></label>
                </div>
                <div><button class="btn btn-sm" type="submit">"Save mute"</button></div>
            </form>
        </section>
    }
    .into_any()
}

/// A day as a date field has it.
fn human_day_value(at: model::Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

/// How often the domain is checked, and when reminders of its expiration come. A plain form.
pub(crate) fn checks(d: &Detail) -> AnyView {
    let name = d.item.name.as_str().to_string();
    let set = &d.item.checks;
    let options: Vec<_> = intervals(set.interval_s)
        .into_iter()
        .map(|(seconds, words, on)| view! { <option value=seconds.to_string() selected=on>{words}</option> })
        .collect();
    let days = set.expiry_days.as_deref().map(days_text).unwrap_or_default();
    let next = d
        .item
        .next_scan_at
        .filter(|at| *at > d.now)
        .map(|at| format!(" The next check is due {}.", human_instant(at)));
    view! {
        <section class="card" id="checks">
            <div class="card-head"><h2>"Checks"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/set_checks">
                <input type="hidden" name="name" value=name/>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <label class="field"><span class="label">"Interval"</span>
                        <select class="input" name="interval">
                            <option value="" selected=set.interval_s.is_none()>"As the organisation"</option>{options}
                        </select></label>
                    <label class="field"><span class="label">"Expiry reminders, days before"</span>
                        <input class="input" name="expiry_days" value=days autocomplete="off" placeholder="As the organisation" aria-describedby="checks-hint"/></label>
                </div>
                <p class="hint" id="checks-hint">{format!("Days separated by commas, as in 30, 7, 0; 0 is the expiration itself.{}", next.unwrap_or_default())}</p>
                <div><button class="btn btn-sm" type="submit">"Save checks"</button></div>
            </form>
        </section>
    }
    .into_any()
}

/// The note. What was typed and not saved is kept in this tab of the browser, whatever page is opened meanwhile.
pub(crate) fn note(dom: DomainState, item: &Item) -> AnyView {
    let name = item.name.as_str().to_string();
    let saved = StoredValue::new(item.note.clone());
    let key = StoredValue::new(format!("note:{name}"));
    let unsaved = RwSignal::new(false);
    let field = NodeRef::<leptos::html::Textarea>::new();
    let keep = move |text: &str| {
        let differs = saved.with_value(|s| s != text);
        key.with_value(|k| browser::session_store(k, differs.then_some(text)));
        unsaved.set(differs);
    };
    Effect::new(move |_| {
        let Some(area) = field.get() else { return };
        if let Some(draft) = key.with_value(|k| browser::session_stored(k)) {
            area.set_value(&draft);
            keep(&draft);
        }
    });
    let note = crate::components::area::area_text(&item.note);
    let form_name = name.clone();
    let submit = move |e: SubmitEvent| {
        e.prevent_default();
        let Some(f) = browser::form_of(&e) else { return };
        let (name, text) = (form_name.clone(), browser::field(&f, "note"));
        // The page may have been read again, and these signals with it, before the answer comes.
        let key = key.get_value();
        dom.save(async move {
            server_fns::set_note(name, text).await?;
            browser::session_store(&key, None);
            unsaved.try_set(false);
            Ok(())
        });
    };
    let discard = move |_| {
        if let Some(area) = field.get_untracked() {
            area.set_value(&saved.get_value());
            keep(&saved.get_value());
        }
    };
    let state =
        move || {
            unsaved.get().then(|| view! {
            <span class="hint" role="status">"Not saved yet; kept in this browser tab."</span>
            <button class="btn btn-sm btn-ghost" type="button" on:click=discard>"Discard changes"</button>
        })
        };
    let rows = if item.note.len() > 120 { "6" } else { "3" };
    view! {
        <section class="card">
            <div class="card-head"><h2><label for="note">"Note"</label></h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/set_note" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <textarea
                    class="input note" id="note" name="note" rows=rows maxlength=NOTE_MAX.to_string() node_ref=field
                    placeholder="Who pays for it, what it is for" on:input=move |e| keep(&event_target_value(&e))
                >{note}</textarea>
                <div class="flex items-center gap-2 flex-wrap"><button class="btn btn-sm" type="submit">"Save note"</button>{state}</div>
            </form>
        </section>
    }
    .into_any()
}
