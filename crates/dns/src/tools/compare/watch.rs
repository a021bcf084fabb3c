//! "Tell me when this is visible everywhere": first until every authoritative server serves the record, then until
//! every resolver has it. Resolvers are asked only once the servers agree, and again only when a copy has run out.

use super::{Asking, Comparer, Tell};
use crate::error::Error;
use jiff::{Timestamp, ToSpan};
use model::compare::{
    Authority, AuthorityOutcome, CompareEvent, Comparison, Earlier, EndKind, Ended, Judged, StopReason,
    Stopped, VerdictKind, WatchPhase, WatchProgress, compare, judge, next_look, rdata_key,
};
use model::dns::AnswerKind;
use std::collections::BTreeSet;

/// Longest pause between two looks at the authoritative servers, seconds.
const AUTHORITY_PAUSE_MAX: i64 = 60;
/// Answers kept to tell copies that ran out from answers by location.
const REMEMBERED: usize = 500;
/// Rounds in which a resolver that fails is asked again.
const FAILING_ROUNDS: u32 = 3;

/// What a watch waits for, and how long.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Values that the record must have; empty: whatever the authoritative servers agree on.
    pub expect: Vec<String>,
    /// Seconds after which it gives up.
    pub patience_s: i64,
}

impl Comparer {
    /// Watches until the record is everywhere, or gives up.
    ///
    /// # Errors
    /// As [`Comparer::authority`].
    pub async fn watch(
        &self,
        asking: &Asking,
        watch: &Watch,
        tell: Tell<'_>,
    ) -> Result<(Comparison, Ended), Error> {
        let gives_up = after(self.clock.now(), watch.patience_s.max(1));
        let mut state = State { earlier: asking.earlier.clone(), answers: Vec::new(), known: None, pause: 5 };
        for round in 1.. {
            let authority = self.authority(&asking.name, &asking.rtype).await?;
            state.learn(&authority, &asking.rtype);
            let ready = readiness(&authority, &watch.expect);
            let all = ready.0 == ready.1 && ready.1 > 0;
            let comparison = if all {
                self.look(asking, &mut state, authority, round, tell).await
            } else {
                let comparison = self.hold(authority, ready);
                tell(CompareEvent::Authority(Box::new(comparison.clone())));
                comparison
            };
            let now = self.clock.now();
            if comparison.summary.everywhere {
                let n = agreeing(&comparison.answers);
                let sentence = format!("Everywhere: all {n} resolvers that neither filter nor fail have it.");
                return Ok(end(comparison, EndKind::Everywhere, sentence, tell));
            }
            let (phase, numbers, next) = if all {
                let waiting = comparison.answers.iter().filter(|j| j.verdict.waits()).count() as u32;
                let have = agreeing(&comparison.answers);
                (WatchPhase::Resolvers, (have, have + waiting), next_look(&comparison.answers, now))
            } else {
                let next = after(now, state.pause);
                state.pause = (state.pause * 2).min(AUTHORITY_PAUSE_MAX);
                (WatchPhase::Authority, ready, next)
            };
            let over = next > gives_up;
            let shown = (!over).then_some(next);
            let progress = WatchProgress::new(phase, round, numbers, shown, gives_up, now);
            let words = progress.sentence.clone();
            tell(CompareEvent::Watch(progress));
            if over {
                let sentence = format!("Gave up: the time set for watching is over. {words}");
                return Ok(end(comparison, EndKind::GaveUp, sentence, tell));
            }
            self.clock.sleep_until(next).await;
        }
        Err(Error::NotFound(asking.name.to_string()))
    }

    /// A round in which the servers do not all serve it: no one else is asked.
    fn hold(&self, authority: Authority, (have, of): (u32, u32)) -> Comparison {
        let name = &authority.name;
        let sentence = format!(
            "{have} of {of} authoritative servers serve the wanted {} record of {name}. No resolver is asked before all \
             do: it would cache the old answer, or the negative one.",
            authority.rtype
        );
        let stopped = Stopped {
            reason: StopReason::NotServedYet,
            sentence,
            consequence: "The watch asks resolvers by itself once all servers serve it.".into(),
        };
        compare(authority, Some(stopped), Vec::new(), Vec::new(), self.clock.now())
    }

