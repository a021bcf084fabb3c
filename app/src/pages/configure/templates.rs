//! The organisation's Domain Connect templates beside the wizard: use, save from a text, a file or a URL, remove.

use crate::browser;
use crate::components::icon;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::html::Textarea;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::configure::StoredTemplate;
use model::inventory::percent;

/// The card, for a wizard about this domain.
#[component]
pub(super) fn Templates(domain: String) -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::templates());
    view! {
        <Suspense>
            {move || data.get().and_then(Result::ok).map(|all| card(&all, &domain))}
        </Suspense>
    }
    .into_any()
}

fn card(all: &[StoredTemplate], domain: &str) -> AnyView {
    let rows: Vec<_> = all.iter().map(|t| row(t, domain)).collect();
    let none = rows.is_empty().then(|| {
        view! { <p class="card-body text-muted">"Templates saved here can be used for every domain of the organisation."</p> }
    });
    view! {
        <section class="card tbl-wrap mb-4" id="templates" aria-labelledby="tp">
            <div class="card-head"><h2 id="tp">"Saved templates"</h2><span class="text-muted">{(!rows.is_empty()).then_some(rows.len())}</span></div>
            {none}
            <ol>{rows}</ol>
            {form()}
        </section>
    }
    .into_any()
}

fn row(t: &StoredTemplate, domain: &str) -> AnyView {
    let key = t.key();
    let domain = if domain.is_empty() { String::new() } else { format!("&domain={}", percent(domain)) };
    let start = format!("/tools/configure?service=template{domain}&template={}", percent(&key));
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
                <form method="post" action="/api/fn/remove_template"><input type="hidden" name="key" value=key.clone()/>
                    <button class="btn btn-sm" type="submit" aria-label=format!("Remove {key}")>"Remove"</button></form>
            </div>
        </li>
    }
    .into_any()
}

/// Saves a template. A plain form: works without script; with it a file fills the text.
fn form() -> AnyView {
    let area = NodeRef::<Textarea>::new();
    let file = move |e: leptos::ev::Event| {
        let input: web_sys::HtmlInputElement = event_target(&e);
        spawn_local(async move {
            if let (Some(text), Some(area)) =
                (browser::chosen_text(input.clone()).await, area.get_untracked())
            {
                area.set_value(&text);
                // The same file may be chosen once more after it was corrected.
                input.set_value("");
            }
        });
    };
    view! {
        <details class="more">
            <summary>"Save a template"</summary>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/save_template">
                <label class="field"><span class="label">"JSON text"</span>
                    <textarea class="input mono" name="json" rows="6" node_ref=area spellcheck="false" autocapitalize="off" placeholder="{\"providerId\": \"post.example\", …}"></textarea></label>
                <label class="field"><span class="label">"Or its URL"</span>
                    <input class="input mono" type="url" name="url" autocomplete="off" placeholder="https://templates.example/post.example.web.json"/></label>
                <p class="hint">"It is checked against the Domain Connect schema. A template with the same provider and service is replaced."</p>
                <div class="flex items-center gap-2 flex-wrap"><button class="btn btn-primary" type="submit">"Save template"</button>
                    <label class="btn noscript:hidden">{icon("upload")}"Choose a file"
                        <input class="sr-only" type="file" accept=".json,application/json" on:input=|e| e.stop_propagation() on:change=file/></label></div>
            </form>
        </details>
    }
    .into_any()
}
