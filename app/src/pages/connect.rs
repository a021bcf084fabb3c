//! The customer page at `/connect/TOKEN`: one service, one domain, no account. The server renders it whole, without the
//! browser bundle, in the brand of the link's author; it reloads itself until everything is there.

use super::configure::{deletion, host_shown};
use crate::components::icon;
use crate::components::icon::{icon_in, icon_sm};
use leptos::prelude::*;
use model::configure::{ChangeAction, RecordCheck, RecordState, ServiceReport, ServiceState, excess};
use model::time::{human_clock, human_day};
use service::ConnectView;

/// Seconds between two loads of a page that waits.
const RELOAD: &str = "15";

/// The complete document; `head_html` carries the style sheet and no script.
pub fn connect_document(head_html: &str, view: &ConnectView) -> String {
    let (link, r) = (&view.link, &view.report);
    let letter: String = link.brand.chars().take(1).collect::<String>().to_uppercase();
    let done = r.state == ServiceState::Working;
    let lead = match (done, r.records.len()) {
        (true, _) => "All records are there. You can close this page.".to_string(),
        (_, 1) => "One DNS record brings your domain to the service. This takes about 5 minutes.".to_string(),
        (_, n) => format!("{n} DNS records bring your domain to the service. This takes about 5 minutes."),
    };
    let until = format!(
        "You can close this page and come back with the same link until {}.",
        human_day(link.expires_at)
    );
    let body = view! {
        <main class="guest" id="main" style=brand(&link.accent)>
            <div class="flex items-center gap-2.5 text-[1rem] leading-6 font-semibold"><span class="w-8 h-8 rounded-lg bg-accent-fill text-on-accent grid place-items-center text-[.875rem] leading-none" aria-hidden="true">{letter}</span><span>{link.brand.clone()}</span></div>
            <div><h1>"Connect "<span class="wrap">{r.unicode.clone()}</span></h1><p class="text-muted">{lead}</p></div>
            {(!done).then(|| apply(r))}
            {(!done).then(|| by_hand(r))}
            {status(r, &until)}
            {help(&link.help)}
        </main>
    };
    document(head_html, &format!("Connect {} · {}", r.unicode, link.brand), !done, body.into_any())
}

/// The page of a link that does not work, or of a look that failed.
pub fn connect_failed_document(head_html: &str, words: &str) -> String {
    let body = view! {
        <main class="guest" id="main">
            <div><h1>"This page can’t be shown"</h1><p class="text-muted">{words.to_string()}</p></div>
        </main>
    };
    document(head_html, "Connect your domain", false, body.into_any())
}

fn document(head_html: &str, title: &str, reloads: bool, body: AnyView) -> String {
    let head = leptos::tachys::html::InertElement::new(head_html.to_string());
    let reload = reloads.then(|| view! { <meta http-equiv="refresh" content=RELOAD/> });
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="robots" content="noindex"/>
                {reload}
                <title>{title.to_string()}</title>
                {head}
            </head>
            <body><icon::Sprite/>{body}</body>
        </html>
    }
    .into_any()
    .to_html()
}

/// The accent of the brand, as the style sheet's variables. The value was checked when the link was made.
fn brand(accent: &str) -> Option<String> {
    (!accent.is_empty()).then(|| format!("--accent-fill:{accent}"))
}

fn apply(r: &ServiceReport) -> Option<AnyView> {
    let link = r.apply.as_ref()?;
    Some(
        view! {
            <section class="card" aria-labelledby="q"><div class="card-body grid grid-cols-1 gap-4 content-start">
                <div><h2 id="q">{format!("Your DNS is at {}", link.provider)}</h2><p class="text-muted">"Sign in there, look at the changes, confirm. We never see your password."</p></div>
                <a class="btn btn-primary" href=link.url.clone() target="_blank" rel="noopener noreferrer">{icon::icon("ext")}{format!("Continue at {}", link.provider)}</a>
            </div></section>
        }
        .into_any(),
    )
}

