//! Fleet: the identity of this installation and its points of presence. Adding and revoking are forms to the page's own
//! address.

mod agents;
mod attention;
mod day;
mod join;
mod one_server;

use crate::browser;
use crate::components::banner::{Tone, banner, page_failure};
use crate::components::icon::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns::{self, FormResult, SettingsPage};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use service::{AgentState, FleetReport};
use std::time::Duration;

const PATH: &str = "/fleet";
/// A way to the server that takes longer is pointed out, in milliseconds.
const SLOW_MS: u32 = 300;
/// How often the page reads the fleet again.
const EVERY: Duration = Duration::from_secs(4);

/// The page.
#[component]
pub(crate) fn FleetPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::fleet());
    view! {
        <Title text="Fleet"/>
        <Suspense>
            {move || data.get().map(|d| match d {
                Ok(p) => page(&p),
                Err(e) => page_failure("The fleet could not be read", &e),
            })}
        </Suspense>
    }
    .into_any()
}

/// The page: what was read first, and in the browser what it is by now. Forms, the token that is shown once and what people
/// opened stay as they are.
fn page(p: &SettingsPage<FleetReport>) -> AnyView {
    let f = &p.data;
    let live = RwSignal::new(f.clone());
    refresh(live);
    let outcome = p.outcome.clone();
    let refused = outcome.as_ref().filter(|o| o.form != "invite").and_then(|o| match &o.result {
        FormResult::Refused(e) => Some(banner(Tone::Critical, "Nothing was changed", e.to_string())),
        _ => None,
    });
    let may_change = f.may_change;
    let is_on = Memo::new(move |_| live.with(|f| f.feature_off.is_none()));
    let has_agents = Memo::new(move |_| live.with(|f| !f.agents.is_empty()));
    let made = join::made(f, outcome.as_ref(), live);
    let add_button = move || {
        (may_change && is_on.get()).then(|| {
            view! { <a class="btn btn-primary" href="#add">{icon("plus")}"Add point of presence"</a> }
        })
    };
    view! {
        <div class="page-head"><h1>"Fleet"</h1><span class="sub">{move || live.with(summary)}</span><div class="actions">{add_button}</div></div>
        <div class="grid grid-cols-1 gap-4 content-start">
            {refused}
            {move || live.with(|f| f.feature_off.clone()).map(|name| turned_off(&name, may_change))}
            {made}
            {attention::card(live)}
            {agents::card(live)}
            {move || has_agents.get().then(|| view! { <one_server::OneServer/> })}
            {third_parties(f)}
            <div class="cols">
                {identity(f)}
                {move || (may_change && is_on.get()).then(|| join::add(outcome.as_ref()))}
            </div>
        </div>
    }
    .into_any()
}

/// Reads the fleet again every few seconds, while the page is seen.
fn refresh(live: RwSignal<FleetReport>) {
    let busy = StoredValue::new(false);
    // Effects run in the browser only.
    Effect::new(move |_| {
        let tick = move || {
            if busy.get_value() || browser::is_in_background() {
                return;
            }
            busy.set_value(true);
            spawn_local(async move {
                if let Ok(page) = server_fns::fleet().await {
                    live.try_set(page.data);
                }
                busy.try_set_value(false);
            });
        };
        if let Ok(handle) = set_interval_with_handle(tick, EVERY) {
            on_cleanup(move || handle.clear());
        }
    });
}

fn summary(f: &FleetReport) -> String {
    let online = f.agents.iter().filter(|a| a.state == AgentState::Online).count();
    match (&f.set, f.agents.len()) {
        (Some(set), 1) => format!("{set} · 1 point of presence, {online} online"),
        (Some(set), n) => format!("{set} · {n} points of presence, {online} online"),
        (None, _) => "not a member of a set".to_string(),
    }
}

/// What it means that the feature is off.
fn turned_off(name: &str, may_change: bool) -> AnyView {
    let link = may_change.then(|| {
        let to = format!("/settings/features?feature={name}");
        view! { " "<a href=to>"Turn it on"</a> }
    });
    view! {
        <div class="banner banner-warn" role="status">{icon("warning")}
            <div class="flex-1 min-w-0"><strong>"Points of presence are turned off"</strong>
                <p>"The feature "<span class="mono">{name.to_string()}</span>" is off: no point of presence is asked, and those that are running are refused until it is on again."{link}</p></div>
        </div>
    }
    .into_any()
}

fn identity(f: &FleetReport) -> AnyView {
    let set = f.set.clone().unwrap_or_else(|| "none".into());
    let (n, octets) = f.claims;
    let tenths = octets * 10 / 1024;
    let others = format!("{n}, {}.{} of 128 KB used", tenths / 10, tenths % 10);
    view! {
        <section class="card"><div class="card-head"><h2>"Identity of this installation"</h2><span class="text-muted">"ClusterClaim"</span><div class="aside"><a href="/apis/datumapis.com/v1alpha/clusterclaims/id.k8s.io" rel="external">"YAML"</a></div></div>
            <dl class="facts">
                <div><dt>"Identity"</dt><dd><span class="mono">{f.id.clone()}</span>" "<small class="mono">"id.k8s.io"</small></dd></div>
                <div><dt>"Set"</dt><dd><span class="mono">{set}</span>" "<small class="mono">"clusterset.k8s.io"</small></dd></div>
                <div><dt>"Other claims"</dt><dd>{others}</dd></div>
                <div><dt>"Version"</dt><dd>{f.version.clone()}" "<small>{format!("accepts agents that speak protocol {} to {}", f.protocols.0, f.protocols.1)}</small></dd></div>
            </dl>
            <div class="card-foot text-xs">"To rename: leave the set, rename, join. Names that end in k8s.io, kubernetes.io or sigs.k8s.io are reserved, except these two."</div>
        </section>
    }
    .into_any()
}

/// Measurement networks of third parties; nothing while their feature is off.
fn third_parties(f: &FleetReport) -> AnyView {
    if f.third_parties.is_empty() {
        return ().into_any();
    }
    let rows: Vec<_> = f.third_parties.iter().map(|t| {
        let key = if t.has_key { "key set" } else { "no key" };
        let credits = match (t.credits, t.credits_at) {
            (Some(n), Some(at)) => view! { <span>{n}</span>" "<small class="text-muted"><Ago at=at now=f.now/></small> }.into_any(),
            _ => view! { <span class="text-muted">"not known yet"</span> }.into_any(),
        };
        let used = format!("{} of {}", t.used_today, t.daily);
        let class = if t.used_today >= t.daily { "num text-warn" } else { "num" };
        view! {
            <tr><th scope="row"><span class="two"><span>{t.name.clone()}</span><small>{t.address.clone()}</small></span></th><td>{key}</td><td class=class>{used}</td><td class="num">{credits}</td></tr>
        }
    }).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Measurement networks"</h2><span class="text-muted">{f.third_parties.len()}</span><div class="aside">"feature third-party-vantages"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Measurement networks">
                <table class="tbl">
                    <thead><tr><th scope="col">"Network"</th><th scope="col">"Key"</th><th scope="col" class="num">"Measurements today"</th><th scope="col" class="num">"Credits left"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"Run by others: they learn the names that are looked at in the FQDN analyzer and the comparison, and RIPE Atlas publishes its results."</div>
        </section>
    }
    .into_any()
}
