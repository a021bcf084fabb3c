//! What needs attention, worst first: what it means, what to do, and a button that does it where we can.

use super::state::DomainState;
use crate::components::status::{status_icon, status_icon_class};
use crate::components::{icon, icon_sm};
use crate::server_fns;
use leptos::prelude::*;
use model::attention::{Attention, Help, attention};
use model::detail::Detail;
use model::status::StatusKind;

/// The card; nothing when all is well.
pub(crate) fn needs(dom: DomainState, d: &Detail) -> Option<AnyView> {
    let all = attention(&d.item, &d.row.status, d.observation.as_ref());
    if all.is_empty() {
        return None;
    }
    let n = all.len().to_string();
    let each: Vec<_> = all.into_iter().map(|a| finding(dom, d, a)).collect();
    Some(
        view! {
            <section class="card" aria-labelledby="needs">
                <div class="card-head"><h2 id="needs">"Needs attention"</h2><span class="min-w-0 truncate text-muted">{n}</span>
                    <div class="aside">"worst first"</div></div>
                {each}
            </section>
        }
        .into_any(),
    )
}

fn finding(dom: DomainState, d: &Detail, a: Attention) -> AnyView {
    let name = d.row.name.as_str().to_string();
    let text = (!a.means.is_empty() || !a.todo.is_empty()).then(|| {
        let todo = (!a.todo.is_empty()).then(|| view! { <b>{a.todo.clone()}</b> });
        view! { <p>{a.means.clone()}" "{todo}</p> }
    });
    // A note of a check is no missing lock, though both are of one weight.
    let note = a.evidence.is_some() && a.kind == StatusKind::Unlocked;
    let evidence = a.evidence.map(|e| view! { <div class="ev"><span>{e}</span></div> });
    let buttons: Vec<_> = a.help.iter().map(|h| help(dom, d, *h, &name)).collect();
    let picture = if note { "info" } else { status_icon(a.kind) };
    let mut title = a.title;
    if let Some(first) = title.get(..1) {
        // A code keeps its own spelling.
        let code = title.split_whitespace().next().is_some_and(|w| w.chars().skip(1).any(char::is_uppercase));
        if !code && !title.split_whitespace().next().is_some_and(|w| w.contains('.')) {
            title = format!("{}{}", first.to_uppercase(), &title[1..]);
        }
    }
    view! {
        <div class="finding">
            {icon::icon_in(picture, status_icon_class(a.kind))}
            <div><h3 class="wrap">{title}</h3>{text}{evidence}</div>
            <div class="flex gap-2 items-start max-sm:col-start-2 max-sm:mt-2">{buttons}</div>
        </div>
    }
    .into_any()
}

fn help(dom: DomainState, d: &Detail, h: Help, name: &str) -> AnyView {
    match h {
        Help::ShowPath => {
            view! { <a class="btn btn-sm" href=format!("/domains/{name}/dns")>"Show the path"</a> }.into_any()
        }
        Help::SetExpiration => {
            view! { <a class="btn btn-sm" href="#renewal" rel="external">"Set the expiration"</a> }.into_any()
        }
        Help::Rescan => {
            let rescan = move |e: leptos::ev::SubmitEvent| {
                e.prevent_default();
                dom.rescan();
            };
            view! {
                <form method="post" action="/api/fn/rescan" on:submit=rescan>
                    <input type="hidden" name="names[]" value=name.to_string()/>
                    <button class="btn btn-sm" type="submit">{icon_sm("refresh")}"Rescan"</button>
                </form>
            }
            .into_any()
        }
        Help::MarkAutoRenew => {
            let expires = d.item.manual_expires.map(|d| d.to_string()).unwrap_or_default();
            let (n, e) = (name.to_string(), expires.clone());
            let mark = move |ev: leptos::ev::SubmitEvent| {
                ev.prevent_default();
                dom.save(server_fns::set_renewal(n.clone(), e.clone(), "yes".into()));
            };
            view! {
                <form method="post" action="/api/fn/set_renewal" on:submit=mark>
                    <input type="hidden" name="name" value=name.to_string()/>
                    <input type="hidden" name="expires" value=expires/>
                    <input type="hidden" name="auto_renew" value="yes"/>
                    <button class="btn btn-sm" type="submit">{icon_sm("check")}"Mark auto-renew"</button>
                </form>
            }
            .into_any()
        }
    }
}
