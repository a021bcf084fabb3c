//! One name server from each place: a form to the page's own address, and its answer.

use super::PATH;
use crate::components::banner::page_failure;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::one_server::{ServerAtPlace, ServerFromPlaces};
use model::places::SLOW_MS;

/// The card; what was asked is in the address.
#[component]
pub(super) fn OneServer() -> impl IntoView {
    let search = use_location().search;
    let asked = Memo::new(move |_| {
        let of = |key| query::value(&search.get(), key).unwrap_or_default().trim().to_string();
        (of("name"), of("server"))
    });
    let data = json_resource(
        move || asked.get(),
        |(name, server)| async move {
            if name.is_empty() { None } else { Some(server_fns::ask_server(name, server).await) }
        },
    );
    view! {
        <section class="card tbl-wrap" id="server">
            <div class="card-head"><h2>"One server from each place"</h2><div class="aside">"uncached, now"</div></div>
            <Suspense fallback=move || form(&asked.get_untracked(), &[])>
                {move || data.get().map(|answer| match answer {
                    None => form(&asked.get_untracked(), &[]),
                    Some(Ok(seen)) => {
                        let (name, _) = asked.get_untracked();
                        view! { {form(&(name, seen.server.clone()), &seen.servers)}{table(&seen)} }.into_any()
                    }
                    Some(Err(e)) => {
                        view! { {form(&asked.get_untracked(), &[])}<div class="card-body">{page_failure("The server could not be asked", &e)}</div> }.into_any()
                    }
                })}
            </Suspense>
        </section>
    }
    .into_any()
}

/// The form; once the servers of the zone are known, one is chosen among them.
fn form((name, server): &(String, String), servers: &[String]) -> AnyView {
    let choice = if servers.is_empty() {
        view! { <input class="input mono" id="server-name" name="server" maxlength="255" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="the slowest" value=server.clone()/> }.into_any()
    } else {
        let option = |s: &String| view! { <option value=s.clone() selected=s == server>{s.clone()}</option> };
        let options = servers.iter().map(option).collect_view();
        view! { <select class="input mono" id="server-name" name="server">{options}</select> }.into_any()
    };
    view! {
        <form class="card-body grid grid-cols-1 gap-3 content-start" method="get" action=format!("{PATH}#server")>
            <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                <div class="field"><label class="label" for="server-zone">"Domain or host"</label>
                    <input class="input mono" id="server-zone" name="name" maxlength="255" required autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="alder.example" value=name.clone()/></div>
                <div class="field"><label class="label" for="server-name">"Name server"</label>{choice}</div>
            </div>
            <div><button class="btn" type="submit">"Ask from each place"</button></div>
        </form>
    }
    .into_any()
}

fn table(seen: &ServerFromPlaces) -> AnyView {
    if seen.rows.is_empty() {
        return view! { <p class="px-4 py-2 text-sm">"No point of presence is online."</p> }.into_any();
    }
    let label = format!("{} from each place", seen.server);
    let rows = seen.rows.iter().map(row).collect_view();
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label=label>
            <table class="tbl tbl-tight">
                <thead><tr><th scope="col">"From"</th><th scope="col" class="max-sm:hidden">"Address"</th><th scope="col" class="num">"Answer time"</th><th scope="col">"Identifier"</th><th scope="col" class="num">"Serial"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <div class="card-foot text-xs">{seen.sentence.clone()}</div>
    }
    .into_any()
}

fn row(r: &ServerAtPlace) -> AnyView {
    let none = || "–".to_string();
    let time = match r.ms {
        Some(ms) => {
            let class = if ms >= SLOW_MS { "text-warn" } else { "" };
            view! { <span class=class>{format!("{ms:.0} ms")}</span> }.into_any()
        }
        None => view! { <span class="text-critical">{r.error.clone()}</span> }.into_any(),
    };
    let address = r.address.map_or_else(none, |a| a.to_string());
    let serial = r.serial.map_or_else(none, |s| s.to_string());
    view! {
        <tr><th scope="row" class="mono">{r.place.clone()}</th><td class="mono wrap max-sm:hidden">{address}</td><td class="num">{time}</td><td class="mono wrap">{r.nsid.clone().unwrap_or_else(none)}</td><td class="num">{serial}</td></tr>
    }
    .into_any()
}
