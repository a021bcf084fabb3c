//! The organisation's Domain Connect templates beside the wizard: use, save from a text, a file or a URL, remove.

use crate::browser;
use crate::components::banner::{Tone, banner, failure};
use crate::components::icon;
use crate::components::message::done_words;
use crate::components::toast::use_toaster;
use crate::resource::{JsonResource, json_resource};
use crate::server_fns;
use leptos::html::Textarea;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::configure::StoredTemplate;
use model::inventory::percent;
use service::ApiError;

/// What the card shows.
type Saved = JsonResource<Result<Vec<StoredTemplate>, ApiError>>;

/// The card, for a wizard about this domain. The form is outside of what is read again, so that it keeps its text.
#[component]
pub(super) fn Templates(domain: String) -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::templates());
    view! {
        <section class="card tbl-wrap mb-4" id="templates" aria-labelledby="tp">
            <Suspense>
                {move || data.get().map(|all| match all {
                    Ok(all) => list(data, &all, &domain),
                    Err(e) => failure("The saved templates could not be read", &e),
                })}
            </Suspense>
            {form(data)}
        </section>
    }
    .into_any()
}

fn list(data: Saved, all: &[StoredTemplate], domain: &str) -> AnyView {
    let rows: Vec<_> = all.iter().map(|t| row(data, t, domain)).collect();
    let none = rows.is_empty().then(|| {
        view! { <p class="card-body text-muted">"Templates saved here can be used for every domain of the organisation."</p> }
    });
    view! {
        <div class="card-head"><h2 id="tp">"Saved templates"</h2><span class="text-muted">{(!rows.is_empty()).then_some(rows.len())}</span></div>
        {none}
        <ol>{rows}</ol>
    }
    .into_any()
}

fn row(data: Saved, t: &StoredTemplate, domain: &str) -> AnyView {
    let key = t.key();
    let toaster = use_toaster();
    let removed = key.clone();
    let remove = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let key = removed.clone();
        spawn_local(async move {
            match server_fns::remove_template(key.clone()).await {
                Ok(()) => {
                    toaster.say("check", format!("{key} removed"));
                    data.refetch();
                }
                Err(f) => toaster.failed(&f),
            }
        });
    };
    let domain = if domain.is_empty() { String::new() } else { format!("&domain={}", percent(domain)) };
    let mut start = format!("/tools/configure?service=template{domain}&template={}", percent(&key));
    if !t.variables.is_empty() {
        let values: String = t.variables.iter().map(|name| format!("{name}=\n")).collect();
        start.push_str(&format!("&values={}&draft=1", percent(values.trim_end())));
    }
    let needs = if t.variables.is_empty() {
        "needs no values".to_string()
    } else {
        format!("needs {}", t.variables.join(", "))
    };
    let groups = (!t.groups.is_empty()).then(|| format!(" · groups {}", t.groups.join(", ")));
    let version = t.version.map(|v| format!(" · version {v}"));
    let from = if t.url.is_empty() { "pasted".to_string() } else { t.url.clone() };
    view! {
        <li class="event">
            <div class="event-when"><span class="font-semibold">{t.service_name.clone()}</span>
                <small class="text-muted text-xs">{t.provider_name.clone()}</small></div>
            <div class="event-what"><div class="mono wrap">{key.clone()}</div>
                <div class="text-muted text-xs wrap">{needs}{groups}{version}{format!(" · {from} · {}", t.saved_by)}</div></div>
            <div class="event-side flex items-center gap-2">
                <a class="btn btn-sm" href=start aria-label=format!("Use {key}")>"Use"</a>
                <form method="post" action="/api/fn/remove_template" on:submit=remove><input type="hidden" name="key" value=key.clone()/>
                    <button class="btn btn-sm" type="submit" aria-label=format!("Remove {key}")>"Remove"</button></form>
            </div>
        </li>
    }
    .into_any()
}

/// Saves a template. A plain form: works without script; with it a file fills the text, and what was refused stays.
fn form(data: Saved) -> AnyView {
    let toaster = use_toaster();
    let area = NodeRef::<Textarea>::new();
    let (refused, busy) = (RwSignal::new(None::<ApiError>), RwSignal::new(false));
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let Some(form) = browser::form_of(&e) else { return };
        let (json, url) = (browser::field(&form, "json"), browser::field(&form, "url"));
        busy.set(true);
        spawn_local(async move {
            let answer = server_fns::save_template(json, url).await;
            busy.set(false);
            if answer.is_ok() {
                if let Some(form) = area.get_untracked().and_then(|area| area.form()) {
                    form.reset();
                }
                toaster.say("check", done_words("saved", 1).unwrap_or_default());
                data.refetch();
            }
            refused.set(answer.err());
        });
    };
    let file = move |e: leptos::ev::Event| {
        let input: web_sys::HtmlInputElement = event_target(&e);
        spawn_local(async move {
            if let (Some(text), Some(area)) =
                (browser::chosen_text(input.clone()).await, area.get_untracked())
            {
                area.set_value(&text);
                refused.set(None);
                // The same file may be chosen once more after it was corrected.
                input.set_value("");
            }
        });
    };
    let failed =
        move || refused.get().map(|e| banner(Tone::Critical, "The template was not saved", e.to_string()));
    view! {
        <details class="more">
            <summary>"Save a template"</summary>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/save_template" on:submit=submit>
                <label class="field"><span class="label">"JSON text"</span>
                    <textarea class="input mono" name="json" rows="6" node_ref=area spellcheck="false" autocapitalize="off" placeholder="{\"providerId\": \"post.example\", …}"></textarea></label>
                <label class="field"><span class="label">"Or its URL"</span>
                    <input class="input mono" type="url" name="url" autocomplete="off" placeholder="https://templates.example/post.example.web.json"/></label>
                <p class="hint">"It is checked against the Domain Connect schema. A template with the same provider and service is replaced."</p>
                <div role="status">{failed}</div>
                <div class="flex items-center gap-2 flex-wrap"><button class="btn btn-primary" type="submit" disabled=busy>"Save template"</button>
                    <label class="btn noscript:hidden">{icon("upload")}"Choose a file"
                        <input class="sr-only" type="file" accept=".json,application/json" on:input=|e| e.stop_propagation() on:change=file/></label></div>
            </form>
        </details>
    }
    .into_any()
}
