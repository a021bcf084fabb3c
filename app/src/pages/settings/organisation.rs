//! The organisation: its name and quotas.

use super::{page, refusal, usage};
use crate::resource::json_resource;
use crate::server_fns::{self, SettingsPage};
use leptos::prelude::*;
use model::ids::Role;
use service::Organisation;

const PATH: &str = "/settings/organisation";

/// The page.
#[component]
pub(crate) fn OrganisationPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_organisation());
    page(PATH, "name and quotas", data, body)
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
    view! {
        <div class="grid grid-cols-2 items-start gap-4 max-xl:grid-cols-1">
            <section class="card"><div class="card-head"><h2>"Name"</h2></div>{name}</section>
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
