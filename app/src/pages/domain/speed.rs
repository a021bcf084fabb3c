//! Speed of the chain: every server between the root and the zone over the last looks, and where it stands in the
//! network (`model::latency`). A name is as fast as the slowest of them.

use crate::components::banner::{Tone, banner};
use crate::components::icon_sm;
use crate::components::time::Ago;
use crate::components::time::millis;
use leptos::prelude::*;
use model::Timestamp;
use model::finding::{Finding, Level};
use model::latency::{
    ChainServer, LatencyHistory, MIN_LOOKS, PlaceLatency, SLOW_MS, SLOW_PARENT, SLOW_UNICAST,
};
use model::places::SLOW_MS as SLOW_AT_PLACE_MS;

/// Size of a line of latencies, in pixels.
const LINE: (f32, f32) = (120.0, 20.0);

/// The card; nothing while no server of the chain was looked at.
pub(crate) fn speed(
    chain: &LatencyHistory,
    zone: &str,
    findings: &[Finding],
    now: Timestamp,
) -> Option<AnyView> {
    let first = *chain.looks.first()?;
    let top = chain.servers.iter().flat_map(|s| s.ms.iter().flatten()).fold(SLOW_MS as f32, |a, b| a.max(*b));
    let (own, above): (Vec<_>, Vec<_>) = chain.servers.iter().partition(|s| s.zone == zone);
    let slowest = chain.slowest().map(|(s, _)| (s.zone.clone(), s.server.clone(), s.address));
    let is_slowest = |s: &ChainServer| {
        slowest.as_ref().is_some_and(|(z, n, a)| (z, n, a) == (&s.zone, &s.server, &s.address))
    };
    let rows = |servers: &[&ChainServer], zones| {
        servers.iter().map(|s| row(s, top, (is_slowest(s), chain.is_anycast(s)), zones)).collect_view()
    };
    let above = (!above.is_empty()).then(|| {
        view! {
            <details class="more">
                <summary>{match above.len() {
                    1 => "The server of the parent zones".to_string(),
                    n => format!("The {n} servers of the parent zones"),
                }}</summary>
                {table("Servers of the parent zones", true, rows(&above, true))}
            </details>
        }
    });
    let places = (!chain.places.is_empty()).then(|| places(chain));
    let slow = findings.iter().filter(|f| f.tag == SLOW_UNICAST || f.tag == SLOW_PARENT).map(|f| {
        let tone = if f.level >= Level::Warning { Tone::Warn } else { Tone::Info };
        banner(tone, f.message.clone(), f.fix.clone())
    });
    let slow: Vec<_> = slow.collect();
    // A finding names the slowest server already; the summary would repeat it.
    let summary = slow.is_empty().then(|| view! { <p>{summary(chain, zone)}</p> });
    Some(
        view! {
            <section class="card tbl-wrap" id="speed">
                <div class="card-head">
                    <h2>"Latency of the chain"</h2>
                    <span class="text-muted max-sm:hidden">"a lookup is as fast as the slowest server in the chain"</span>
                    <div class="aside"><span>{looks(chain.looks.len())}" since "<Ago at=first now=now/></span>
                        <a class="btn btn-sm" rel="external" href=format!("/tools/compare?name={zone}&type=SOA#places")>{icon_sm("fleet")}"From each place"</a></div>
                </div>
                <div class="card-body empty:hidden [&_>_.banner:last-child]:mb-0">{slow}{summary}</div>
                {(!own.is_empty()).then(|| table("Servers of the zone", false, rows(&own, false)))}
                {places}
                {above}
            </section>
        }
        .into_any(),
    )
}

fn looks(n: usize) -> String {
    if n == 1 { "1 sample".into() } else { format!("{n} samples") }
}

