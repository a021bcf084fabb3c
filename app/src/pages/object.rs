//! `/objects/KIND/NAME`: the live object as YAML, to copy and, for those who may, to edit. A plain form that the server
//! renders whole, without the browser bundle; what it saves goes through the resource API.

use crate::components::area::area_text;
use crate::components::icon;
use leptos::prelude::*;

/// What that page shows.
#[derive(Debug, Clone, Default)]
pub struct ObjectPage {
    /// Its kind in the plural, as addresses have it.
    pub plural: String,
    /// Its name.
    pub name: String,
    /// The text: the live object, or what was sent and refused.
    pub yaml: String,
    /// Where the page of the object is: address and words.
    pub back: (String, &'static str),
    /// Whether the caller may change it.
    pub is_editable: bool,
    /// Whether it has just been saved.
    pub is_saved: bool,
    /// Why it was refused, one sentence each: the field's path and the rule.
    pub errors: Vec<String>,
}

/// The complete document; `head_html` carries the style sheet and no script.
pub fn object_document(head_html: &str, page: &ObjectPage) -> String {
    let head = leptos::tachys::html::InertElement::new(head_html.to_string());
    let at = format!("/objects/{}/{}", page.plural, page.name);
    let (back, words) = page.back.clone();
    let errors: Vec<_> = page.errors.iter().map(|e| view! { <li class="wrap">{e.clone()}</li> }).collect();
    let failed = (!errors.is_empty()).then(|| {
        view! {
            <div class="banner banner-critical" role="alert">{icon::icon("critical")}
                <div class="flex-1 min-w-0"><strong>"Not saved"</strong><ul>{errors}</ul></div></div>
        }
    });
    let saved = page.is_saved.then(|| {
        view! {
            <div class="banner banner-ok" role="status">{icon::icon("ok")}
                <div class="flex-1 min-w-0"><strong>"Saved"</strong></div></div>
        }
    });
    let is_editable = page.is_editable;
    let rows = page.yaml.lines().count().clamp(12, 40).to_string();
    let buttons = if is_editable {
        view! {
            <div class="flex items-center gap-2 flex-wrap">
                <button class="btn btn-primary" type="submit">"Save"</button>
                <a class="btn" href=at.clone()>"Read again"</a>
            </div>
            <p class="hint">"A change of someone else meanwhile is refused, not overwritten: metadata.resourceVersion says what your text is based on. Status is written by the server."</p>
        }
        .into_any()
    } else {
        view! { <p class="hint">"Your role may read this object, not change it."</p> }.into_any()
    };
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{format!("{} as YAML · Domainscope", page.name)}</title>
                <script inner_html=crate::THEME_SCRIPT></script>
                {head}
            </head>
            <body><icon::Sprite/>
                <main class="mx-auto w-full max-w-240 p-6 grid grid-cols-1 gap-4 content-start" id="main">
                    <p><a href=back>{words}</a></p>
                    <h1 class="wrap">{page.name.clone()}" as YAML"</h1>
                    {saved}{failed}
                    <form class="card" method="post" action=at.clone()>
                        <div class="card-body grid grid-cols-1 gap-4 content-start">
                            <label for="yaml">"The object as the resource API has it"</label>
                            <textarea class="input mono w-full" id="yaml" name="yaml" rows=rows readonly=!is_editable
                                spellcheck="false" autocapitalize="off" autocomplete="off">{area_text(&page.yaml)}</textarea>
                            {buttons}
                        </div>
                    </form>
                </main>
            </body>
        </html>
    }
    .into_any()
    .to_html()
}
