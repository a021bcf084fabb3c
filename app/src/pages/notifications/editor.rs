//! The editor of a rule beside its preview. *Preview* asks for the same page with the fields in the address; *Save* posts
//! them.

use crate::browser;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::components::status::severity_icon;
use crate::components::time::instant;
use crate::live::Debounce;
use crate::rule_draft::{self, clock};
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::event::{EventKind, EventQuery, Severity};
use model::item::Ownership;
use model::notify::{Delivery, Rule, RulePreview};
use model::repeat::REPEAT_HOURS;
use model::time::human_clock;
use service::NotificationSettings;

/// The editor.
pub(super) fn editor(s: &NotificationSettings, rule: &Rule, preview: &RulePreview) -> AnyView {
    let id = if rule.id.is_empty() { "new".to_string() } else { rule.id.clone() };
    let any = EventQuery::default();
    let kinds: Vec<_> = EventKind::ALL
        .iter()
        .map(|k| {
            let n = s.lately.matching(&EventQuery { kinds: vec![*k], ..any.clone() });
            let on = rule.kinds.contains(k);
            view! {
                <label class="chip"><input type="checkbox" name="kinds[]" value=k.as_str() checked=on/>{k.label()}<span class="n">{grouped(n)}</span></label>
            }
        })
        .collect();
    let channels: Vec<_> = s
        .channels
        .iter()
        .map(|c| {
            let hint = c.failing_since.map(|at| format!("failing since {}", super::since(at, s.now)));
            let on = rule.channels.contains(&c.id);
            view! {
                <label class="flex items-center gap-2"><input type="checkbox" name="channels[]" value=c.id.clone() checked=on/>
                    <span>{c.name.clone()}{hint.map(|h| view! { " "<span class="text-critical text-xs">{h}</span> })}</span></label>
            }
            .into_any()
        })
        .collect();
    let severities: Vec<_> = Severity::ALL
        .iter()
        .rev()
        .map(|x| {
            let n = s.lately.matching(&EventQuery { at_least: Some(*x), ..any.clone() });
            let label =
                if *x == Severity::Critical { "Critical".into() } else { format!("{} or more", x.label()) };
            option(x.as_str(), format!("{label} ({})", grouped(n)), rule.at_least == *x)
        })
        .collect();
    let whose = [
        option("owned", "Owned".into(), rule.ownership == Some(Ownership::Owned)),
        option("watched", "Watched".into(), rule.ownership == Some(Ownership::Watched)),
        option("", "Both".into(), rule.ownership.is_none()),
    ];
    let (when, hour) = match rule.delivery {
        Delivery::Immediate => ("immediate", 8),
        Delivery::Daily { hour } => ("daily", hour),
        Delivery::Weekly { hour } => ("weekly", hour),
    };
    let deliveries = [
        option("immediate", "Immediate".into(), when == "immediate"),
        option("daily", "Daily digest".into(), when == "daily"),
        option("weekly", "Weekly digest, Mondays".into(), when == "weekly"),
    ];
    let quiet =
        |pick: fn(model::notify::Quiet) -> u16| rule.quiet.map(|q| clock(pick(q))).unwrap_or_default();
    let repeat = rule.repeat_hours.map(|h| h.to_string()).unwrap_or_default();
    let states = [option("yes", "On".into(), rule.enabled), option("no", "Off".into(), !rule.enabled)];
    let remove = (!rule.id.is_empty()).then(|| {
        view! {
            <form method="post" action="/api/fn/remove_rule"><input type="hidden" name="id" value=rule.id.clone()/>
                <button class="btn btn-ghost btn-danger" type="submit">{icon("trash")}"Delete rule"</button></form>
        }
    });
    let title = if rule.id.is_empty() { "New rule" } else { "Edit rule" };
    let muted = rule_draft::muted_day(rule).map(|day| day.to_string()).unwrap_or_default();
    let muted_before = rule.muted_until.map(|at| at.to_string()).unwrap_or_default();
    let now = RwSignal::new((rule.clone(), preview.clone()));
    let about = move || {
        now.with(|(_, p)| {
            p.domains.map(|n| if n == 1 { "1 domain".into() } else { format!("{} domains", grouped(n)) })
        })
    };
    view! {
        <div class="cols" id="rule">
            <section class="card">
                <div class="card-head"><h2>{title}</h2><span class="text-muted text-xs">"counts are events of the last 7 days"</span><div class="aside">{remove}</div></div>
                <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/save_rule" on:input=refresher(now)>
                    <input type="hidden" name="rule" value=id/>
                    <label class="field"><span class="label">"Name"</span>
                        <input class="input" name="name" value=rule.name.clone() required maxlength="80" autocomplete="off"/></label>
                    <fieldset class="field"><legend class="label">"Kinds of events (none: all)"</legend><div class="flex items-center gap-2 flex-wrap">{kinds}</div></fieldset>
                    <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                        <label class="field"><span class="label">"Severity"</span><select class="input" name="at_least">{severities}</select></label>
                        <label class="field"><span class="label">"Domains"</span><select class="input" name="ownership">{whose}</select></label>
                    </div>
                    <label class="field"><span class="label">"Tags"</span>
                        <input class="input" name="tags" value=rule.tags.join(", ") placeholder="any of these, separated by commas" autocomplete="off"/>
                        <span class="hint">{about}</span></label>
                    <fieldset class="field"><legend class="label">"Channels"</legend><div class="grid grid-cols-[repeat(auto-fill,minmax(12.5rem,1fr))] gap-y-1.5 gap-x-4">{channels}</div></fieldset>
                    <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                        <label class="field"><span class="label">"Delivery"</span><select class="input" name="delivery">{deliveries}</select></label>
                        <label class="field"><span class="label">"Hour of the digest (UTC)"</span>
                            <input class="input" type="time" name="hour" step="3600" value=format!("{hour:02}:00")/></label>
                    </div>
                    <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                        <label class="field"><span class="label">"Quiet from (UTC)"</span><input class="input" type="time" name="quiet_from" value=quiet(|q| q.from)/></label>
                        <label class="field"><span class="label">"to"</span><input class="input" type="time" name="quiet_to" value=quiet(|q| q.to)/></label>
                    </div>
                    <input type="hidden" name="critical[]" value="no"/>
                    <label class="flex items-center gap-2"><input type="checkbox" name="critical[]" value="yes" checked=rule.critical_at_once/>
                        <span>"Send Critical events at once, also in quiet hours"</span></label>
                    <p class="hint">"Messages of quiet hours are sent together at their end."</p>
                    <label class="field"><span class="label">"Repeat after hours (empty: never)"</span>
                        <input class="input" type="number" name="repeat_hours" min=REPEAT_HOURS.start().to_string() max=REPEAT_HOURS.end().to_string() step="1" value=repeat/></label>
                    <p class="hint">"Sends warnings and critical events again every N hours until acknowledged or resolved."</p>
                    <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                        <label class="field"><span class="label">"State"</span><select class="input" name="enabled">{states}</select></label>
                        <input type="hidden" name="muted_before" value=muted_before/>
                        <label class="field"><span class="label">"Muted until the end of (UTC)"</span><input class="input" type="date" name="muted_until" value=muted/></label>
                    </div>
                    <div class="flex items-center gap-2 flex-wrap">
                        <button class="btn btn-primary" type="submit">"Save rule"</button>
                        <button class="btn" type="submit" formmethod="get" formaction="/settings/notifications">"Preview"</button>
                        <a class="btn btn-ghost" href="/settings/notifications">"Close"</a>
                    </div>
                </form>
            </section>
            {move || now.with(|(rule, preview)| shown(rule, preview))}
        </div>
    }
    .into_any()
}

