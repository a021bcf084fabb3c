//! Confirmation before alarm: what would alarm someone is held back until a later look sees it again, and what changes
//! to and fro is recognised as such. Pure: `(previous, current, now)` in; what to store, and the changes to report, out.
//!
//! A held change leaves its stored value as it was, so the next look compares with the last reported state: a change that
//! went away by itself was never there. One rule covers rotating answers, primaries that disagree and servers that flap:
//! a value that changed more than [`FLIPS`] times in a day is reported only when it has been the same for a day. A record
//! that comes back to sets it had before is a [`Rotation`], and reported only when it has been the same for a week.

pub use super::first_look::baseline;
pub use super::silence::{
    AnswersElsewhere, addresses_of, ceased_servers, is_silence, keep_answering, silent_servers,
};

use super::diff::diff;
use super::event::{Change, EventKind};
use super::first_look::{first_failures, is_mended};
use super::latency::OURS;
use super::outage;
use super::put_back::{names_in_one_set, put_back};
use super::registration_hold::{self, is_stated};
use super::rotation::{self, Rotation};
use super::server_health::is_unlisted;
use crate::base::time::plus;
use crate::dns::{NOT_RESOLVED, ServerHealth};
use crate::finding::Finding;
use crate::observation::{Observation, Part, PartKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Seconds a change must last unless configured otherwise: short outages have passed by then.
pub const CONFIRM_S: i64 = 5 * 60;
/// Changes of one value within a day that are still reported one by one.
const FLIPS: usize = 3;
/// Seconds of a day.
pub(super) const DAY_S: i64 = 86_400;
/// Seconds that a domain must be unreachable, or reachable again, to be reported so though its servers change too often.
const OUTAGE_S: i64 = 3_600;
/// Instants that are remembered of one value.
const REMEMBERED: usize = 8;

/// The note of a name that its registry denies and its zone delegates.
const STILL_DELEGATED: &str = "The parent zone still delegates it";

/// A value that waits for its confirmation, or changed lately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What it is about.
    pub kind: EventKind,
    /// The field.
    pub field: String,
    /// The change that waits; `None` when the value is as it was reported.
    pub change: Option<Change>,
    /// Since when it is as it is now.
    pub since: Timestamp,
    /// When it changed within the last day, oldest first.
    pub flips: Vec<Timestamp>,
    /// The sets that a record had lately.
    #[serde(default, skip_serializing_if = "Rotation::is_empty")]
    pub rotation: Rotation,
}

impl Pending {
    /// True when it changes too often to be reported one by one.
    pub fn is_flapping(&self) -> bool {
        self.flips.len() > FLIPS
    }

    /// True for a failure that only the first look saw: a second look has not confirmed it.
    pub(super) fn is_first_failure(&self) -> bool {
        self.change.is_none() && self.flips.is_empty() && self.rotation.is_empty()
    }

    pub(super) fn is_about(&self, change: &Change) -> bool {
        (self.kind, self.field.as_str()) == key(change)
    }

    /// True when a second look soon will not be enough to report it.
    pub fn takes_long(&self) -> bool {
        self.waits_a_day() || (self.rotation.sets().is_some() && !self.rotation.has_new_set())
    }

    /// True when it must stay for a day. A set that a rotation never had is no part of what flaps.
    fn waits_a_day(&self) -> bool {
        self.is_flapping() && !self.rotation.has_unknown_set()
    }

    /// When it is confirmed if it stays as it is; changes that last `confirm_s` seconds are.
    /// Rotating records wait longer.
    pub fn confirmed_at(&self, confirm_s: i64) -> Timestamp {
        let seconds = if self.waits_a_day() { DAY_S } else { confirm_s };
        plus(self.since, seconds)
    }
}

/// What a look comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmed {
    /// What is stored: the current state, with held values as they were.
    pub observation: Observation,
    /// The changes that are reported.
    pub changes: Vec<Change>,
    /// When to look again, because something waits.
    pub look_again_at: Option<Timestamp>,
}

/// The part of an observation a kind of change is read from.
pub fn part(kind: EventKind) -> PartKind {
    match kind {
        EventKind::RecordChanged => PartKind::Zone,
        EventKind::DnssecStatusChanged => PartKind::Dnssec,
        EventKind::CertificateChanged | EventKind::CertificateEnds => PartKind::Certificates,
        // Of name servers and DS records what the parent zone says waits as such; see `registration_hold`.
        EventKind::DelegationHealthChanged
        | EventKind::ProviderChanged
        | EventKind::NameserversChanged
        | EventKind::DnssecChanged => PartKind::Delegation,
        _ => PartKind::Registration,
    }
}

fn key(change: &Change) -> (EventKind, &str) {
    (change.kind, &change.field)
}

