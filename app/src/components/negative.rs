//! Negative caching next to the figure it explains: two sentences, a worked example with clock times, a picture.

use leptos::prelude::*;
use model::advice::NegativeCaching;
use model::dns::Soa;
use model::time::{human_clock, human_seconds};

/// The SOA as one reads it, the two figures that count in bold.
pub(crate) fn soa_line(soa: &Soa) -> AnyView {
    let first = format!("{}. {}.", soa.mname, soa.rname);
    let timers = format!(
        "serial {} · refresh {} · retry {} · expire {} · ",
        soa.serial, soa.refresh, soa.retry, soa.expire
    );
    let (minimum, ttl) = (format!("minimum {}", soa.minimum), format!("TTL {}", soa.ttl));
    view! {
        <div class="grid grid-cols-[auto_minmax(0,1fr)] gap-3 items-start [&_b]:font-semibold">
            <span class="rtype">"SOA"</span>
            <div class="mono text-xs wrap">
                <div>{first}</div>
                <div class="text-muted">{timers}<b class="text-info">{minimum}</b>" · "<b class="text-info">{ttl}</b></div>
            </div>
        </div>
    }
    .into_any()
}

/// The explanation.
pub(crate) fn negative(a: &NegativeCaching) -> AnyView {
    let label = format!(
        "Queried too early at {}: may stay missing until {}, most resolvers see it from then, all should from {}",
        human_clock(a.asked_at),
        a.until_words,
        a.twice_words
    );
    let start = format!("{} UTC, now", human_clock(a.asked_at));
    let twice = format!("{}, twice", a.twice_words);
    view! {
        <div class="flex items-start gap-y-3 gap-x-5 max-sm:grid">
            <p class="grid flex-none pr-5 border-r [&_b]:text-[1.5rem] [&_b]:leading-7 [&_b]:font-semibold [&_b]:tracking-[-.02em] max-sm:border-0 max-sm:p-0 max-sm:grid-cols-[auto_1fr] max-sm:items-baseline max-sm:gap-2"><b>{human_seconds(u64::from(a.ttl))}</b><span class="text-muted text-xs">"negative-cache TTL"</span></p>
            <p class="max-w-[88ch] text-muted">{a.rule.clone()}" "<span class="text-text">{a.example.clone()}</span></p>
        </div>
        <div class="pic">
            <svg height="58" role="img" aria-label=label>
                <rect x="0" y="24" width="33.33%" height="10" class="f-warn-soft s-warn-line"/>
                <rect x="33.33%" y="24" width="33.33%" height="10" class="f-accent-soft s-accent-line"/>
                <rect x="66.66%" y="24" width="33.33%" height="10" class="f-ok-soft s-ok-line"/>
                <text x="0" y="14" class="p-st">{start}</text>
                <text x="33.33%" y="14">{a.until_words.clone()}</text>
                <text x="66.66%" y="14">{twice}</text>
                <text x="0" y="52" class="p-mute">"may stay missing"</text>
                <text x="33.33%" y="52" class="p-mute">"most see it"</text>
                <text x="66.66%" y="52" class="p-mute">"all should see it"</text>
            </svg>
        </div>
        <p class="hint">{a.limits.clone()}</p>
    }
    .into_any()
}