fn option(value: &'static str, label: String, on: bool) -> impl IntoView {
    view! { <option value=value selected=on>{label}</option> }
}

/// What an input in the form does: a moment later the preview is that of the fields as they are then.
fn refresher(now: RwSignal<(Rule, RulePreview)>) -> impl Fn(leptos::ev::Event) + 'static {
    let calm = Debounce::new(400);
    let turn = StoredValue::new(0_u64);
    move |e| {
        let Some(query) = browser::query_around(&e) else { return };
        calm.call(move || {
            let mine = turn.get_value() + 1;
            turn.set_value(mine);
            spawn_local(async move {
                let answer = server_fns::preview_rule(format!("?{query}")).await;
                // An answer that was overtaken by a later one, or by another page, is of no use.
                if let Ok(fresh) = answer
                    && turn.try_get_value() == Some(mine)
                {
                    now.try_set(fresh);
                }
            });
        });
    }
}

fn shown(rule: &Rule, p: &RulePreview) -> AnyView {
    let channels = rule.channels.len();
    let messages = if p.messages == 1 { "1 message".to_string() } else { format!("{} messages", p.messages) };
    let each = match channels {
        0 => " if it had a channel.".to_string(),
        1 => ".".to_string(),
        n => format!(", to {n} channels each."),
    };
    let newest: Vec<_> = p
        .newest
        .iter()
        .map(|m| {
            let (picture, class) = severity_icon(m.severity);
            let held = m.held_from.map(|at| format!(" · held in quiet hours from {}", human_clock(at)));
            view! {
                <li class="flex gap-2">{icon::icon_in(picture, class)}<div class="min-w-0"><div class="wrap">{m.words.clone()}</div>
                    <small class="text-muted text-xs">{instant(m.at)}{held}</small></div></li>
            }
        })
        .collect();
    let of = format!("{} of {} events matched. {}.", p.events, p.of, rule_draft::what(rule));
    let not_sent = (!p.not_sent.is_empty()).then(|| {
        let words: Vec<_> = p.not_sent.iter().map(model::notify::NotSent::words).collect();
        view! { <p class="hint">{format!("Not sent: {}.", words.join(", "))}</p> }
    });
    let partial =
        p.partial.then(|| view! { <p class="hint">"Only the newest 1,000 events were counted."</p> });
    view! {
        <section class="card" aria-live="polite">
            <div class="card-head"><h2>"Preview"</h2></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <p><strong>{format!("This would have sent {messages} in the last 7 days")}</strong>{each}</p>
                <p class="text-muted text-xs">{of}</p>
                <ul class="grid grid-cols-1 gap-4 content-start">{newest}</ul>
                {not_sent}{partial}
            </div>
        </section>
    }
    .into_any()
}
