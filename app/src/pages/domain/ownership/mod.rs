//! The Ownership tab: prove control of a domain, see what every authoritative server returns, and when it is checked next.

mod answers;
mod record;

use super::state::DomainState;
use crate::browser;
use crate::components::banner::{Tone, banner, failure, tone_class, tone_icon};
use crate::components::status::claim_pill;
use crate::components::time::instant;
use crate::components::{icon, icon_sm};
use crate::resource::{JsonResource, json_resource};
use crate::server_fns;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::Timestamp;
use model::ownership::{ClaimRecord, ClaimView, Method, NearMiss, Standing};
use model::scan::Live;
use service::ApiError;

/// What the parts of the tab share.
#[derive(Clone, Copy)]
pub(super) struct ClaimState {
    dom: DomainState,
    view: JsonResource<Result<ClaimView, ApiError>>,
    /// True while the servers are asked.
    busy: RwSignal<bool>,
}

impl ClaimState {
    /// Makes a change, then shows the claim as it is then.
    fn run(self, change: impl Future<Output = Result<(), ApiError>> + 'static) {
        self.busy.set(true);
        spawn_local(async move {
            if let Err(f) = change.await {
                self.dom.toaster.failed(&f);
            }
            self.busy.set(false);
            self.view.refetch();
        });
    }
}

/// The tab.
#[component]
pub(crate) fn OwnershipTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let view = json_resource(move || dom.name.get(), server_fns::claim);
    let state = ClaimState { dom, view, busy: RwSignal::new(false) };
    let calm = crate::live::Debounce::new(300);
    crate::live::listen(move |l| {
        let concerns = match l {
            Live::Changed(e) => e.name == dom.name.get_untracked(),
            Live::Reset { .. } => true,
            Live::Scan(_) => false,
        };
        if concerns {
            calm.call(move || view.refetch());
        }
    });
    view! {
        <Transition fallback=super::states::skeleton>
            {move || view.get().map(|answer| match answer {
                Ok(v) => match &v.claim {
                    Some(claim) if !claim.claim.standing().is_over() => open(state, &v, claim),
                    over => start(state, &v, over.as_ref()),
                },
                // The header explains that the domain is not in the inventory.
                Err(e) if e.kind == service::ErrorKind::NotFound => ().into_any(),
                Err(f) => failure("The claim could not be read", &f),
            })}
        </Transition>
    }
    .into_any()
}

/// What a method asks of a person, in a few words.
fn effort(method: Method) -> &'static str {
    match method {
        Method::Txt => "Covers the domain and the names below it. Does not touch records you have.",
        Method::TxtApex => {
            "The same, where names with an underscore can't be created. One value among others."
        }
        Method::Cname => "The same, where only a CNAME can be created.",
        Method::Http => "Proves this host name only. A DNS proof of another organisation wins.",
    }
}

/// No claim is open: choose a method.
fn start(state: ClaimState, v: &ClaimView, over: Option<&ClaimRecord>) -> AnyView {
    let name = v.name.clone();
    let submit = move |e: SubmitEvent| {
        e.prevent_default();
        let Some(f) = browser::form_of(&e) else { return };
        let (name, method) = (browser::field(&f, "name"), browser::field(&f, "method"));
        state.run(async move { server_fns::start_claim(name, method).await });
    };
    let last = over.map(|claim| banner(Tone::Info, claim.claim.standing().label(), claim.claim.meaning()));
    let covered = v.covered_by.clone().map(|above| {
        banner(Tone::Ok, "Covered", format!("{above} is verified, which covers the names below it."))
    });
    let methods: Vec<_> = v
        .methods
        .iter()
        .enumerate()
        .map(|(i, method)| {
            let id = format!("method-{}", method.as_str());
            view! {
                <label class="grid grid-cols-[auto_minmax(0,1fr)] gap-2 items-start py-2 cursor-pointer [&_small]:block [&_input]:mt-[.1875rem] [&_input]:mx-0 [&_input]:[accent-color:var(--accent-fill)]" for=id>
                    <input type="radio" name="method" id=format!("method-{}", method.as_str()) value=method.as_str() checked=i == 0/>
                    <span><strong>{method.label()}</strong><small class="text-muted">{effort(*method)}</small></span>
                </label>
            }
        })
        .collect();
    view! {
        {last}{covered}
        <section class="card">
            <div class="card-head"><h2>{format!("Prove that {} is yours", v.unicode)}</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/start_claim" on:submit=submit>
                <input type="hidden" name="name" value=name/>
                <p class="text-muted">"Adding a domain does not prove that it is yours. Publish a value only your organisation is given; \
                    it is read from the authoritative name servers, never through a resolver. A claim blocks no other \
                    organisation until it is proven."</p>
                <fieldset class="m-0 min-w-0 p-0"><legend class="label">"Method"</legend>{methods}</fieldset>
                <div><button class="btn btn-primary" type="submit" disabled=move || state.busy.get()>{icon_sm("shield")}"Start verification"</button></div>
            </form>
        </section>
    }
    .into_any()
}

fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Verified => Tone::Ok,
        Standing::Pending | Standing::Waiting => Tone::Info,
        Standing::Lapsing => Tone::Warn,
        _ => Tone::Critical,
    }
}

/// A claim that is pending, verified or contested.
fn open(state: ClaimState, v: &ClaimView, r: &ClaimRecord) -> AnyView {
    let standing = r.claim.standing();
    let name = v.name.clone();
    let check = {
        let name = name.clone();
        move |e: SubmitEvent| {
            e.prevent_default();
            let name = name.clone();
            state.run(async move { server_fns::check_claim(name).await });
        }
    };
    let is_checking = move || state.busy.get();
    let suspended = v.suspended.clone().map(|why| banner(Tone::Warn, "Scheduled checks are suspended", why));
    view! {
        {suspended}
        <div class=tone_class(tone(standing)) role="status">
            {icon(tone_icon(tone(standing)))}
            <div class="flex-1 min-w-0">
                <strong>{claim_pill(standing)}</strong>
                <p>{r.claim.meaning()}</p>
                {diagnosis(v, r)}
            </div>
            <form class="end" method="post" action="/api/fn/check_claim" on:submit=check>
                <input type="hidden" name="name" value=name/>
                <button class="btn btn-primary" type="submit" disabled=is_checking aria-busy=move || is_checking().to_string()>
                    {icon_sm("refresh")}{move || if is_checking() { "Checking…" } else { "Check now" }}
                </button>
            </form>
        </div>
        <div class="cols">
            <div class="grid grid-cols-1 gap-4 content-start">
                {record::record(state, v, r)}
                {answers::answers(r)}
            </div>
            <div class="grid grid-cols-1 gap-4 content-start">
                {schedule(v, r)}
                {facts(state, v, r)}
            </div>
        </div>
    }
    .into_any()
}

/// Why the record does not count yet.
fn diagnosis(v: &ClaimView, r: &ClaimRecord) -> Option<AnyView> {
    let round = r.round.as_ref()?;
    let provider = v.provider.as_deref();
    let expected = r.offers.iter().find(|o| o.method == r.claim.method).map(|o| o.record.value.clone());
    let all: Vec<_> = round
        .near_misses
        .iter()
        .map(|miss| {
            let pair = miss.found().zip(expected.clone()).filter(|((what, _), _)| *what == "Value");
            let table = pair.map(|((_, found), expected)| {
                view! {
                    <dl class="text-xs grid grid-cols-[auto_minmax(0,1fr)] gap-y-0.5 gap-x-3 mt-1">
                        <dt class="text-muted">"Found"</dt><dd class="mono wrap"><span class="hl">{found.to_string()}</span></dd>
                        <dt class="text-muted">"Expected"</dt><dd class="mono wrap">{expected}</dd>
                    </dl>
                }
            });
            let waits = matches!(miss, NearMiss::NotFound { .. } | NearMiss::OldCopy { .. });
            let class = if waits { "text-muted" } else { "font-semibold" };
            view! { <li><span class=class>{miss.sentence_at(provider)}</span>{table}</li> }
        })
        .collect();
    (!all.is_empty()).then(|| view! { <ul class="grid gap-2 mt-2">{all}</ul> }.into_any())
}

