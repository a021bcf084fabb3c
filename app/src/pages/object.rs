//! `/objects/KIND/NAME`: the live object as YAML, to copy and, for those who may, to edit. A plain form that the server
//! renders whole, without the browser bundle; what it saves goes through the resource API. The script [`OBJECT_SCRIPT`]
//! carries out its Copy button.

use crate::components::area::area_text;
use crate::components::icon;
use crate::pages::domain;
use leptos::prelude::*;
use model::inventory::percent;

/// Where the script of the page is.
pub const OBJECT_SCRIPT: &str = "/object.js";

/// The object as it is now, where it was changed after the text that was sent had been read.
#[derive(Debug, Clone)]
pub struct NewerObject {
    /// Its `metadata.resourceVersion`.
    pub version: String,
    /// Its text.
    pub yaml: String,
}

/// What that page shows.
#[derive(Debug, Clone, Default)]
pub struct ObjectPage {
    /// Its kind in the plural, as addresses have it.
    pub plural: String,
    /// Its name; empty for one that is to be created.
    pub name: String,
    /// The text: the live object, or what was sent and refused.
    pub yaml: String,
    /// Whether the caller may change it.
    pub is_editable: bool,
    /// Whether it has just been saved.
    pub is_saved: bool,
    /// Why it was refused, one sentence each: the field's path and the rule.
    pub errors: Vec<String>,
    /// What a new object would get, one sentence each.
    pub preview: Vec<String>,
    /// What a text that is out of date would overwrite.
    pub newer: Option<NewerObject>,
}

/// The complete document; `head_html` carries the style sheet and no script of the bundle.
pub fn object_document(head_html: &str, page: &ObjectPage) -> String {
    let head = leptos::tachys::html::InertElement::new(head_html.to_string());
    let is_new = page.name.is_empty();
    let name = if is_new { "New claim".to_string() } else { page.name.clone() };
    let at = if is_new {
        format!("/objects/{}", page.plural)
    } else {
        format!("/objects/{}/{}", page.plural, page.name)
    };
    let tabs = tabs(page, &at);
    let saved = page.is_saved.then(|| {
        view! {
            <div class="banner banner-ok" role="status">{icon::icon("ok")}
                <div class="flex-1 min-w-0"><strong>"Saved"</strong></div></div>
        }
    });
    let failed = !page.errors.is_empty();
    let title = if failed { "Not saved · " } else { "" };
    let is_editable = page.is_editable;
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{format!("{title}{name} as YAML · Domainscope")}</title>
                <script inner_html=crate::THEME_SCRIPT></script>
                <script src=OBJECT_SCRIPT defer></script>
                {head}
            </head>
            <body><icon::Sprite/>
                <main class="mx-auto w-full max-w-240 p-6 max-sm:p-4 grid grid-cols-1 gap-4 content-start" id="main">
                    <header class="card">
                        <h1 class="wrap px-5 py-4 text-2xl font-mono font-semibold">{name.clone()}</h1>
                        {tabs}
                    </header>
                    {saved}{failed.then(|| failure(page))}{preview(page)}
                    <form class="card" method="post" action=at.clone()>
                        {head_of("yaml", heading(page))}
                        <div class="card-body grid grid-cols-1 gap-4 content-start">
                            <textarea class="input" id="yaml" name="yaml" rows=rows(&page.yaml) readonly=!is_editable wrap="off"
                                aria-invalid=failed.then_some("true") aria-describedby=failed.then_some("errors")
                                spellcheck="false" autocapitalize="off" autocomplete="off">{area_text(&page.yaml)}</textarea>
                            {buttons(page, &at)}
                        </div>
                    </form>
                    {page.newer.as_ref().map(newer)}
                </main>
            </body>
        </html>
    }
    .into_any()
    .to_html()
}

