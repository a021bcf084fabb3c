//! From the visitor's browser: the resolvers a page may ask are asked from here and judged by the same function as the
//! server's answers, and the host can be tried. A page can't see the answer of the system's resolver.

use super::live::Live;
use super::verdict::verdict;
use crate::browser;
use crate::browser_dns;
use crate::components::icon_sm;
use crate::components::time::millis;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::compare::{AuthorityOutcome, Comparison, Judged, VerdictKind};
use model::resolvers::PublicResolver;
use model::time::clock_utc;

/// Whether the host answers this browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Untried,
    Trying,
    Yes,
    No,
}

#[derive(Clone, Copy)]
struct Side {
    live: Live,
    /// In the order of the resolvers.
    seen: RwSignal<Vec<Judged>>,
    reach: RwSignal<Reach>,
    /// False as the server rendered it.
    alive: RwSignal<bool>,
    again: RwSignal<u32>,
}

impl Side {
    /// Asks all of them; those of an earlier turn are forgotten.
    fn ask(self, resolvers: Vec<PublicResolver>, turn: u32) {
        let now = browser::now();
        let begun = self.live.seen.try_with_untracked(|c| {
            let pending: Vec<Judged> = resolvers.iter().map(|r| c.judge(r, None, now)).collect();
            (pending, c.authority.name.clone(), c.authority.rtype.clone())
        });
        let Some((pending, name, rtype)) = begun else { return };
        self.seen.set(pending);
        for r in resolvers {
            let (name, rtype) = (name.clone(), rtype.clone());
            spawn_local(async move {
                let answer = browser_dns::ask(&r, &name, &rtype).await;
                // The page may be gone by now, or have asked once more.
                if self.again.try_get_untracked() != Some(turn) {
                    return;
                }
                let judge = |c: &Comparison| c.judge(&r, Some(&answer), browser::now());
                let Some(judged) = self.live.seen.try_with_untracked(judge) else { return };
                self.seen.try_update(|all| {
                    if let Some(old) = all.iter_mut().find(|j| j.resolver.id == judged.resolver.id) {
                        *old = judged;
                    }
                });
            });
        }
    }

    fn try_host(self) {
        self.reach.set(Reach::Trying);
        let host = self.live.seen.with_untracked(|c| c.authority.name.clone());
        spawn_local(async move {
            let reach = if browser_dns::reaches(&host).await { Reach::Yes } else { Reach::No };
            self.reach.try_set(reach);
        });
    }
}

/// The card.
pub(super) fn card(live: Live) -> AnyView {
    let side = Side {
        live,
        seen: RwSignal::new(Vec::new()),
        reach: RwSignal::new(Reach::Untried),
        alive: RwSignal::new(false),
        again: RwSignal::new(0),
    };
    // Empty while resolvers must not be queried; the browser must not query them either.
    let askable = Memo::new(move |_| {
        let all = live.seen.with(|c| c.answers.iter().map(|j| j.resolver.clone()).collect::<Vec<_>>());
        all.into_iter().filter(|r| r.json.is_some()).collect::<Vec<_>>()
    });
    let stopped = Memo::new(move |_| live.seen.with(|c| c.stopped.is_some()));
    Effect::new(move |_| {
        let (all, turn) = (askable.get(), side.again.get());
        side.alive.set(true);
        if browser_dns::may_ask() && !stopped.get() {
            side.ask(all, turn);
        }
    });
    let odd = Memo::new(move |_| {
        let differs = |j: &&Judged| !matches!(j.verdict.kind(), VerdictKind::Same | VerdictKind::Pending);
        side.seen.with(|all| all.iter().filter(differs).cloned().collect::<Vec<_>>())
    });
    let told = Memo::new(move |_| side.seen.with(|all| sentence(all)));
    let note = move || {
        if !side.alive.get() {
            return Some("With JavaScript, your browser queries resolvers itself.".to_string());
        }
        if stopped.get() {
            return Some(
                "On hold until resolvers can be queried: a query from your browser would cache the negative answer too.".into(),
            );
        }
        if askable.with(Vec::is_empty) {
            return Some("No resolver is configured that a browser can query.".into());
        }
        (!browser_dns::may_ask()).then(|| "Reload this page to let your browser query resolvers too.".into())
    };
    let said = Memo::new(move |_| side.seen.with(Vec::is_empty));
    let again = move || {
        (!said.get()).then(|| {
            let again = move |_| side.again.update(|n| *n += 1);
            view! { <button class="btn btn-sm btn-ghost" type="button" on:click=again>"Query again"</button> }
        })
    };
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"From your browser"</h2><div class="aside">{again}</div></div>
            {move || (!said.get()).then(|| view! {
                <p class="py-2.5 px-4 [&_+_.tbl-scroll]:border-t" role="status">{told}</p>
                {move || odd.with(|all| (!all.is_empty()).then(|| table(all, "Answers to your browser that differ, table")))}
                <details class="more"><summary>"Every answer to your browser"</summary>
                    {move || side.seen.with(|all| table(all, "Answers to your browser, table"))}</details>
            })}
            {move || note().map(|n| view! { <p class="hint cmp-foot">{n}</p> })}
            {move || reach(side)}
            {flush()}
        </section>
    }
    .into_any()
}