/// Seconds until the next check, counted down in the browser.
fn countdown(at: Timestamp, now: Timestamp) -> AnyView {
    let clock = RwSignal::new(None::<Timestamp>);
    Effect::new(move |_| {
        let tick = move || clock.set(Some(browser::now()));
        if let Ok(handle) = set_interval_with_handle(tick, std::time::Duration::from_secs(1)) {
            on_cleanup(move || handle.clear());
        }
    });
    let words = move || {
        let left = at.as_second() - clock.get().unwrap_or(now).as_second();
        match left {
            ..=0 => "now".to_string(),
            1..=119 => format!("in {left} s"),
            _ => model::time::relative(at, clock.get().unwrap_or(now)),
        }
    };
    view! { <time class="font-semibold num" datetime=at.to_string() title=at.to_string()>{words}</time> }
        .into_any()
}

fn schedule(v: &ClaimView, r: &ClaimRecord) -> AnyView {
    let next = r.claim.next_check_at.map(|at| view! { <p>"Next check "{countdown(at, v.now)}"."</p> });
    let waits = r.round.as_ref().and_then(|round| round.wait_s).map(|s| {
        let span = model::time::human_seconds(u64::from(s));
        view! {
            <p class="text-muted">{format!("The servers are read directly, so a correct record counts at once. Resolvers that queried it earlier may have cached its absence for up to {span}.")}</p>
        }
    });
    let outcome = r.round.as_ref().map(|round| view! { <p>{round.outcome.sentence(r.claim.method)}</p> });
    view! {
        <section class="card">
            <div class="card-head"><h2>"When to expect it"</h2></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">{outcome}{next}{waits}</div>
        </section>
    }
    .into_any()
}

fn facts(state: ClaimState, v: &ClaimView, r: &ClaimRecord) -> AnyView {
    let name = v.name.clone();
    let withdraw = {
        let name = name.clone();
        move |e: SubmitEvent| {
            e.prevent_default();
            let name = name.clone();
            state.run(async move { server_fns::withdraw_claim(name).await });
        }
    };
    let is_open = !r.claim.counts() || matches!(r.claim.standing(), Standing::Contested);
    let until = is_open.then(
        || view! { <div><dt>"Value expires"</dt><dd>{instant(r.claim.challenge.expires_at)}</dd></div> },
    );
    let proven =
        r.claim.last_proven_at.map(|at| view! { <div><dt>"Last proven"</dt><dd>{instant(at)}</dd></div> });
    let checked =
        r.round.as_ref().map(|round| view! { <div><dt>"Last check"</dt><dd>{instant(round.at)}</dd></div> });
    let covers = match r.claim.method {
        Method::Http => format!("{} only", v.unicode),
        _ => format!("{} and the names below it", v.unicode),
    };
    view! {
        <section class="card">
            <div class="card-head"><h2>"This claim"</h2></div>
            <dl class="facts">
                <div><dt>"Covers"</dt><dd>{covers}</dd></div>
                <div><dt>"Value issued"</dt><dd>{instant(r.claim.challenge.issued_at)}</dd></div>
                {until}{proven}{checked}
            </dl>
            <div class="card-foot">
                <details class="menu">
                    <summary class="btn btn-ghost btn-sm">"Withdraw…"</summary>
                    <form class="menu-list menu-form" method="post" action="/api/fn/withdraw_claim" on:submit=withdraw>
                        <input type="hidden" name="name" value=name/>
                        <p class="hint">"The claim ends at once; starting again needs a new value."</p>
                        <button class="btn btn-sm btn-danger" type="submit">"Withdraw the claim"</button>
                    </form>
                </details>
            </div>
        </section>
    }
    .into_any()
}
