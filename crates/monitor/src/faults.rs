//! Recognises faults of the installation itself from what scans of different domains have in common. In: the observation of
//! each scan; out: faults that last, and a gauge for each kind. A fault ends with the first scan that succeeds.

use crate::Scanner;
use crate::clock_check::{ClockCheck, WrongClock};
use crate::reach::Reach;
use jiff::Timestamp;
use model::confirm::{addresses_of, ceased_servers, is_silence};
use model::dns::{Delegation, DnssecStatus};
use model::event::Change;
use model::health::{FaultKind, OwnFault};
use model::observation::{Observation, Part, PartError};
use registration::ServerDate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Different domains that must fail one after the other before the cause is looked for here: one domain alone may be
/// broken.
const DOMAINS: usize = 3;

/// Label of a part that was not judged because the root does not validate.
pub(crate) const ROOT_INVALID: &str = "root_invalid";

/// Label of a part that was not judged because the clock may be wrong.
const CLOCK_WRONG: &str = "clock_wrong";

/// What failed since the last success.
struct Streak {
    since: Timestamp,
    /// Up to [`DOMAINS`].
    domains: BTreeSet<String>,
    sentence: String,
    /// The last failure is one of our network whatever the domain is: one is enough.
    is_ours: bool,
}

/// The faults of this process.
#[derive(Default)]
pub(crate) struct Faults {
    /// By kind, and for registries by TLD.
    streaks: Mutex<BTreeMap<(FaultKind, String), Streak>>,
    clock: Mutex<Clock>,
    reach: Mutex<Reach>,
}

#[derive(Default)]
struct Clock {
    check: ClockCheck,
    /// The fault that is shown.
    fault: Option<OwnFault>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// Takes the clocks of servers into account; `now`: what ours shows.
    pub(crate) fn note_clock(&self, dates: Vec<ServerDate>, now: Timestamp) {
        let mut clock = lock(&self.clock);
        let at = Instant::now();
        clock.check.note(dates, now, at);
        let since = clock.fault.as_ref().map_or(now, |f| f.since);
        let sentence = clock.check.wrong(at).map(|wrong| clock_sentence(&wrong, now));
        clock.fault = sentence.map(|sentence| OwnFault { kind: FaultKind::ClockWrong, since, sentence });
    }

    /// True when nothing should be concluded from the time alone.
    pub(crate) fn is_clock_doubtful(&self) -> bool {
        lock(&self.clock).check.is_doubtful(Instant::now())
    }

    /// The time that servers agree on, when they agree that our clock, which shows `now`, is wrong.
    pub(crate) fn believed(&self, now: Timestamp) -> Timestamp {
        let ahead = lock(&self.clock).check.wrong(Instant::now()).map_or(0, |w| w.ahead_s);
        now.checked_sub(jiff::SignedDuration::from_secs(ahead)).unwrap_or(now)
    }

    /// Takes the servers of a scan into account; `ceased`: those that answered before and are silent now.
    pub(crate) fn note_servers(&self, d: &Delegation, ceased: &[String], interval_s: i64, now: Timestamp) {
        lock(&self.reach).note(d, ceased, interval_s, now);
    }

    /// Until when it is held back that these servers are silent, because a part of the network is out of reach from
    /// here; `None` when it is not.
    pub(crate) fn hold_silence(&self, ceased: &[String], now: Timestamp) -> Option<Timestamp> {
        lock(&self.reach).hold(ceased, now, Instant::now())
    }

    /// Takes over that another process found a part of the network out of reach: since when, and until when that counts.
    pub(crate) fn set_remote_part(&self, remote: Option<(Timestamp, Timestamp)>) {
        lock(&self.reach).remote = remote;
    }

    /// Notes in events about servers whose silence was held back that it was.
    pub(crate) fn note_held(&self, before: &Observation, changes: &mut [Change]) {
        let reach = lock(&self.reach);
        for change in changes.iter_mut().filter(|c| is_silence(c)) {
            let Some(since) = reach.held_since(&addresses_of(before, change)) else { continue };
            let since = since.strftime("%Y-%m-%d %H:%M UTC");
            let before = change.note_sentence().map(|note| note + " ").unwrap_or_default();
            change.note =
                format!("{before}Held back since {since}, when a part of the network was out of reach.");
        }
    }

    /// Takes the observation of a scan into account.
    pub(crate) fn note(&self, o: &Observation, now: Timestamp) {
        let domain = o.name.as_str();
        let tld = domain.rsplit('.').next().unwrap_or_default();
        self.part(FaultKind::NetworkDown, "", domain, &o.delegation, now);
        // Our own rate limit, or the registry's, is no failure of it.
        let registration = &o.registration;
        if registration.error.as_ref().is_none_or(|e| e.retry_at.is_none()) {
            self.part(FaultKind::RegistryDown, tld, domain, registration, now);
        }
        let root = o.dnssec.error.as_ref().is_none_or(|e| e.label == ROOT_INVALID);
        if root {
            self.part(FaultKind::RootInvalid, "", domain, &o.dnssec, now);
        }
        let faults = self.list();
        for kind in FaultKind::ALL {
            let n = u32::try_from(faults.iter().filter(|f| f.kind == kind).count()).unwrap_or(0);
            metrics::gauge!("domainscope_own_faults", "kind" => kind.as_str()).set(f64::from(n));
        }
    }