/// The answers to the browser, in a sentence.
fn sentence(all: &[Judged]) -> String {
    let count = |k: VerdictKind| all.iter().filter(|j| j.verdict.kind() == k).count();
    let (n, same) = (all.len(), count(VerdictKind::Same));
    match (count(VerdictKind::Pending), same) {
        (0, same) if same == n => {
            format!("All {n} resolvers queried by your browser agree with the authoritative servers.")
        }
        (0, 0) => {
            format!("None of {n} resolvers queried by your browser agrees with the authoritative servers.")
        }
        (0, 1) => format!("1 of {n} resolvers queried by your browser agrees; the others:"),
        (0, same) => format!("{same} of {n} resolvers queried by your browser agree; the others:"),
        _ => format!("Your browser is querying {n} resolvers…"),
    }
}

fn table(all: &[Judged], label: &'static str) -> AnyView {
    let rows: Vec<_> = all.iter().map(row).collect();
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label=label><table class="tbl tbl-tight cmp-tbl">
            <thead><tr><th scope="col">"Resolver"</th><th scope="col">"Answer"</th><th scope="col">"Verdict"</th></tr></thead>
            <tbody>{rows}</tbody></table></div>
    }
    .into_any()
}

fn row(j: &Judged) -> AnyView {
    let time = j.answer.as_ref().and_then(|a| a.latency_ms).map(|t| format!(" · {}", millis(t)));
    let short = format!("{}{}", j.short, time.unwrap_or_default());
    let failed = j.answer.as_ref().is_some_and(|a| a.error.is_some());
    let class = if failed { "text-xs wrap" } else { "mono wrap min-w-32" };
    view! {
        <tr title=j.sentence.clone()><th scope="row" class="wrap">{j.resolver.name.clone()}</th>
            <td><div class=class>{j.shows.clone()}</div><div class="text-muted text-xs wrap">{short}</div></td>
            <td>{verdict(j.verdict.kind())}</td></tr>
    }
    .into_any()
}

/// Whether this browser gets to the host through its own resolver. Only where the record is about a host that exists.
fn reach(side: Side) -> Option<AnyView> {
    let host = side.live.seen.with(|c| {
        let a = &c.authority;
        a.outcome == AuthorityOutcome::Serves && matches!(a.rtype.as_str(), "A" | "AAAA" | "CNAME" | "HTTPS")
    });
    if !host || !side.alive.get() || !browser_dns::may_ask() {
        return None;
    }
    let now = side.reach.get();
    let picture = match now {
        Reach::Yes => Some(view! { <span class="text-ok">{icon_sm("ok")}</span> }),
        Reach::No => Some(view! { <span class="text-warn">{icon_sm("warning")}</span> }),
        Reach::Untried | Reach::Trying => None,
    };
    let words = match now {
        Reach::Untried => {
            "A web page can’t read the answer of your system’s resolver; it can only try to reach the host."
                .to_string()
        }
        Reach::Trying => "Trying…".into(),
        Reach::Yes => {
            "The host answers this browser over HTTPS: your system’s resolver resolves the name.".into()
        }
        Reach::No => not_reached(side),
    };
    let label = if matches!(now, Reach::Yes | Reach::No) { "Try again" } else { "Try from here" };
    Some(
        view! {
            <div class="cmp-foot flex items-center gap-2">
                <p class="hint flex-1 min-w-0" role="status">{picture}" "{words}</p>
                <button class="btn btn-sm" type="button" disabled=now == Reach::Trying on:click=move |_| side.try_host()>{label}</button>
            </div>
        }
        .into_any(),
    )
}

/// Why the host may not answer, given the answers of resolvers to this browser.
fn not_reached(side: Side) -> String {
    let told = side.seen.with(|all| {
        all.iter().find(|j| j.verdict.kind() == VerdictKind::Same).map(|j| j.resolver.name.clone())
    });
    let ends = side.live.seen.with(|c| {
        let left = c.authority.negative_ttl?;
        let now = browser::now();
        let at = jiff::SignedDuration::from_secs(left.into());
        now.checked_add(at).ok().map(|t| format!(" It expires by {}.", clock_utc(t, now)))
    });
    match told {
        Some(who) => format!(
            "No answer on HTTPS, though {who} answers your browser with the current record. Either your system has an \
             older answer cached, or the host offers no HTTPS.{}",
            ends.unwrap_or_default()
        ),
        None => {
            "No answer over HTTPS: your resolver may have an old answer cached, or the host does not serve HTTPS."
                .into()
        }
    }
}

/// How to flush the cache of each system.
fn flush() -> AnyView {
    let rows: Vec<_> = model::flush::guides()
        .iter()
        .map(|g| {
            let class = if g.command { "mono wrap text-xs text-text" } else { "wrap text-xs text-text" };
            view! { <div class="py-1"><dt class="text-xs">{g.system.clone()}</dt><dd class=class>{g.step.clone()}</dd></div> }
        })
        .collect();
    view! {
        <details class="more"><summary>"How to flush your own cache"</summary><dl class="px-4 pb-3 text-muted">{rows}</dl></details>
    }
    .into_any()
}