/// True for changes that wait for a second look, beside those that the registration states.
fn waits(change: &Change) -> bool {
    matches!(
        change.kind,
        EventKind::Registered
            | EventKind::Released
            | EventKind::NameserversChanged
            | EventKind::DnssecChanged
            | EventKind::ProviderChanged
            | EventKind::DnssecStatusChanged
            | EventKind::DelegationHealthChanged
            | EventKind::RecordChanged
            | EventKind::CertificateChanged
    )
}

fn was_read<T>(part: &Part<T>, now_attempted: Option<Timestamp>) -> bool {
    part.error.is_none() && part.attempted_at.is_some() && part.attempted_at == now_attempted
}

/// Compares two states, holds back what is not confirmed yet, and remembers what changes often. `attempted` says when
/// each part was tried in this look, so that one that was not looked at confirms and refutes nothing.
pub fn confirm(
    previous: &Observation,
    current: Observation,
    attempted: impl Fn(PartKind) -> Option<Timestamp>,
    confirm_s: i64,
    now: Timestamp,
) -> Confirmed {
    confirm_all(previous, current, attempted, confirm_s, now, false)
}

/// The same while a part of the network is out of reach from here: that servers are silent waits until it is not, and what
/// the checks that count on every server found stays as it was. The registration is judged as ever.
pub fn confirm_but_silence(
    previous: &Observation,
    current: Observation,
    attempted: impl Fn(PartKind) -> Option<Timestamp>,
    confirm_s: i64,
    now: Timestamp,
) -> Confirmed {
    confirm_all(previous, current, attempted, confirm_s, now, true)
}