/// The whole in a sentence or two.
fn summary(chain: &LatencyHistory, zone: &str) -> String {
    let spread = chain.spread(zone).words();
    let mut letters = spread.chars();
    let spread =
        letters.next().map(|c| c.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default();
    match chain.slowest() {
        Some((s, stats)) => format!(
            "The slowest is {} ({}): median {} over {}, p95 {}. {spread}.",
            s.server,
            s.address,
            millis(stats.median),
            looks(stats.looks),
            millis(stats.p95),
        ),
        None => format!(
            "Not enough samples yet: at least {MIN_LOOKS} answers per server are required, one per scan. {spread}."
        ),
    }
}

fn table(label: &'static str, zones: bool, rows: impl IntoView + 'static) -> AnyView {
    let zone = zones.then(|| view! { <th scope="col">"Zone"</th> });
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label=label>
            <table class="tbl tbl-tight">
                <thead><tr>
                    {zone}
                    <th scope="col">"Server"</th><th scope="col">"Network"</th>
                    <th scope="col" class="num">"Median"</th><th scope="col" class="num">"p95"</th>
                    <th scope="col">"Over time"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// What each point of presence measured, about once a day.
fn places(chain: &LatencyHistory) -> AnyView {
    let of_place = |p: &PlaceLatency| {
        let from = if p.region.is_empty() { p.id.clone() } else { format!("{} · {}", p.id, p.region) };
        let row = |s: &ChainServer| {
            let stats = s.stats();
            let time = stats.map_or_else(|| "no answer".to_string(), |st| millis(st.median));
            let slow = stats.is_some_and(|st| st.median >= SLOW_AT_PLACE_MS);
            let class = if slow { "num text-warn" } else { "num" };
            view! {
                <tr class="text-inherit"><th scope="row" class="mono">{from.clone()}</th><td class="mono">{format!("{} {}", s.server, s.address)}</td>
                    <td class=class>{time}</td><td class="num">{stats.map_or(0, |st| st.looks)}</td><td class="mono wrap">{s.ids.join(", ")}</td></tr>
            }
        };
        p.seen.servers.iter().map(row).collect_view()
    };
    let rows = chain.places.iter().map(of_place).collect_view();
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label="Servers of the zone from each point of presence">
            <table class="tbl tbl-tight">
                <thead><tr><th scope="col">"From"</th><th scope="col">"Server"</th><th scope="col" class="num">"Median"</th><th scope="col" class="num">"Samples"</th><th scope="col">"Identifier"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(s: &ChainServer, top: f32, (slowest, anycast): (bool, bool), zones: bool) -> AnyView {
    let zone = zones.then(|| view! { <td class="mono">{s.zone.clone()}</td> });
    let stats = s.stats();
    let number = |pick: fn(&model::latency::LatencyStats) -> f64| match &stats {
        Some(st) => view! { <span>{millis(pick(st))}</span> }.into_any(),
        None => view! { <span class="text-muted">"no answer"</span> }.into_any(),
    };
    let place = match s.network.as_ref() {
        Some(n) if n.prefix.is_some() => {
            let systems = n.asns.iter().map(|a| format!("AS{a}")).collect::<Vec<_>>().join(", ");
            format!("{} · {systems}", n.prefix.clone().unwrap_or_default())
        }
        _ => "unknown".into(),
    };
    let mark = slowest.then(|| view! { <span class="tag">"slowest"</span> });
    let ids = s.ids.join(", ");
    let anycast = anycast.then(|| view! { <span class="tag" title=ids>"anycast"</span> });
    view! {
        <tr class="text-inherit">
            {zone}
            <th scope="row"><span class="two"><span class="flex items-center gap-2"><span class="mono">{s.server.clone()}</span>{mark}{anycast}</span><small class="mono">{s.address.to_string()}</small></span></th>
            <td class="mono">{place}</td>
            <td class="num">{number(|s| s.median)}</td>
            <td class="num">{number(|s| s.p95)}</td>
            <td>{line(&s.ms, top)}</td>
        </tr>
    }
    .into_any()
}

/// Latencies as a line with gaps where no answer came; its words for those who don't see it.
fn line(ms: &[Option<f32>], top: f32) -> AnyView {
    let seen: Vec<f32> = ms.iter().flatten().copied().collect();
    let lost = ms.len() - seen.len();
    let low = seen.iter().copied().fold(f32::INFINITY, f32::min);
    let high = seen.iter().copied().fold(0.0, f32::max);
    let words = match (seen.is_empty(), lost) {
        (true, _) => format!("no answer in {}", looks(ms.len())),
        (false, 0) => format!("{}: {} to {}", looks(ms.len()), millis(low.into()), millis(high.into())),
        (false, n) => {
            format!(
                "{}: {} to {}, {n} without an answer",
                looks(ms.len()),
                millis(low.into()),
                millis(high.into())
            )
        }
    };
    let (width, height) = LINE;
    let step = if ms.len() > 1 { (width - 4.0) / (ms.len() - 1) as f32 } else { 0.0 };
    let point = |i: usize, v: f32| (2.0 + i as f32 * step, height - 2.0 - v / top * (height - 4.0));
    let mut path = String::new();
    let mut dots = Vec::new();
    for (i, v) in ms.iter().enumerate() {
        let Some(v) = *v else { continue };
        let (x, y) = point(i, v);
        let before = i.checked_sub(1).and_then(|b| ms[b]).is_some();
        let after = ms.get(i + 1).copied().flatten().is_some();
        if before {
            path.push_str(&format!("L{x:.1} {y:.1}"));
        } else {
            path.push_str(&format!("M{x:.1} {y:.1}"));
        }
        if !before && !after {
            dots.push(view! { <circle cx=format!("{x:.1}") cy=format!("{y:.1}") r="1.5"></circle> });
        }
    }
    let class = if high >= SLOW_MS as f32 { "spark slow" } else { "spark" };
    view! {
        <svg class=class viewBox=format!("0 0 {width} {height}") role="img" aria-label=words>
            <path d=path></path>{dots}
        </svg>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use model::latency::ServerNetwork;

    fn server(zone: &str, name: &str, address: &str, ms: Vec<Option<f32>>) -> ChainServer {
        let network = ServerNetwork {
            address: address.parse().unwrap(),
            asns: vec![64500],
            prefix: Some("192.0.2.0/24".into()),
            id: None,
        };
        ChainServer {
            zone: zone.into(),
            server: name.into(),
            address: network.address,
            ms,
            network: Some(network),
            ids: Vec::new(),
        }
    }

    fn html(n: usize, ms: f32) -> String {
        html_with(n, ms, vec![])
    }

    fn html_with(n: usize, ms: f32, places: Vec<PlaceLatency>) -> String {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let mut own = vec![Some(ms); n];
        own[0] = None;
        let chain = LatencyHistory {
            looks: (0..n).map(|_| now).collect(),
            servers: vec![
                server("io", "a.nic.io", "192.0.2.1", vec![Some(9.0); n]),
                server("q7.io", "ns1.q7.io", "192.0.2.2", own),
            ],
            places,
        };
        let owner = Owner::new();
        owner.with(|| speed(&chain, "q7.io", &chain.findings("q7.io"), now).unwrap().to_html())
    }

    #[test]
    fn the_slowest_server_stands_out_in_words() {
        let html = html(14, 180.0);
        for words in [
            "ns1.q7.io/192.0.2.2, takes 180 ms in the median of 13 samples",
            "14 samples: 180 ms to 180 ms, 1 without an answer",
            "192.0.2.0/24 · AS64500",
            "The server of the parent zones",
            "no sign of anycast",
            "/tools/compare?name=q7.io&amp;type=SOA#places",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    #[test]
    fn the_slowest_is_told_once_by_the_finding_or_in_the_summary() {
        assert!(!html(14, 180.0).contains("The slowest is"));
        let quick = html(14, 20.0);
        assert!(
            quick.contains("The slowest is ns1.q7.io (192.0.2.2): median 20 ms over 13 samples"),
            "{quick}"
        );
        assert!(quick.contains("p95 20 ms"), "{quick}");
    }

    #[test]
    fn each_place_stands_with_its_figures_and_other_identifiers_are_anycast() {
        let place = |id: &str, ms: f32, nsid: &str| {
            let mut one = server("q7.io", "ns1.q7.io", "192.0.2.2", vec![Some(ms)]);
            one.ids.push(nsid.into());
            let seen = LatencyHistory { servers: vec![one], ..LatencyHistory::default() };
            PlaceLatency { id: id.into(), region: "ap-southeast".into(), seen }
        };
        let html = html_with(14, 180.0, vec![place("sin-1", 412.0, "m1")]);
        assert!(html.contains("sin-1 · ap-southeast") && html.contains("412 ms"), "{html}");
        assert!(html.contains("Median from the points of presence: sin-1 412 ms"), "{html}");
        assert!(html.contains("text-warn") && !html.contains(">anycast<"), "{html}");
        let html = html_with(14, 180.0, vec![place("sin-1", 412.0, "m1"), place("fra-1", 9.0, "m2")]);
        assert!(html.contains(">anycast<") && !html.contains("no sign of anycast"), "{html}");
        assert!(!self::html(14, 180.0).contains("From</th>"));
    }

    #[test]
    fn few_looks_are_not_judged() {
        let html = html(3, 180.0);
        assert!(html.contains("Not enough samples yet"), "{html}");
        assert!(!html.contains("The slowest is"), "{html}");
    }

    #[test]
    fn nothing_is_shown_before_the_first_look() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        assert!(speed(&LatencyHistory::default(), "q7.io", &[], now).is_none());
    }
}