    /// A round in which resolvers are asked: those that did not have it before.
    async fn look(
        &self,
        asking: &Asking,
        state: &mut State,
        authority: Authority,
        round: u32,
        tell: Tell<'_>,
    ) -> Comparison {
        let now = self.clock.now();
        if state.answers.is_empty() {
            let none = Earlier::default();
            state.answers = self.resolvers.iter().map(|r| judge(&authority, r, None, &none, now)).collect();
        }
        let answers = std::mem::take(&mut state.answers);
        let mut comparison = compare(authority, None, answers, Vec::new(), now).knowing(&state.earlier);
        tell(CompareEvent::Authority(Box::new(comparison.clone())));
        let again = move |j: &Judged| {
            j.verdict.waits() || (j.verdict.kind() == VerdictKind::Failing && round <= FAILING_ROUNDS)
        };
        let earlier = state.earlier.clone();
        let heard = self.fill(asking, &earlier, &mut comparison, again, tell).await;
        tell(CompareEvent::Summary(comparison.summary.clone()));
        state.earlier.answers.extend(heard);
        let surplus = state.earlier.answers.len().saturating_sub(REMEMBERED);
        state.earlier.answers.drain(..surplus);
        state.answers.clone_from(&comparison.answers);
        comparison
    }
}

/// What a watch remembers from round to round.
struct State {
    earlier: Earlier,
    /// Verdicts of the round before; empty while no resolver was queried.
    answers: Vec<Judged>,
    /// The value the servers gave last, as keys and as data.
    known: Option<(BTreeSet<String>, Vec<String>)>,
    /// Seconds until the next look at the servers.
    pause: i64,
}

impl State {
    /// Takes note of what the servers say: what they said before is what old copies will hold.
    fn learn(&mut self, authority: &Authority, rtype: &str) {
        if authority.outcome != AuthorityOutcome::Serves {
            return;
        }
        // Values of servers that lag behind are old ones too once the others have moved on.
        for server in &authority.servers {
            let data: Vec<String> = server
                .records
                .iter()
                .filter(|r| r.rtype.eq_ignore_ascii_case(rtype))
                .map(|r| r.data.clone())
                .collect();
            if !data.is_empty() && keys(rtype, &data) != keys_of(authority, rtype) {
                self.remember(data);
            }
        }
        let now = keys_of(authority, rtype);
        if let Some((before, data)) = self.known.take()
            && before != now
        {
            self.remember(data);
            // Verdicts on the old value say nothing of the new one.
            self.answers.clear();
        }
        self.known = Some((now, authority.records.iter().map(|r| r.data.clone()).collect()));
    }

    fn remember(&mut self, data: Vec<String>) {
        if !self.earlier.values.contains(&data) && self.earlier.values.len() < REMEMBERED {
            self.earlier.values.push(data);
        }
    }
}

fn keys(rtype: &str, data: &[String]) -> BTreeSet<String> {
    data.iter().map(|d| rdata_key(rtype, d)).collect()
}

fn keys_of(authority: &Authority, rtype: &str) -> BTreeSet<String> {
    authority.records.iter().map(|r| rdata_key(rtype, &r.data)).collect()
}

/// How many servers serve what is wanted, of how many that answer for the zone. Where the name is an alias all of it
/// must be served along the way.
fn readiness(authority: &Authority, expect: &[String]) -> (u32, u32) {
    let rtype = &authority.rtype;
    let wanted: BTreeSet<String> =
        if expect.is_empty() { keys_of(authority, rtype) } else { keys(rtype, expect) };
    let counted = authority
        .servers
        .iter()
        .filter(|s| s.address.is_some() && (s.kind.is_authoritative() || s.kind == AnswerKind::ServFail));
    let (mut have, mut of) = (0u32, 0u32);
    for server in counted {
        of += 1;
        let own: Vec<String> = server
            .records
            .iter()
            .filter(|r| r.rtype.eq_ignore_ascii_case(rtype))
            .map(|r| r.data.clone())
            .collect();
        let alias = server.records.iter().any(|r| r.rtype == "CNAME") && rtype != "CNAME";
        let serves = authority.outcome == AuthorityOutcome::Serves && (alias || keys(rtype, &own) == wanted);
        have += u32::from(serves);
    }
    // An alias is no reason to be ready: what it leads to must be what is wanted.
    if authority.outcome == AuthorityOutcome::Serves
        && !expect.is_empty()
        && keys_of(authority, rtype) != wanted
    {
        have = have.min(of.saturating_sub(1));
    }
    (have, of)
}

fn agreeing(answers: &[Judged]) -> u32 {
    let fine = |j: &&Judged| match j.verdict.kind() {
        VerdictKind::Same => true,
        VerdictKind::Different => !j.verdict.waits(),
        _ => false,
    };
    answers.iter().filter(fine).count() as u32
}

fn end(comparison: Comparison, kind: EndKind, sentence: String, tell: Tell<'_>) -> (Comparison, Ended) {
    let ended = Ended { kind, sentence };
    tell(CompareEvent::End(ended.clone()));
    (comparison, ended)
}

fn after(at: Timestamp, seconds: i64) -> Timestamp {
    at.checked_add(seconds.seconds()).unwrap_or(Timestamp::MAX)
}
