//! What a scan looks at: which parts are due, and whether the registration's turn has come. In: what is stored and
//! the time; out: what was seen now, parts that were not due left untried.

use crate::Scanner;
use crate::observer::{DnsParts, InTurn, Progress};
use jiff::Timestamp;
use model::detail::RawAnswer;
use model::ids::Vantage;
use model::names::DomainName;
use model::observation::{Observation, Part};
use model::registration::{Registration, RegistrationState};
use model::scan::{Stage, StageResult};
use store::Versioned;

/// What a scan looked at.
pub(crate) struct Seen {
    pub observation: Observation,
    pub raw: Vec<RawAnswer>,
    /// The registration waits for its turn until then, by our own limits alone.
    pub later: Option<Timestamp>,
}

impl Seen {
    /// Nothing was asked: there is nothing to record.
    pub fn is_nothing(&self) -> bool {
        let o = &self.observation;
        o.registration.attempted_at.is_none() && o.delegation.attempted_at.is_none()
    }
}

impl Scanner {
    /// Looks at what is due.
    pub(crate) async fn observe(
        &self,
        name: &DomainName,
        previous: Option<&Versioned>,
        asked: bool,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> Seen {
        let stored = previous.map(|p| &p.observation);
        let fresh = stored.is_some_and(|o| self.registration_is_fresh(o, asked, now));
        // A scheduled scan comes half an interval after the last one at the earliest. Sooner, it is the rest of that
        // one: the registration, whose turn has come.
        let rest = !asked && !fresh && stored.is_some_and(|o| self.dns_is_recent(o, now));
        // Nobody is told to come back later than this; a turn beyond it was told by a wrong clock.
        let longest = net::budget::LONGEST_QUEUE.as_secs().cast_signed();
        let ahead = |at: &Timestamp| (1..=longest).contains(&(at.as_second() - now.as_second()));
        let turn =
            stored.and_then(|o| o.registration.error.as_ref()?.retry_at).filter(|at| !asked && ahead(at));
        let registration = async {
            if fresh {
                let words = "read a short while ago, served as it is".to_string();
                progress.done(StageResult { stage: Stage::Registration, ok: true, words, ms: 0 });
                // An untried part: what is stored stays as it is.
                return InTurn::default();
            }
            if turn.is_some() {
                let words = "waits for its turn at the registry".to_string();
                progress.done(StageResult { stage: Stage::Registration, ok: true, words, ms: 0 });
                return InTurn::default();
            }
            if asked {
                let (part, raw) = self.observer.registration(name, now, progress).await;
                return InTurn { part, raw, later: false };
            }
            self.observer.registration_in_turn(name, now, progress).await
        };
        let dns =
            async { if rest { DnsParts::default() } else { self.observer.dns(name, now, progress).await } };
        let (InTurn { mut part, mut raw, later }, dns) = futures::join!(registration, dns);
        // Answers of a look-up that failed must not take the place of the good ones that are kept.
        if part.error.is_some() && previous.is_some() {
            raw.clear();
        }
        // To wait one's turn for a while is no failure: what is known stays as it is.
        let soon = part.error.as_ref().and_then(|e| e.retry_at).filter(|at| {
            let good =
                stored.is_some_and(|o| o.registration.value.is_some() && o.registration.error.is_none());
            later && (good || rest) && at.as_second() - now.as_second() <= self.policy.interval_s / 2
        });
        if soon.is_some() {
            part = Part::default();
        }
        let DnsParts { delegation, zone, dnssec, findings } = dns;
        let vantage = Vantage::local();
        let observation = Observation {
            name: name.clone(),
            vantage,
            registration: part,
            delegation,
            zone,
            dnssec,
            findings,
        };
        Seen { observation, raw, later: soon }
    }

    /// True when the DNS was looked at less than half an interval ago.
    fn dns_is_recent(&self, stored: &Observation, now: Timestamp) -> bool {
        let recent =
            |at: Timestamp| (0..self.policy.interval_s / 2).contains(&(now.as_second() - at.as_second()));
        stored.delegation.attempted_at.is_some_and(recent)
    }

    fn registration_is_fresh(&self, stored: &Observation, asked: bool, now: Timestamp) -> bool {
        let part = &stored.registration;
        let Some(at) = part.observed_at.filter(|_| part.error.is_none()) else { return false };
        let age = now.as_second() - at.as_second();
        // Read in the future, by a clock that was wrong: it would stay fresh for as long.
        if age < 0 {
            return false;
        }
        if asked {
            return age < self.policy.freshness_s;
        }
        let days_left = part
            .value
            .as_ref()
            .and_then(RegistrationState::registration)
            .and_then(Registration::effective_expires)
            .map(|e| e.days_from(now));
        let near = days_left.is_some_and(|d| d <= self.policy.thresholds.warning_days);
        age < if near { self.policy.freshness_s } else { self.policy.registration_interval_s }
    }
}
