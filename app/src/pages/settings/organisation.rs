//! The organisation: its name and quotas.

use super::{page, refusal, usage};
use crate::check_draft::{days_text, intervals};
use crate::resource::json_resource;
use crate::server_fns::{self, FormOutcome, SettingsPage};
use leptos::prelude::*;
use model::checks::{Checks, interval_words};
use model::ids::Role;
use service::Organisation;

const PATH: &str = "/settings/organisation";

/// The page.
#[component]
pub(crate) fn OrganisationPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_organisation());
    page(PATH, "name, checks and quotas", data, body)
}

fn body(p: SettingsPage<Organisation>) -> AnyView {
    let o = p.data;
    let outcome = p.outcome;
    let typed = outcome.as_ref().filter(|o| o.form == "rename").map(|o| o.value("name"));
    let name = if p.caller.role >= Role::Admin {
        view! {
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refusal(outcome.as_ref(), "rename")}
                <input type="hidden" name="do" value="rename"/>
                <div class="field"><label class="label" for="org-name">"Name"</label>
                    <input class="input" id="org-name" name="name" required maxlength="100" autocomplete="off" value=typed.unwrap_or(o.name)/>
                    <span class="hint">"Members see it in the top bar, invited people in their link."</span></div>
                <div><button class="btn btn-primary" type="submit">"Save"</button></div>
            </form>
        }
        .into_any()
    } else {
        view! { <div class="card-body"><span class="font-semibold">{o.name}</span></div> }.into_any()
    };
    let checks = checks(&o.checks, &o.server_checks, p.caller.role >= Role::Admin, outcome.as_ref());
    view! {
        <div class="grid grid-cols-2 items-start gap-4 max-xl:grid-cols-1">
            <section class="card"><div class="card-head"><h2>"Name"</h2></div>{name}</section>
            <section class="card" id="checks"><div class="card-head"><h2>"Checks"</h2></div>{checks}</section>
            <section class="card"><div class="card-head"><h2>"Quotas"</h2></div>
                <dl class="facts">
                    <div><dt>"Domains"</dt><dd>{usage("domains", o.domains)}</dd></div>
                    <div><dt>"Members"</dt><dd>{usage("members and invitations", o.members)}</dd></div>
                    <div><dt>"API tokens"</dt><dd>{usage("tokens", o.tokens)}</dd></div>
                    <div><dt>"Ownership"</dt><dd>{usage("claims that wait for a proof", o.claims)}</dd></div>
                    {o.lookups.map(|u| view! {
                        <div><dt>"Look-ups"</dt><dd>{usage("points within a minute", u)}</dd></div>
                    })}
                    {o.own_lookups.map(|u| view! {
                        <div><dt>"Your look-ups"</dt><dd>{usage("points within a minute", u)}</dd></div>
                    })}
                </dl>
                <div class="card-foot text-xs">"The operator of this server sets the quotas; that of claims is fixed."</div>
            </section>
        </div>
    }
    .into_any()
}

/// The schedule of all domains of which nothing else is said.
fn checks(set: &Checks, server: &Checks, may_change: bool, outcome: Option<&FormOutcome>) -> AnyView {
    let interval = server.interval_s.map(interval_words).unwrap_or_default();
    let days = server.expiry_days.as_deref().map(days_text).unwrap_or_default();
    if !may_change {
        let interval = set.interval_s.map_or(interval, interval_words);
        let days = set.expiry_days.as_deref().map_or(days, days_text);
        return view! {
            <dl class="facts">
                <div><dt>"Interval"</dt><dd>{interval}</dd></div>
                <div><dt>"Reminders"</dt><dd>{format!("{days} days before an expiration")}</dd></div>
            </dl>
        }
        .into_any();
    }
    let typed = |field: &str| outcome.filter(|o| o.form == "checks").map(|o| o.value(field));
    let chosen = typed("interval").map_or(set.interval_s, |value| value.parse().ok());
    let options: Vec<_> = intervals(chosen)
        .into_iter()
        .map(|(seconds, words, on)| view! { <option value=seconds.to_string() selected=on>{words}</option> })
        .collect();
    let said =
        typed("expiry_days").unwrap_or_else(|| set.expiry_days.as_deref().map(days_text).unwrap_or_default());
    view! {
        <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
            {refusal(outcome, "checks")}
            <input type="hidden" name="do" value="checks"/>
            <div class="field"><label class="label" for="org-interval">"Interval"</label>
                <select class="input" id="org-interval" name="interval">
                    <option value="" selected=chosen.is_none()>{format!("As the server: {interval}")}</option>{options}
                </select></div>
            <div class="field"><label class="label" for="org-days">"Expiry reminders, days before"</label>
                <input class="input" id="org-days" name="expiry_days" autocomplete="off" value=said placeholder=format!("As the server: {days}") aria-describedby="org-days-hint"/>
                <span class="hint" id="org-days-hint">"Separated by commas; 0 is the expiration itself. A domain can have its own on its page."</span></div>
            <div><button class="btn btn-primary" type="submit">"Save checks"</button></div>
        </form>
    }
    .into_any()
}