fn confirm_all(
    previous: &Observation,
    mut current: Observation,
    attempted: impl Fn(PartKind) -> Option<Timestamp>,
    confirm_s: i64,
    now: Timestamp,
    silence_waits: bool,
) -> Confirmed {
    let read = |part: PartKind, o: &Observation| match part {
        PartKind::Registration => was_read(&o.registration, attempted(part)),
        PartKind::Delegation => was_read(&o.delegation, attempted(part)),
        PartKind::Zone => was_read(&o.zone, attempted(part)),
        PartKind::Dnssec => was_read(&o.dnssec, attempted(part)),
        PartKind::Certificates => was_read(&o.certificates, attempted(part)),
    };
    let (first, known): (Vec<&Pending>, Vec<&Pending>) =
        previous.pending.iter().partition(|p| p.is_first_failure());
    // Seen in the first look and never again.
    let is_accident = |c: &Change| is_mended(c) && first.iter().any(|p| p.is_about(c));
    let (of_answer, known): (Vec<&Pending>, Vec<&Pending>) =
        known.into_iter().partition(|p| registration_hold::is_of(p));
    let (stated, seen): (Vec<Change>, Vec<Change>) =
        diff(previous, &current).into_iter().filter(|c| !is_accident(c)).partition(is_stated);
    let was_read = read(PartKind::Registration, &current);
    let answer = registration_hold::judge(&of_answer, stated, was_read, confirm_s, now);
    // The provider moves with the name servers.
    let is_moved = answer.changes.iter().any(|c| c.kind == EventKind::NameserversChanged);
    let (waiting, mut changes): (Vec<Change>, Vec<Change>) =
        seen.into_iter().partition(|c| waits(c) && !(is_moved && c.kind == EventKind::ProviderChanged));
    changes.extend(answer.changes);
    let outage = outage::begins(previous, &current);
    let outage_ends = outage::ends(previous, &current);
    // Its registry denies a name that the zone of the registry delegates: one of them is out of date.
    let is_delegated = current.delegation.value.as_ref().is_some_and(|d| d.delegated);
    let is_doubtful = |c: &Change| c.kind == EventKind::Released && is_delegated;
    // An outage, its end and the removal of a server are not held for a day, however often the servers changed.
    let waits_an_hour = |c: &Change| {
        let begins = outage.is_some_and(|words| outage::is_part(c, words));
        begins || outage_ends && outage::is_end(c) || is_unlisted(c)
    };
    let due = |p: &Pending, change: &Change| match p.waits_a_day() {
        true if waits_an_hour(change) => plus(p.since, OUTAGE_S),
        false if is_doubtful(change) => plus(p.since, DAY_S),
        _ => p.confirmed_at(confirm_s),
    };
    let unanswered = |p: &Pending| {
        let zone = current.zone.value.as_ref();
        p.kind == EventKind::RecordChanged
            && zone.is_some_and(|z| z.unanswered.iter().any(|u| u.eq_ignore_ascii_case(&p.field)))
    };
    let mut pending = Vec::new();
    // Not looked at now: neither confirmed nor refuted.
    let mut untouched: Vec<Pending> =
        first.iter().filter(|p| !read(part(p.kind), &current)).map(|p| (*p).clone()).collect();
    untouched.extend(first_failures(previous, &current, now));
    let mut held = Vec::new();
    for old in &known {
        let seen = waiting.iter().find(|c| old.is_about(c));
        if seen.is_none() && (unanswered(old) || !read(part(old.kind), &current)) {
            untouched.push((*old).clone());
            continue;
        }
        let new = seen.map(|c| &c.new);
        let mut p = (*old).clone();
        // Of a clock that was wrong: it would wait for as long.
        p.since = p.since.min(now);
        p.flips.retain(|at| *at <= now);
        if new != old.change.as_ref().map(|c| &c.new) {
            p.flips.push(now);
            p.since = now;
        }
        p.change = seen.cloned();
        pending.push(p);
    }
    for change in &waiting {
        if !known.iter().any(|p| p.is_about(change)) {
            let (kind, field) = key(change);
            let (field, change, rotation) = (field.to_string(), Some(change.clone()), Rotation::default());
            pending.push(Pending { kind, field, change, since: now, flips: vec![now], rotation });
        }
    }
    for p in &mut pending {
        p.flips.retain(|at| now.as_second() - at.as_second() < DAY_S);
        let excess = p.flips.len().saturating_sub(REMEMBERED);
        p.flips.drain(..excess);
        see_set(p, previous, &current, confirm_s, now);
    }
    // While the set of name servers is held, so is the health of those that only one of the two sets has: what is stored
    // would forget that it was reported.
    let is_set = |c: &Change| c.kind == EventKind::NameserversChanged;
    let is_set_held = answer.held.iter().any(is_set)
        || pending.iter().any(|p| p.change.as_ref().is_some_and(|c| is_set(c) && due(p, c) > now));
    let in_one_set = if is_set_held { names_in_one_set(previous, &current) } else { BTreeSet::new() };
    let waits_for_set = |c: &Change| {
        let name = c.field.split(' ').next().unwrap_or_default();
        c.kind == EventKind::DelegationHealthChanged && in_one_set.contains(name)
    };
    for p in &mut pending {
        let settled = p.rotation.has_settled(now);
        if let Some(change) = &p.change {
            let rotates = p.rotation.sets().is_some() && !settled;
            let waits = silence_waits && is_silence(change) || waits_for_set(change);
            if due(p, change) <= now && !rotates && !waits {
                let note = if is_doubtful(change) { STILL_DELEGATED } else { &change.note };
                let first_seen_at = Some(p.since).filter(|at| *at < now);
                changes.push(Change { note: note.to_string(), first_seen_at, ..change.clone() });
                p.change = None;
            } else {
                held.push(change.clone());
            }
        }
        if settled && p.change.is_none() {
            p.rotation = Rotation::default();
        }
    }
    pending.retain(|p| p.change.is_some() || !p.flips.is_empty() || !p.rotation.is_empty());
    pending.extend(answer.pending);
    pending.extend(untouched);
    held.extend(answer.held);
    for change in &held {
        put_back(previous, &mut current, change);
    }
    outage::mark(previous, &current, &mut changes);
    changes.sort_by_key(|c| std::cmp::Reverse(c.severity));
    let soon = pending
        .iter()
        .filter_map(|p| p.change.as_ref().map(|c| (p, c)))
        .filter(|(p, c)| !p.takes_long() || p.waits_a_day() && waits_an_hour(c))
        .filter(|(_, c)| !(is_doubtful(c) || silence_waits && is_silence(c) || waits_for_set(c)))
        .map(|(p, c)| due(p, c))
        // What could not be looked at when its time came waits as long again, not for the next moment.
        .map(|at| if at > now { at } else { plus(now, confirm_s) })
        .min();
    current.pending = pending;
    // What the checks that count on every server found stays as it was until the loss of one is confirmed.
    let is_held = |p: &Pending| {
        let no_address = [ServerHealth::Unresolvable.label(), NOT_RESOLVED];
        let is_lost = |c: &Change| c.new.as_deref().is_some_and(|new| no_address.contains(&new));
        p.change.as_ref().is_some_and(|c| silence_waits && is_silence(c) || is_lost(c) && !p.takes_long())
    };
    let is_moving = held.iter().any(|c| c.kind == EventKind::NameserversChanged);
    if is_moving || current.pending.iter().any(is_held) {
        // Checks of our own judge the answers that came: the chain of trust, record sets, speed.
        let by_answers = |f: &Finding| f.test_case == OURS;
        current.findings.retain(by_answers);
        current.findings.extend(previous.findings.iter().filter(|f| !by_answers(f)).cloned());
    }
    Confirmed { observation: current, changes, look_again_at: soon }
}

/// Remembers the set that a record has, once it lasted for a second look; that which was reported is the first one.
fn see_set(p: &mut Pending, previous: &Observation, current: &Observation, confirm_s: i64, now: Timestamp) {
    let begins = p.rotation.is_empty();
    if p.kind != EventKind::RecordChanged || (begins && p.change.is_none()) {
        return;
    }
    let Some(set) = rotation::digest(current, &p.field) else { return };
    p.rotation.compare(&set);
    if plus(p.since, confirm_s) > now {
        return;
    }
    if begins && let Some(reported) = rotation::digest(previous, &p.field) {
        p.rotation.see(reported, p.since, now);
    }
    p.rotation.see(set, p.since, now);
}
