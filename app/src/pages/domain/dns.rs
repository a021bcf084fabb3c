//! The DNS tab: the path as a picture and as a table, the records, the findings by test, and a trace made now.

use super::addresses::AddressCard;
use super::state::DomainState;
use super::{delegation, nameservers, records, speed, states, with_detail};
use crate::components::banner::failure;
use crate::components::time::Ago;
use crate::components::{icon, icon_sm};
use crate::pages::check::report::{level_class, level_icon};
use crate::pages::trace::trace_view;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::detail::Detail;
use model::finding::{Finding, Level, test_case};
use model::inventory::percent;

/// The tab.
#[component]
pub(crate) fn DnsTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let search = use_location().search;
    let wanted = Memo::new(move |_| query::value(&search.get(), "trace"));
    let trace = json_resource(
        move || (wanted.get(), dom.name.get()),
        |(wanted, name)| async move {
            match wanted {
                Some(rtype) => {
                    let rtype = if rtype.is_empty() || rtype == "1" { "SOA".into() } else { rtype };
                    Some(server_fns::trace(name, rtype).await)
                }
                None => None,
            }
        },
    );
    let tracing = || {
        view! { <div class="card card-body flex items-center gap-2" role="status"><span class="spin"></span>"Tracing from the root…"</div> }
    };
    view! {
        {with_detail(dns)}
        <Suspense fallback=tracing>
            {move || trace.get().flatten().map(|t| match t {
                Ok(t) => trace_view(&t),
                Err(f) => failure("The trace could not be made", &f),
            })}
        </Suspense>
    }
    .into_any()
}

fn dns(_: DomainState, d: &Detail) -> AnyView {
    let Some(o) = &d.observation else {
        return states::outcome(d).into_any();
    };
    let name = d.row.name.as_str().to_string();
    let failed = states::failed_parts(o, d.now);
    let path = o.delegation.value.as_ref().map(|del| {
        let asked = o.delegation.observed_at.map(|at| view! { <Ago at=at now=d.now/> });
        let table = (!del.servers.is_empty()).then(|| {
            view! {
                <details class="more"><summary>"The same as a table"</summary>{nameservers::table(del)}</details>
            }
        });
        view! {
            <section class="card">
                <div class="card-head">
                    <h2>"Delegation"</h2><span class="text-muted max-sm:hidden">"every server queried, nothing cached"</span>
                    <div class="aside">{asked}
                        <a class="btn btn-sm" href=before_a_move(&name, &del.ds)>{icon_sm("shield")}"Check before a move"</a>
                        <a class="btn btn-sm" rel="external" href=format!("/tools/compare?name={name}")>{icon_sm("compare")}"Compare caches"</a>
                        <a class="btn btn-sm" href=format!("/domains/{name}/dns?trace=SOA") data-noscroll="true">
                            {icon_sm("route")}"Trace now"
                        </a>
                    </div>
                </div>
                <div class="card-body">{delegation::picture(del, o.dnssec.value.as_ref())}</div>
                {table}
            </section>
        }
    });
    let chain = o.delegation.value.as_ref().map(|del| &del.latency);
    let speed = chain.and_then(|c| speed::speed(c, &name, &o.findings, d.now));
    view! {
        <div class="empty:hidden [&_>_.banner:last-child]:mb-0">{failed}</div>
        {path}
        {speed}
        <div class="cols">
            <div class="grid grid-cols-1 gap-4 content-start">{records::records(&o.zone, &name, d.now)}<AddressCard name=name.clone() now=d.now/></div>
            <div class="grid grid-cols-1 gap-4 content-start">{findings(&o.findings, &name)}</div>
        </div>
    }
    .into_any()
}

/// The check page with this zone, and with the DS records the new servers will have to live up to.
fn before_a_move(zone: &str, ds: &[model::registration::Ds]) -> String {
    let ds: Vec<_> =
        ds.iter().map(|d| format!("{},{},{},{}", d.key_tag, d.algorithm, d.digest_type, d.digest)).collect();
    let ds = if ds.is_empty() { String::new() } else { format!("&ds={}", percent(&ds.join("\r\n"))) };
    format!("/tools/check?zone={}&move=1{ds}", percent(zone))
}

/// The findings by test, worst first.
pub(crate) fn findings(all: &[Finding], zone: &str) -> AnyView {
    let mut all: Vec<_> = all.iter().filter(|f| f.level > Level::Debug).collect();
    all.sort_by_key(|f| std::cmp::Reverse(f.level));
    let n = match all.len() {
        0 => "no findings".to_string(),
        1 => "1 finding".to_string(),
        n => format!("{n} findings"),
    };
    let rows: Vec<_> = all
        .into_iter()
        .map(|f| {
            let words = if f.message.is_empty() { f.zone.clone() } else { f.message.clone() };
            view! {
                <div class="two-col">
                    <dt class="text-text">
                        <span class="flex items-center gap-2"><span class=level_class(f.level)>{icon_sm(level_icon(f.level))}</span>
                            <span class="mono text-xs wrap" title=f.test_case.clone()>{f.tag.clone()}</span></span>
                        <small class="text-xs block pt-0.5 pl-5.5 wrap">{words}" "<span class="text-muted">{f.fix.clone()}</span></small>
                    </dt>
                    <dd class="text-xs"><span class=level_class(f.level)>{f.level.as_str()}</span></dd>
                </div>
            }
        })
        .collect();
    let body = if rows.is_empty() {
        view! { <div class="card-body flex items-center gap-2"><span class="text-ok">{icon("ok")}</span>"The checks of the last scan found no problem."</div> }.into_any()
    } else {
        view! { <dl class="facts">{rows}</dl> }.into_any()
    };
    let check = format!("/tools/check?zone={}", percent(zone));
    view! {
        <section class="card"><div class="card-head"><h2>"Health by test"</h2><div class="aside">{n}<a class="btn btn-sm" href=check>{icon_sm("shield")}"Run all checks"</a></div></div>{body}{scanned()}</section>
    }
    .into_any()
}

/// Which test cases a scan makes; the full check makes the others too.
fn scanned() -> AnyView {
    let all = test_case::SCAN.iter().map(|case| {
        view! { <li><span class="mono text-xs">{*case}</span>" "{test_case::title(case).unwrap_or_default()}</li> }
    });
    let summary = format!("A scan makes {} of the {} test cases", test_case::SCAN.len(), test_case::count());
    view! { <details class="more"><summary>{summary}</summary><ul class="card-body grid grid-cols-[repeat(auto-fill,minmax(min(24rem,100%),1fr))] gap-y-1.5 gap-x-5 [&_.mono]:flex-none [&_.mono]:w-27">{all.collect::<Vec<_>>()}</ul></details> }
        .into_any()
}
