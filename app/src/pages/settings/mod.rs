//! Settings: members, API tokens, audit log, organisation, one's own account. Forms are sent to the page's own address
//! and work without script.

pub(crate) mod account;
pub(crate) mod audit;
pub(crate) mod features;
pub(crate) mod feeds;
pub(crate) mod members;
pub(crate) mod organisation;
mod passkeys;
mod provider;
pub(crate) mod tokens;

use crate::components::banner::{Tone, banner, page_failure};
use crate::components::copy::copy_button;
use crate::components::{icon, skeleton};
use crate::resource::JsonResource;
use crate::server_fns::{FormOutcome, FormResult, SettingsPage};
use leptos::prelude::*;
use leptos_meta::Title;
use model::ids::Role;
use service::{ApiError, Usage};

/// The pages, with the least role that may see each.
const PAGES: [(&str, &str, &str, Role); 7] = [
    ("/settings/members", "Members", "list", Role::Viewer),
    ("/settings/tokens", "API tokens", "key", Role::Admin),
    ("/settings/notifications", "Notifications", "bell", Role::Viewer),
    ("/settings/audit", "Audit log", "clock", Role::Admin),
    ("/settings/organisation", "Organisation", "globe", Role::Viewer),
    ("/settings/features", "Features", "sliders", Role::Viewer),
    ("/settings/account", "Your account", "lock", Role::Viewer),
];

/// A settings page around what it has read.
fn page<T: Clone + Send + Sync + 'static>(
    path: &'static str,
    sub: &'static str,
    data: JsonResource<Result<SettingsPage<T>, ApiError>>,
    body: impl Fn(SettingsPage<T>) -> AnyView + Clone + Send + Sync + 'static,
) -> AnyView {
    let title = PAGES.iter().find(|page| page.0 == path).map_or("Settings", |page| page.1);
    view! {
        <Title text=title/>
        <nav class="crumbs" aria-label="Breadcrumb">
            <a href="/settings/members">"Settings"</a>{icon::icon_sm("right")}<span aria-current="page">{title}</span>
        </nav>
        <div class="page-head"><h1>{title}</h1><span class="sub">{sub}</span></div>
        <Transition fallback=skeleton::list>
            {move || data.get().map(|read| match read {
                Ok(p) => {
                    let tabs = tabs(path, p.caller.role);
                    view! { {tabs}<div class="grid grid-cols-1 gap-4 content-start">{body.clone()(p)}</div> }.into_any()
                }
                Err(e) => {
                    view! { {tabs(path, Role::Viewer)}{page_failure("This page can't be shown", &e)} }.into_any()
                }
            })}
        </Transition>
    }
    .into_any()
}

/// Links to all pages of the settings that a role may see.
pub(crate) fn tabs(path: &'static str, role: Role) -> AnyView {
    let links = PAGES.iter().filter(move |page| role >= page.3).map(|(to, title, picture, _)| {
        let here = *to == path;
        view! {
            <a class="chip" class:on=here href=*to aria-current=here.then_some("page")>{icon::icon(picture)}{*title}</a>
        }
    });
    view! { <div class="toolbar"><nav class="chips-scroll" aria-label="Settings">{links.collect_view()}</nav></div> }
        .into_any()
}

/// The refusal of a form of this page, as a banner.
fn refusal(outcome: Option<&FormOutcome>, form: &str) -> Option<AnyView> {
    let outcome = outcome.filter(|o| o.form == form)?;
    let FormResult::Refused(e) = &outcome.result else { return None };
    Some(
        view! { <div role="alert">{banner(Tone::Critical, "Nothing was changed", e.to_string())}</div> }
            .into_any(),
    )
}

/// Something that is shown once, with a button to copy it.
fn shown_once(title: String, text: &'static str, label: &'static str, value: String) -> AnyView {
    view! {
        <div class="banner banner-ok" role="status">
            {icon::icon("ok")}
            <div class="flex-1 min-w-0 grid grid-cols-1 gap-4 content-start">
                <div><strong>{title}</strong><p>{text}</p></div>
                <dl class="rec"><div><dt>{label}</dt><dd>{value.clone()}</dd><dd>{copy_button(label, value)}</dd></div></dl>
            </div>
        </div>
    }
    .into_any()
}

/// `4 of 50`, with a warning before the quota is used up.
fn usage(what: &'static str, u: Usage) -> AnyView {
    let words = format!("{} of {} {what}", u.used, u.limit);
    if !u.is_nearly_full() {
        return view! { <span>{words}</span> }.into_any();
    }
    let title = "Ask the operator of this server for a larger quota";
    view! { <span class="flex items-center gap-2 text-warn" title=title>{icon::icon_sm("warning")}{words}</span> }.into_any()
}

/// A form with one button that acts on one thing, behind a summary that names the action: two steps, so that nothing
/// is removed by a slip.
fn confirmed(
    path: &'static str,
    action: &'static str,
    field: &'static str,
    value: String,
    (summary, button): (&'static str, String),
) -> AnyView {
    let label = format!("{summary}: {button}");
    view! {
        <details class="confirm">
            <summary class="btn btn-sm btn-ghost btn-danger" aria-label=label>{summary}</summary>
            <form method="post" action=path>
                <input type="hidden" name="do" value=action/>
                <input type="hidden" name=field value=value/>
                <button class="btn btn-sm btn-danger" type="submit">{button}</button>
            </form>
        </details>
    }
    .into_any()
}