fn by_hand(r: &ServiceReport) -> AnyView {
    let at =
        if r.provider.name.is_empty() { "your DNS provider".to_string() } else { r.provider.name.clone() };
    let place = match r.provider.place.as_str() {
        "" => format!("Sign in at {at} and open the DNS records of {}.", r.unicode),
        place => format!("At {at}, open {place}."),
    };
    let gone: Vec<_> = r.changes.iter().filter(|c| c.action == ChangeAction::Delete).map(deletion).collect();
    let all = r.records.len();
    let records: Vec<_> = r.records.iter().enumerate().map(|(i, c)| record(i + 1, all, c, r)).collect();
    view! {
        <details class="card" open=r.apply.is_none()><summary>"Add the records yourself"</summary>
            <div class="card-body grid grid-cols-1 gap-4 content-start"><p class="text-muted">{place}</p>{gone}{records}</div>
        </details>
    }
    .into_any()
}

fn record(number: usize, all: usize, c: &RecordCheck, r: &ServiceReport) -> AnyView {
    let found = c.state == RecordState::Present;
    let title =
        if found { format!("Record {number} of {all} found") } else { format!("Record {number} of {all}") };
    let class = if found { "flex items-center gap-1.5 text-ok" } else { "flex items-center gap-1.5" };
    let mark = found.then(|| icon_in("ok", "i"));
    let line = |label: &str, value: String, hint: &str| {
        let hint = (!hint.is_empty()).then(|| view! { " "<small>{hint.to_string()}</small> });
        view! { <div><dt>{label.to_string()}</dt><dd><span class="select-all">{value}</span>{hint}</dd></div> }
    };
    let label =
        |known: &str, usual: &str| if known.is_empty() { usual.to_string() } else { known.to_string() };
    view! {
        <div class="grid grid-cols-1 gap-2 content-start"><h3 class=class>{mark}{title}</h3>
            {fault(c)}
            <dl class="rec">
                {line("Type", c.rtype.clone(), "")}
                {line(&label(&r.provider.host_label, "Host"), host_shown(&c.host), &c.hints.host)}
                {line(&label(&r.provider.value_label, "Value"), c.value.clone(), &c.hints.value)}
                {line("TTL", c.ttl.to_string(), &c.hints.ttl)}
            </dl>
        </div>
    }
    .into_any()
}

/// What went wrong with a copy, in plain words.
fn fault(c: &RecordCheck) -> Option<AnyView> {
    let fault = c.faults.first()?;
    let (shown, right) =
        if fault.live.name == c.name { (&fault.live.value, &c.value) } else { (&fault.live.name, &c.name) };
    let parts: Vec<_> = excess(shown, right)
        .into_iter()
        .map(
            |(text, wrong)| {
                if wrong { view! { <span class="hl">{text}</span> }.into_any() } else { text.into_any() }
            },
        )
        .collect();
    Some(
        view! {
            <div class="banner banner-warn" role="status">{icon::icon("warning")}<div class="flex-1 min-w-0 wrap"><strong>{format!("Almost: {}.", fault.label.to_lowercase())}</strong>
                <p class="text-xs mono wrap">{parts}</p><p>{fault.sentence.clone()}</p></div></div>
        }
        .into_any(),
    )
}

fn status(r: &ServiceReport, until: &str) -> AnyView {
    let (present, all) = (r.present(), r.records.len());
    let done = r.state == ServiceState::Working;
    let dot = |ok: bool| {
        if ok {
            view! { <span class="dot ok">{icon_sm("check")}</span> }.into_any()
        } else {
            view! { <span class="dot warn"><span class="spin" aria-hidden="true"></span></span> }.into_any()
        }
    };
    let detail = if done {
        format!("All {all} found at every name server.")
    } else {
        format!("{present} of {all} found. We check every {RELOAD} seconds.")
    };
    view! {
        <section class="card" aria-labelledby="st"><div class="card-head"><h2 id="st">"Status"</h2><div class="aside">{format!("checked at {} UTC", human_clock(r.checked_at))}</div></div>
            <ol class="steps"><li>{dot(done)}<div role="status"><span class="font-semibold">"Records"</span><p class="text-muted text-xs">{detail}</p></div></li></ol>
            <div class="card-foot text-xs">{until.to_string()}</div></section>
    }
    .into_any()
}

fn help(address: &str) -> AnyView {
    let href =
        if address.starts_with("https://") { address.to_string() } else { format!("mailto:{address}") };
    let link = (!address.is_empty())
        .then(|| view! { <span>"Need help? "<a href=href rel="noreferrer">{address.to_string()}</a></span> });
    view! {
        <footer class="text-muted text-xs flex items-center gap-2 flex-wrap justify-between">{link}<span class="flex items-center gap-1">"Checked by "{icon_sm("scope")}"Domainscope"</span></footer>
    }
    .into_any()
}
