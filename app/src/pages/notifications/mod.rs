//! Settings, Notifications: channels, rules with a preview, failed messages. Plain forms; all of it works without script.

mod channel;
mod editor;
mod maintenance;
mod rules;

use crate::components::banner::failure;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::components::time::{Ago, instant};
use crate::pages::settings::{feeds, tabs};
use crate::resource::json_resource;
use crate::server_fns;
use crate::server_fns::Notifications;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::Timestamp;
use model::ids::Role;
use model::notify::{DeliveryState, TARGET_KINDS};
use service::{ChannelView, FailedView, NotificationSettings};

/// The address of the page.
const PATH: &str = "/settings/notifications";

/// The page.
#[component]
pub(crate) fn NotificationsPage() -> impl IntoView {
    let search = use_location().search;
    let data = json_resource(move || search.get(), server_fns::notifications);
    view! {
        <Title text="Notifications"/>
        <Transition fallback=crate::components::skeleton::list>
            {move || data.get().map(|answer| match answer {
                Ok(n) => page(&n),
                Err(f) => view! {
                    <div class="page-head"><h1>"Notifications"</h1></div>
                    {failure("The notification settings could not be read", &f)}
                }
                .into_any(),
            })}
        </Transition>
    }
    .into_any()
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn page(n: &Notifications) -> AnyView {
    let s = &n.settings;
    let sub = format!("{}, {}", count(s.channels.len(), "channel"), count(s.rules.len(), "rule"));
    let editing = n.editing.as_ref().map(|(rule, preview)| editor::editor(s, rule, preview));
    let add = (s.may_change && !s.channels.is_empty()).then(
        || view! { <a class="btn" href="/settings/notifications?rule=new#rule">{icon("plus")}"Add rule"</a> },
    );
    view! {
        <div class="page-head"><h1>"Notifications"</h1><span class="sub">{sub}</span><div class="end">{add}</div></div>
        {tabs(PATH, if s.may_change { Role::Admin } else { Role::Viewer })}
        <div class="grid grid-cols-1 gap-4 content-start">
            {feeds::created(n.outcome.as_ref())}
            {channels(s)}
            {s.may_change.then(|| add_channel(s))}
            {editing}
            {(!s.rules.is_empty()).then(|| rules::rules(s, n.editing.as_ref().map(|(rule, _)| rule.id.as_str())))}
            {maintenance::maintenance(s)}
            {n.feeds.as_ref().map(|f| feeds::feeds(PATH, f, n.outcome.as_ref(), s.now))}
            {(!s.failed.is_empty()).then(|| failed(s))}
        </div>
    }
    .into_any()
}

fn channels(s: &NotificationSettings) -> AnyView {
    if s.channels.is_empty() {
        return view! {
            <section class="card empty">
                {icon::icon_in("bell", "i i-lg")}
                <h2>"No messages are sent yet"</h2>
                <p>"Add a channel: an e-mail address, a webhook or a chat. Expirations and changes are then sent to it."</p>
            </section>
        }
        .into_any();
    }
    let failed = |c: &ChannelView| s.failed.iter().filter(|f| f.channel == c.id).count();
    let rows: Vec<_> = s.channels.iter().map(|c| channel(c, failed(c), s)).collect();
    let failing = s.channels.iter().filter(|c| c.failing_since.is_some()).count();
    let failing = (failing > 0).then(|| {
        view! { <div class="aside"><span class="flex items-center gap-2 text-critical text-xs">{icon::icon_sm("critical")}{format!("{failing} failing")}</span></div> }
    });
    view! {
        <section class="card">
            <div class="card-head"><h2>"Channels"</h2><span class="text-muted">{s.channels.len()}</span>{failing}</div>
            <ol>{rows}</ol>
        </section>
    }
    .into_any()
}

/// The time of day of an instant of today, else its day, too.
fn since(at: Timestamp, now: Timestamp) -> String {
    let day = |at| model::time::StatedTime::utc(at).date();
    if day(at) == day(now) { model::time::human_clock(at) } else { model::time::human_instant(at) }
}

/// The last delivery of a channel: class, icon, words, when.
fn last(
    c: &ChannelView,
    attempts_max: u32,
    now: Timestamp,
) -> (&'static str, &'static str, String, Option<Timestamp>) {
    match c.last.as_ref().map(|m| &m.state) {
        None => ("text-muted", "clock", "Nothing sent yet".into(), None),
        Some(DeliveryState::Delivered { at, answer }) => {
            ("text-ok", "ok", format!("Delivered: {answer}"), Some(*at))
        }
        Some(DeliveryState::Skipped { at, reason }) => {
            ("text-muted", "check", format!("Not sent: {reason}"), Some(*at))
        }
        Some(DeliveryState::Waiting { error: None, .. }) => ("text-muted", "clock", "Sending".into(), None),
        Some(DeliveryState::Waiting { due_at, attempts, error: Some(why) }) => {
            let next = model::time::human_clock(*due_at);
            (
                "text-warn",
                "clock",
                format!("Retrying, next at {next} UTC · attempt {attempts} of {attempts_max} · {why}"),
                None,
            )
        }
        Some(DeliveryState::Failed { at, error, .. }) => {
            let since = c.failing_since.map_or_else(String::new, |at| format!(" since {}", since(at, now)));
            ("text-critical", "critical", format!("Failing{since}: {error}"), Some(*at))
        }
    }
}

fn channel(c: &ChannelView, failed: usize, s: &NotificationSettings) -> AnyView {
    let (now, may_change) = (s.now, s.may_change);
    let (class, picture, words, at) = last(c, s.attempts_max, now);
    let when = at.map(|at| view! { <small class="text-muted text-xs"><Ago at=at now=now/></small> });
    let secret = c.signing_secret.clone().map(|secret| {
        view! {
            <details class="more"><summary class="text-xs">"Signing secret"</summary><code class="mono text-xs wrap">{secret}</code></details>
        }
    });
    let tested = c.tested.as_ref().map(|t| {
        let (class, picture) = if t.delivered { ("banner banner-ok", "ok") } else { ("banner banner-critical", "critical") };
        let title = format!("Test {} at {}", if t.delivered { "delivered" } else { "failed" }, model::time::human_clock(t.at));
        view! { <div class=class role="status">{icon(picture)}<div class="flex-1 min-w-0"><strong>{title}</strong><p class="wrap">{t.words.clone()}</p></div></div> }
    });
    let actions = may_change.then(|| channel::actions(c, failed));
    let edit = may_change.then(|| channel::edit(c));
    view! {
        <li class="event">
            <div class="event-when"><span class="font-semibold">{c.name.clone()}</span><small class="text-muted text-xs">{c.label.clone()}" · "{count(usize::try_from(c.rules).unwrap_or(0), "rule")}</small></div>
            <div class="event-what">
                <span class="mono text-xs wrap">{c.address.clone()}</span>
                <div class=format!("flex items-center gap-2 {class}")>{icon::icon_sm(picture)}<span class="wrap text-xs">{words}</span>{when}</div>
                {secret}{edit}{tested}
            </div>
            <div class="event-side">{actions}</div>
        </li>
    }
    .into_any()
}

fn add_channel(s: &NotificationSettings) -> AnyView {
    let kinds: Vec<_> =
        TARGET_KINDS.iter().map(|(word, label)| view! { <option value=*word>{*label}</option> }).collect();
    let no_mail = (!s.mail).then(|| {
        view! { <p class="hint" data-for="email">"E-mail needs an SMTP server: the operator sets DOMAINSCOPE_SMTP_URL and DOMAINSCOPE_MAIL_FROM."</p> }
    });
    // Kinds that need the field; the stylesheet shows those of the chosen kind, and all where it can't tell.
    let field = |name: &'static str, label: &'static str, hint: &'static str, kinds: &'static str| {
        let kind = if matches!(name, "token" | "key") { "password" } else { "text" };
        view! {
            <label class="field" data-for=kinds><span class="label">{label}</span>
                <input class="input" type=kind name=name autocomplete="off" placeholder=hint/></label>
        }
    };
    let first = s.channels.is_empty();
    view! {
        <details class="card" open=first>
            <summary class="card-head"><h2>"Add a channel"</h2>{icon("down")}</summary>
            <form class="card-body grid grid-cols-1 gap-4 content-start channel-form" method="post" action="/api/fn/save_channel">
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <label class="field"><span class="label">"Kind"</span><select class="input" name="kind">{kinds}</select></label>
                    <label class="field"><span class="label">"Name"</span>
                        <input class="input" name="name" autocomplete="off" placeholder="Operations mailbox" required maxlength="80"/></label>
                </div>
                {field("to", "E-mail addresses", "ops@example.com, …", "email")}
                {field("url", "Address", "https://…", "webhook slack discord teams ntfy")}
                {field("token", "Token", "", "telegram ntfy")}
                {field("chat", "Chat", "-1001234567", "telegram")}
                {field("key", "Integration key", "", "pagerduty")}
                {no_mail}
                <label class="flex items-center gap-2"><input type="checkbox" name="with_rule" value="yes" checked=first/>
                    <span>"Send warnings and critical events of owned domains to it"</span></label>
                <div><button class="btn btn-primary" type="submit">"Add channel"</button></div>
            </form>
        </details>
    }
    .into_any()
}

fn failed(s: &NotificationSettings) -> AnyView {
    let rows: Vec<_> = s.failed.iter().map(|f| failed_row(f, s.may_resend)).collect();
    let n = grouped(s.failed_total);
    let listed = s.failed.len();
    let only = (s.failed_total > listed as u64).then(
        || view! { <span class="text-muted text-xs">{format!("The oldest {listed} are listed.")}</span> },
    );
    let actions = s.may_resend.then(|| {
        let drop_all = drop_failed(
            "Drop all",
            "Drop all failed messages".into(),
            drop_all_hint(s),
            || view! { <input type="hidden" name="channel" value="*"/> }.into_any(),
        );
        view! {
            <form method="post" action="/api/fn/resend"><button class="btn btn-sm" type="submit">{icon("refresh")}"Send all again"</button></form>
            {drop_all}
        }
    });
    view! {
        <section class="card tbl-wrap" id="failed">
            <div class="card-head"><h2>"Failed messages"</h2><span class="text-muted">{n}</span>{only}
                <div class="aside flex items-center gap-2">{actions}</div></div>
            <ol>{rows}</ol>
        </section>
    }
    .into_any()
}

fn drop_all_hint(s: &NotificationSettings) -> String {
    let n = grouped(s.failed_total);
    let kept = if s.failed.iter().any(|f| f.is_unrouted) {
        " Events to which no rule was applied yet stay in the list."
    } else {
        ""
    };
    format!("{n} failed messages will not be sent any more. Their events stay in the event log.{kept}")
}

/// A button that asks before it drops what the hidden fields name.
fn drop_failed(word: &'static str, label: String, hint: String, fields: impl Fn() -> AnyView) -> AnyView {
    view! {
        <details class="menu">
            <summary class="btn btn-sm btn-ghost" aria-label=label>{icon("trash")}{word}</summary>
            <form class="menu-list menu-right menu-form" method="post" action="/api/fn/drop_failed">
                {fields()}
                <p class="hint">{hint}</p>
                <button class="btn btn-sm" type="submit">{word}</button>
            </form>
        </details>
    }
    .into_any()
}

fn failed_row(f: &FailedView, may_resend: bool) -> AnyView {
    let about = match f.domains {
        0 | 1 => f.domain.clone(),
        n => format!("{} and {} more", f.domain, grouped(n - 1)),
    };
    let fields = || {
        view! { <input type="hidden" name="id" value=f.id.0.to_string()/><input type="hidden" name="channel" value=f.channel.clone()/> }
            .into_any()
    };
    let to = match f.is_unrouted {
        true => "before any rule was applied".to_string(),
        false => format!("to {}", f.channel_name),
    };
    let actions = may_resend.then(|| {
        let label = format!("Send again: {about} {to}");
        let drop = (!f.is_unrouted).then(|| {
            let hint = "The message will not be sent any more. Its events stay in the event log.".to_string();
            drop_failed("Drop", format!("Drop: {about} {to}"), hint, fields)
        });
        view! {
            <form method="post" action="/api/fn/resend">{fields()}
                <button class="btn btn-sm" type="submit" aria-label=label>{icon("refresh")}"Send again"</button></form>
            {drop}
        }
    });
    view! {
        <li class="event">
            <div class="event-when">{instant(f.failed_at)}<small class="text-muted text-xs">{count(usize::try_from(f.attempts).unwrap_or(0), "attempt")}</small></div>
            <div class="event-what"><div class="flex items-center gap-2 flex-wrap"><span class="mono">{about.clone()}</span><span class="text-xs text-muted">{to.clone()}</span></div>
                <p class="text-critical text-xs wrap">{f.reason.clone()}</p></div>
            <div class="event-side flex items-center gap-2 flex-wrap">{actions}</div>
        </li>
    }
    .into_any()
}
