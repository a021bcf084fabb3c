//! The observation of one scan: which parts are due, and whether a registry's rate limit allows the registration now.
//! In: the stored observation and the time; out: what was observed; parts that were not due are left untried.

use crate::Scanner;
use crate::observer::{DnsParts, InTurn, Progress};
use jiff::Timestamp;
use model::certificate::hosts::Certificates;
use model::confirm::{Pending, part};
use model::detail::RawAnswer;
use model::ids::Vantage;
use model::names::DomainName;
use model::observation::{Observation, Part, PartKind};
use model::registration::{Registration, RegistrationState};
use model::scan::{Stage, StageResult};
use store::Versioned;

/// Days before an expiration from which every scan reads the registration. Not the threshold of a warning, which is a matter
/// of taste: this one decides how often registries are asked.
const NEAR_DAYS: i64 = 30;

/// What a scan observed.
pub(crate) struct Observed {
    pub observation: Observation,
    pub raw: Vec<RawAnswer>,
    /// When our own rate limit allows the registration, if that is all that delayed it.
    pub later: Option<Timestamp>,
}

impl Observed {
    /// True when nothing was asked, so that there is nothing to record.
    pub fn is_empty(&self) -> bool {
        let o = &self.observation;
        o.registration.attempted_at.is_none() && o.delegation.attempted_at.is_none()
    }
}

impl Scanner {
    /// Observes the parts that are due. `asked`: a person waits for it; `interval_s`: of the domain's schedule.
    pub(crate) async fn observe(
        &self,
        name: &DomainName,
        previous: Option<&Versioned>,
        (asked, interval_s): (bool, i64),
        now: Timestamp,
        progress: &dyn Progress,
    ) -> Observed {
        let stored = previous.map(|p| &p.observation);
        let fresh = stored.is_some_and(|o| self.registration_is_fresh(o, asked, now));
        // A scheduled scan follows the last one by half an interval at least. An earlier one is the rest of that scan:
        // the registration, which a rate limit had delayed.
        // So is one that confirms a change of the registration; a change of the DNS needs another look at the DNS.
        let rest =
            !asked && !fresh && stored.is_some_and(|o| dns_is_recent(o, interval_s, now) && !waits(o, false));
        // No rate limit delays longer than this; a later instant was written by a wrong clock.
        let longest = net::budget::LONGEST_QUEUE.as_secs().cast_signed();
        let ahead = |at: &Timestamp| (1..=longest).contains(&(at.as_second() - now.as_second()));
        let turn =
            stored.and_then(|o| o.registration.error.as_ref()?.retry_at).filter(|at| !asked && ahead(at));
        let registration = async {
            if fresh {
                let words = "cached result".to_string();
                progress.done(StageResult { stage: Stage::Registration, ok: true, words, ms: 0 });
                // An untried part keeps what is stored.
                return InTurn::default();
            }
            if turn.is_some() {
                let words = "waiting for the registry's rate limit".to_string();
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
        let (InTurn { mut part, mut raw, later }, mut dns) = futures::join!(registration, dns);
        let delegation =
            Some(&dns.delegation).filter(|d| d.value.is_some()).or(stored.map(|o| &o.delegation));
        let is_delegated = delegation.and_then(|d| d.value.as_ref()).is_some_and(|d| d.delegated);
        if is_delegated {
            self.check_denial(name, &mut part, &mut raw, asked, now).await;
        }
        // Answers of a failed look-up do not replace the good ones that are stored.
        if part.error.is_some() && previous.is_some() {
            raw.clear();
        }
        // A short delay by our own limit is no failure: what is stored stays.
        let soon = part.error.as_ref().and_then(|e| e.retry_at).filter(|at| {
            let good =
                stored.is_some_and(|o| o.registration.value.is_some() && o.registration.error.is_none());
            later && (good || rest) && at.as_second() - now.as_second() <= interval_s / 2
        });
        if soon.is_some() {
            part = Part::default();
        }
        self.unite_servers(name, stored, &mut dns).await;
        let DnsParts { delegation, zone, dnssec, findings } = dns;
        let certificates = match &zone.value {
            Some(zone) if asked || stored.is_none_or(|o| certificates_are_due(o, now)) => {
                self.observer.certificates(name, zone, now, progress).await
            }
            _ => {
                // Nothing is reached by the name any more: what was wrong with its certificates ends.
                let is_gone = delegation.value.as_ref().is_some_and(|d| !d.delegated);
                let was_seen = stored.is_some_and(|o| o.certificates.value.is_some());
                let (words, part) = if is_gone && was_seen {
                    (
                        "not delegated",
                        Part::good(Certificates { hosts: Vec::new() }, now, "authoritative servers"),
                    )
                } else {
                    ("not due", Part::default())
                };
                let words = words.to_string();
                progress.done(StageResult { stage: Stage::Certificates, ok: true, words, ms: 0 });
                part
            }
        };
        let vantage = Vantage::local();
        let observation = Observation {
            name: name.clone(),
            vantage,
            registration: part,
            delegation,
            zone,
            dnssec,
            certificates,
            findings,
            pending: Vec::new(),
            elsewhere: Vec::new(),
            cluster: None,
            clusterset: None,
        };
        Observed { observation, raw, later: soon }
    }

    fn registration_is_fresh(&self, stored: &Observation, asked: bool, now: Timestamp) -> bool {
        let part = &stored.registration;
        let Some(at) = part.observed_at.filter(|_| part.error.is_none()) else { return false };
        let age = now.as_second() - at.as_second();
        // Read in the future, by a clock that was wrong: it would stay fresh for as long.
        if age < 0 || waits(stored, true) {
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
        let near = days_left.is_some_and(|d| d <= NEAR_DAYS);
        age < if near { self.policy.freshness_s } else { self.policy.registration_interval_s }
    }
}

/// True when the DNS was observed less than half an interval ago.
fn dns_is_recent(stored: &Observation, interval_s: i64, now: Timestamp) -> bool {
    let recent = |at: Timestamp| (0..interval_s / 2).contains(&(now.as_second() - at.as_second()));
    stored.delegation.attempted_at.is_some_and(recent)
}

/// Seconds between two scheduled looks at certificates: they last for weeks, and each look is a handshake with each
/// address.
const CERTIFICATES_EVERY_S: i64 = 6 * 3_600;

/// True when certificates were not looked at for a while, or a change of one waits for another look.
fn certificates_are_due(stored: &Observation, now: Timestamp) -> bool {
    let waits = |p: &Pending| p.change.is_some() && part(p.kind) == PartKind::Certificates;
    let recent = |at: Timestamp| (0..CERTIFICATES_EVERY_S).contains(&(now.as_second() - at.as_second()));
    stored.pending.iter().any(waits) || !stored.certificates.attempted_at.is_some_and(recent)
}

/// True when a change of the registration, or of the DNS, waits for another look.
fn waits(stored: &Observation, registration: bool) -> bool {
    let about = |kind| (part(kind) == PartKind::Registration) == registration;
    stored.pending.iter().any(|p| p.change.is_some() && !p.takes_long() && about(p.kind))
}