    fn part<T>(&self, kind: FaultKind, scope: &str, domain: &str, part: &Part<T>, now: Timestamp) {
        // Not tried: it says nothing.
        if part.attempted_at.is_none() {
            return;
        }
        let mut streaks = lock(&self.streaks);
        let key = (kind, scope.to_string());
        let Some(error) = &part.error else {
            streaks.remove(&key);
            return;
        };
        let streak = streaks.entry(key).or_insert_with(|| Streak {
            since: now,
            domains: BTreeSet::new(),
            sentence: String::new(),
            is_ours: false,
        });
        // Where the root was asked and answered it is not. Another failure, of time that ran out, says nothing of it.
        match error.label.as_str() {
            dns::OWN_NETWORK => streak.is_ours = true,
            "unreachable" => streak.is_ours = false,
            _ => {}
        }
        streak.sentence.clone_from(&error.sentence);
        if streak.domains.len() < DOMAINS {
            streak.domains.insert(domain.to_string());
        }
    }

    /// True for the first domains that could not be looked at because our network is down: they are looked at again soon, so
    /// that the fault is seen to end.
    pub(crate) fn shows_network_down(&self, domain: &str) -> bool {
        let streaks = lock(&self.streaks);
        let down = streaks.iter().filter(|((kind, _), s)| *kind == FaultKind::NetworkDown && s.is_ours);
        down.into_iter().any(|(_, s)| s.domains.contains(domain))
    }

    /// The faults that last. A root that does not validate, or of which no server is in reach, is one at once: an
    /// installation may have a single domain.
    pub(crate) fn list(&self) -> Vec<OwnFault> {
        let reach = lock(&self.reach).fault(Instant::now());
        let reach =
            reach.map(|(since, sentence)| OwnFault { kind: FaultKind::PartOfNetworkDown, since, sentence });
        let clock = {
            let clock = lock(&self.clock);
            // It ends when its witnesses are too old, also while no answer comes.
            clock.fault.clone().filter(|_| clock.check.wrong(Instant::now()).is_some())
        };
        self.failing().into_iter().chain(clock).chain(reach).collect()
    }

    fn failing(&self) -> Vec<OwnFault> {
        let streaks = lock(&self.streaks);
        let is_fault = |kind: FaultKind, s: &Streak| {
            kind == FaultKind::RootInvalid
                || kind == FaultKind::NetworkDown && s.is_ours
                || s.domains.len() >= DOMAINS
        };
        let found = streaks.iter().filter(|((kind, _), s)| is_fault(*kind, s));
        found
            .map(|((kind, scope), s)| {
                let stop = if s.sentence.ends_with('.') { "" } else { "." };
                let sentence = match kind {
                    FaultKind::RootInvalid => s.sentence.clone(),
                    FaultKind::NetworkDown => {
                        let several = s.domains.len() >= DOMAINS;
                        let several = if several { " Several domains in a row failed in this way." } else { "" };
                        format!(
                            "{}{stop}{several} Check the network of this machine and that UDP and TCP port 53 are open. \
                             What was known of domains is kept.",
                            s.sentence
                        )
                    }
                    FaultKind::RegistryDown => format!(
                        "The registration of several .{scope} domains in a row could not be read: {}{stop} What was \
                         known of them is kept.",
                        s.sentence
                    ),
                    // These are no streaks of failures.
                    FaultKind::ClockWrong | FaultKind::PartOfNetworkDown => s.sentence.clone(),
                };
                OwnFault { kind: *kind, since: s.since, sentence }
            })
            .collect()
    }
}

/// What our clock shows, what others say, and what to do.
fn clock_sentence(wrong: &WrongClock, now: Timestamp) -> String {
    let shown = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let theirs = now.checked_sub(jiff::SignedDuration::from_secs(wrong.ahead_s)).unwrap_or(now);
    let named = wrong.parties.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = match wrong.parties.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!(
        "This machine shows {}; {named}{more} say {}. Set the clock (check with timedatectl). Until then no reminders are \
         made, and certificates, DNSSEC and ownership claims are not judged.",
        shown(now),
        shown(theirs)
    )
}

impl Scanner {
    /// True while the clock of this machine is known to be wrong, or something speaks against it: nothing may begin, end
    /// or lapse by it.
    pub fn is_clock_doubtful(&self) -> bool {
        self.hub.own_faults().is_clock_doubtful()
    }

    /// Takes what a scan observed into account for the faults of the installation, and leaves out of it what can't be
    /// judged while the clock is not right. `interval_s`: the seconds between two scans of this domain.
    pub(crate) fn note_faults(
        &self,
        before: Option<&Observation>,
        seen: &mut Observation,
        interval_s: i64,
        now: Timestamp,
    ) {
        let faults = self.hub.own_faults();
        faults.note_clock(self.observer.take_server_dates(), self.clock.now());
        if let Some(d) = seen.delegation.value.as_ref().filter(|_| seen.delegation.error.is_none()) {
            let ceased = before.map(|b| ceased_servers(b, seen)).unwrap_or_default();
            faults.note_servers(d, &ceased, interval_s, self.clock.now());
        }
        faults.note(seen, now);
        if faults.is_clock_doubtful() {
            leave_out_what_time_judges(seen);
        }
    }
}

/// Certificates and signatures are good or bad by the clock alone: what was known of them stays.
fn leave_out_what_time_judges(seen: &mut Observation) {
    seen.certificates = Part::default();
    if seen.dnssec.value.as_ref().is_some_and(|d| d.status == DnssecStatus::Bogus) {
        let sentence = "not judged, because the clock of this machine may be wrong".to_string();
        let error = PartError { label: CLOCK_WRONG.into(), sentence, retry_at: None };
        seen.dnssec = Part { attempted_at: seen.dnssec.attempted_at, error: Some(error), ..Part::default() };
    }
    let by_time = |tag: &str| tag == "DNSSEC_BOGUS" || tag.starts_with("SIGNATURES_EXPIRE");
    seen.findings.retain(|f| !by_time(&f.tag) && !f.test_case.eq_ignore_ascii_case("DNSSEC04"));
}
