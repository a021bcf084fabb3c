//! What the visitor's browser adds to the report after hydration: a few public resolvers asked directly, judged by the
//! same pure function as the server's own places. What the authoritative servers deny is not asked for unless a person
//! wants it: every question would plant the denial in a resolver's cache.

use crate::browser_dns;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::compare::ResolverAnswer;
use model::fqdn::{BROWSER_TYPES, FqdnReport, TypeOutcome, VantageAnswer, browser_vantage, report};
use model::resolvers::PublicResolver;

/// How far the browser is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// As the server rendered it.
    Still,
    /// So many resolvers have not answered yet.
    Asking(usize),
    /// All have.
    Done,
    /// This document may not ask; a reload makes one that may.
    Reload,
    /// There is no resolver a browser may ask.
    NoResolver,
    /// Not asked, because the name or its addresses are denied.
    Denied,
}

/// Whether the host answers this browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not tried.
    Untried,
    /// On its way.
    Trying,
    /// It answers on HTTPS.
    Yes,
    /// Nothing came.
    No,
}

/// The browser's part of a report.
#[derive(Clone, Copy)]
pub(super) struct BrowserSide {
    answers: RwSignal<Vec<(usize, VantageAnswer)>>,
    pub(super) state: RwSignal<State>,
    pub(super) reach: RwSignal<Reach>,
}

impl BrowserSide {
    /// Asks once the page is alive.
    pub(super) fn start(first: &FqdnReport) -> Self {
        let types = worth_asking(first);
        let state = if types.is_empty() { State::Denied } else { State::Still };
        let side = BrowserSide {
            answers: RwSignal::new(Vec::new()),
            state: RwSignal::new(state),
            reach: RwSignal::new(Reach::Untried),
        };
        let name = first.name.clone();
        Effect::new(move |_| {
            if !types.is_empty() {
                side.ask(name.clone(), types.clone());
            }
        });
        side
    }

    /// Asks for all types, denied or not.
    pub(super) fn ask_anyway(self, name: &str) {
        self.ask(name.to_string(), BROWSER_TYPES.to_vec());
    }

    fn ask(self, name: String, types: Vec<&'static str>) {
        if !browser_dns::may_ask() {
            self.state.set(State::Reload);
            return;
        }
        spawn_local(async move {
            let resolvers = server_fns::browser_resolvers().await.unwrap_or_default();
            let n = resolvers.len();
            let state = if n == 0 { State::NoResolver } else { State::Asking(n) };
            self.state.try_set(state);
            for (i, resolver) in resolvers.into_iter().enumerate() {
                spawn_local(self.one(i, resolver, name.clone(), types.clone()));
            }
        });
    }

    async fn one(self, place: usize, resolver: PublicResolver, name: String, types: Vec<&'static str>) {
        let asked_at = crate::browser::now();
        let mut said: Vec<(&str, ResolverAnswer)> = Vec::new();
        for rtype in types {
            let answer = browser_dns::ask(&resolver, &name, rtype).await;
            let failed = answer.error.is_some();
            said.push((rtype, answer));
            // One that can't be reached is not waited for twice.
            if failed {
                break;
            }
        }
        let seen = browser_vantage(&resolver, &name, &said, asked_at);
        // The page may be gone by now.
        self.answers.try_update(|all| {
            all.push((place, seen));
            all.sort_by_key(|(i, _)| *i);
        });
        self.state.try_update(|s| {
            *s = match *s {
                State::Asking(n) if n > 1 => State::Asking(n - 1),
                _ => State::Done,
            }
        });
    }

    /// What came so far, in the order of the resolvers.
    pub(super) fn answers(self) -> Vec<VantageAnswer> {
        self.answers.get().into_iter().map(|(_, v)| v).collect()
    }

    /// Tries the host itself.
    pub(super) fn try_host(self, host: String) {
        self.reach.set(Reach::Trying);
        spawn_local(async move {
            let reach = if browser_dns::reaches(&host).await { Reach::Yes } else { Reach::No };
            self.reach.try_set(reach);
        });
    }
}

/// The types a resolver can be asked for without planting a denial: those that are served, or, where no place got an
/// answer, all.
fn worth_asking(first: &FqdnReport) -> Vec<&'static str> {
    let said = |outcome: fn(TypeOutcome) -> bool, rtype: &str| {
        let all = first.vantages.iter().flat_map(|v| &v.answers);
        all.into_iter().any(|a| a.rtype == rtype && outcome(a.outcome))
    };
    let known = BROWSER_TYPES.iter().any(|t| said(|o| o != TypeOutcome::Failed, t));
    BROWSER_TYPES.into_iter().filter(|t| !known || said(|o| o == TypeOutcome::Records, t)).collect()
}

/// The server's report combined with the browser's answers, judged again.
pub(super) fn with_browser(first: &FqdnReport, answers: &[VantageAnswer]) -> FqdnReport {
    if answers.is_empty() {
        return first.clone();
    }
    let all = first.vantages.iter().chain(answers).cloned().collect();
    // The server's clock: dates of the plan don't move while a person reads them.
    let both = report(&first.name, all, first.now);
    // Only the server knows the registry: an address that the browser alone was given stays without a claim.
    FqdnReport { address_space: first.address_space.clone(), ..both }
}