/// The tabs of the object with this one as the current: those of the domain, or where the claim is listed.
fn tabs(page: &ObjectPage, at: &str) -> AnyView {
    let all: Vec<(String, &'static str)> = if page.plural == "domains" {
        domain::tab_links(&page.name).collect()
    } else if page.name.is_empty() {
        vec![("/networks".to_string(), "Networks"), (at.to_string(), "YAML")]
    } else {
        vec![(format!("/networks?q={}", percent(&page.name)), "Networks"), (at.to_string(), "YAML")]
    };
    let each: Vec<_> = all
        .into_iter()
        .map(|(href, label)| {
            let current = (href == at).then_some("page");
            view! { <a class="tab" href=href aria-current=current>{label}</a> }
        })
        .collect();
    view! { <nav class="flex gap-1 px-3 border-t overflow-x-auto [scrollbar-width:none] max-sm:px-2" aria-label="Views">{each}</nav> }.into_any()
}

/// The label of an area, and a button that copies its text.
fn head_of(area: &'static str, words: &'static str) -> AnyView {
    view! {
        <div class="card-head"><h2><label for=area>{words}</label></h2>
            <div class="aside"><button class="btn btn-sm noscript:hidden" type="button" data-copy=area>{icon::icon("copy")}<span>"Copy"</span></button></div>
            <span class="sr-only" role="status"></span></div>
    }
    .into_any()
}

fn heading(page: &ObjectPage) -> &'static str {
    match (page.errors.is_empty(), page.is_editable) {
        (true, _) if page.name.is_empty() => "Your text",
        (false, _) => "Your text",
        (true, true) => "Edit the object",
        (true, false) => "The object",
    }
}

/// Lines of an area that shows a text: all of it, within reason.
fn rows(text: &str) -> String {
    text.lines().count().clamp(12, 40).to_string()
}

fn failure(page: &ObjectPage) -> AnyView {
    let errors: Vec<_> = page.errors.iter().map(|e| view! { <li class="wrap">{e.clone()}</li> }).collect();
    view! {
        <div class="banner banner-critical" role="alert" id="errors">{icon::icon("critical")}
            <div class="flex-1 min-w-0"><strong>"Not saved"</strong><ul>{errors}</ul></div></div>
    }
    .into_any()
}

fn preview(page: &ObjectPage) -> Option<AnyView> {
    let each: Vec<_> =
        page.preview.iter().map(|words| view! { <li class="wrap">{words.clone()}</li> }).collect();
    (!each.is_empty()).then(|| {
        view! {
            <div class="banner banner-ok" role="status">{icon::icon("info")}
                <div class="flex-1 min-w-0"><strong>"Preview"</strong><ul>{each}</ul><p>"It reserves nothing."</p></div></div>
        }
        .into_any()
    })
}

fn buttons(page: &ObjectPage, at: &str) -> AnyView {
    if !page.is_editable {
        return view! { <p class="hint">"Your role can read this object but not change it."</p> }.into_any();
    }
    if page.name.is_empty() {
        return view! {
            <div class="flex items-center gap-2 flex-wrap">
                <button class="btn" type="submit" name="preview" value="1">"Preview"</button>
                <button class="btn btn-primary" type="submit">"Claim"</button>
                <a class="btn" href="/networks">"Discard my text"</a>
            </div>
        }
        .into_any();
    }
    let at = at.to_string();
    let Some(newer) = &page.newer else {
        let reset = if page.errors.is_empty() { "Reload" } else { "Discard my text" };
        return view! {
            <div class="flex items-center gap-2 flex-wrap">
                <button class="btn btn-primary" type="submit">"Save"</button>
                <a class="btn" href=at>{reset}</a>
            </div>
            <p class="hint">"If the object changes while you edit it, nothing is overwritten: you see both versions and choose. The server writes the status; changes to it are ignored."</p>
        }
        .into_any();
    };
    view! {
        <div class="flex items-center gap-2 flex-wrap">
            <button class="btn btn-primary" type="submit" name="over" value=newer.version.clone()>"Save over the newer version"</button>
            <a class="btn" href=at>"Discard my text"</a>
        </div>
    }
    .into_any()
}

fn newer(newer: &NewerObject) -> AnyView {
    view! {
        <section class="card">
            {head_of("newer", "The object as it is now")}
            <div class="card-body">
                <textarea class="input" id="newer" rows=rows(&newer.yaml) readonly wrap="off" spellcheck="false">{area_text(&newer.yaml)}</textarea>
            </div>
        </section>
    }
    .into_any()
}
