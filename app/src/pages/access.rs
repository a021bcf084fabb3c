//! The pages in front of the product: sign-in, set-up, invitation, new password. Plain forms that the server renders
//! whole, without the browser bundle.

use crate::components::icon;
use leptos::prelude::*;
use model::open_tools::ToolSet;
use std::borrow::Cow;

/// A field of such a form.
#[derive(Debug, Clone, Default)]
pub struct AccessField {
    /// Name in the form's data.
    pub name: &'static str,
    /// Words above it.
    pub label: &'static str,
    /// `text`, `email` or `password`.
    pub kind: &'static str,
    /// What browsers and password managers may fill in (HTML `autocomplete`).
    pub autocomplete: &'static str,
    /// What was typed before; never for passwords.
    pub value: String,
    /// A rule or help below it.
    pub hint: &'static str,
    /// Whether it may be left empty.
    pub is_optional: bool,
}

/// One of those pages. Without a button it only says something.
#[derive(Debug, Clone, Default)]
pub struct AccessPage {
    /// Heading and title.
    pub title: String,
    /// A sentence below the heading.
    pub text: String,
    /// Where the form is sent.
    pub action: Cow<'static, str>,
    /// Whether the form is sent as the query of an address.
    pub is_get: bool,
    /// Values sent along: the link's secret, where to go afterwards.
    pub hidden: Vec<(Cow<'static, str>, String)>,
    /// The fields, in order.
    pub fields: Vec<AccessField>,
    /// What went wrong before.
    pub error: Option<String>,
    /// Words of the button.
    pub button: &'static str,
    /// A sentence below the form.
    pub footer: &'static str,
    /// The page to go to after sign-in with a passkey, where that is offered.
    pub passkey_to: Option<String>,
    /// Tools that can be used without signing in.
    pub open_tools: ToolSet,
}

/// The complete document of such a page; `head_html` carries the style sheet and no script.
pub fn access_document(head_html: &str, page: &AccessPage) -> String {
    let head = leptos::tachys::html::InertElement::new(head_html.to_string());
    let title = format!("{} · Domainscope", page.title);
    let document = view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{title}</title>
                <script inner_html=crate::THEME_SCRIPT></script>
                {head}
            </head>
            <body>
                <icon::Sprite/>
                <div class="min-h-screen grid [grid-template-rows:1fr_auto] place-items-center p-6">
                    <main class="w-full max-w-90 grid grid-cols-1 gap-4 content-start" id="main">
                        <div class="grid justify-items-center gap-2 text-center">
                            {icon::icon_in("scope", "i i-lg text-accent")}
                            <h1>{page.title.clone()}</h1>
                            <p class="text-muted">{page.text.clone()}</p>
                        </div>
                        {form(page)}
                        {page.passkey_to.clone().map(passkey)}
                        <p class="text-muted text-xs text-center">{page.footer}</p>
                        {open_tools(page.open_tools)}
                    </main>
                </div>
            </body>
        </html>
    };
    document.into_any().to_html()
}

/// Links to tools that are open to visitors.
fn open_tools(open: ToolSet) -> Option<AnyView> {
    if open.is_empty() {
        return None;
    }
    let links: Vec<_> = open
        .iter()
        .map(
            |tool| view! { <a class="underline" href=format!("/tools/{}", tool.as_str())>{tool.label()}</a> },
        )
        .collect();
    Some(
        view! {
            <nav class="flex items-center justify-center gap-x-3 gap-y-1 flex-wrap text-xs" aria-label="Tools">
                <span class="text-muted">"Without an account:"</span>{links}</nav>
        }
        .into_any(),
    )
}

/// Sign-in with a passkey. The script shows it in browsers that have passkeys.
fn passkey(to: String) -> AnyView {
    view! {
        <form class="card" method="post" action="/sign-in" data-passkey="sign-in" hidden>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <input type="hidden" name="to" value=to/>
                <p class="hint text-critical" role="alert" data-passkey-error="" hidden></p>
                <button class="btn" type="submit">"Sign in with a passkey"</button>
            </div>
        </form>
        <script src=crate::PASSKEY_SCRIPT defer></script>
    }
    .into_any()
}

fn form(page: &AccessPage) -> Option<AnyView> {
    if page.button.is_empty() {
        return None;
    }
    let hidden = page.hidden.iter().map(|(name, value)| {
        view! { <input type="hidden" name=name.clone() value=value.clone()/> }
    });
    let has_error = page.error.is_some();
    let error = page.error.clone().map(|words| {
        view! {
            <p class="hint text-critical flex items-center gap-2" id="form-error" role="alert">{icon::icon_sm("critical")}{words}</p>
        }
    });
    // The field to correct is the last one: a password or a code.
    let last = page.fields.len().saturating_sub(1);
    let method = if page.is_get { "get" } else { "post" };
    let fields = page.fields.iter().enumerate().map(|(n, f)| field(f, n == 0, has_error && n == last));
    Some(
        view! {
            <form class="card" method=method action=page.action.clone()>
                <div class="card-body grid grid-cols-1 gap-4 content-start">
                    {hidden.collect_view()}
                    {fields.collect_view()}
                    {error}
                    <button class="btn btn-primary" type="submit">{page.button}</button>
                </div>
            </form>
        }
        .into_any(),
    )
}

fn field(f: &AccessField, is_first: bool, is_wrong: bool) -> AnyView {
    let hint_id = format!("{}-hint", f.name);
    let described = match (f.hint.is_empty(), is_wrong) {
        (false, true) => Some(format!("{hint_id} form-error")),
        (false, false) => Some(hint_id.clone()),
        (true, true) => Some("form-error".to_string()),
        (true, false) => None,
    };
    let hint = (!f.hint.is_empty()).then(|| view! { <span class="hint" id=hint_id>{f.hint}</span> });
    let value = (!f.value.is_empty()).then(|| f.value.clone());
    view! {
        <div class="field">
            <label class="label" for=f.name>{f.label}</label>
            <input
                class="input"
                id=f.name
                name=f.name
                type=f.kind
                autocomplete=f.autocomplete
                value=value
                required=!f.is_optional
                autofocus=is_first
                aria-invalid=is_wrong.then_some("true")
                aria-describedby=described
            />
            {hint}
        </div>
    }
    .into_any()
}
