//! Whether what a registry states now is believed: an answer that alarms waits for a second look, and one that only goes back to
//! values known before, too often, for a day: the registry alternates between answers. A value that was never
//! there before is not held for that. In: the changes that the answer makes. Out: those to report, those to hold, and what is
//! remembered. An answer is believed or held as a whole: its values belong together.

use super::confirm::{DAY_S, Pending};
use super::diff::PARENT;
use super::event::{Change, EventKind, Severity};
use super::rotation::{Rotation, digest_of};
use crate::base::time::{StatedTime, plus};
use jiff::Timestamp;

/// Seconds after which an answer that goes to and fro is believed all the same: no change is hidden for longer.
const LONGEST_S: i64 = 7 * DAY_S;
/// What the field of name servers and DS records that the registry states ends with, beside those of the parent zone.
const AT_REGISTRY: &str = " (registry)";

/// What an answer comes to.
pub(super) struct Answer {
    /// To be reported.
    pub changes: Vec<Change>,
    /// Not believed yet.
    pub held: Vec<Change>,
    /// What is remembered of the values.
    pub pending: Vec<Pending>,
}

/// True for changes that the registration states, other than that it begins or ends.
pub(super) fn is_stated(change: &Change) -> bool {
    use EventKind as K;
    match change.kind {
        K::NameserversChanged | K::DnssecChanged => change.source != PARENT,
        kind => is_of_registration(kind) || matches!(kind, K::Renewed | K::StatusAdded),
    }
}

fn is_of_registration(kind: EventKind) -> bool {
    use EventKind as K;
    matches!(
        kind,
        K::CreationChanged
            | K::RegistrarChanged
            | K::ExpirationChanged
            | K::ModifiedChanged
            | K::StatusRemoved
    )
}

/// True for what is remembered of such a value.
pub(super) fn is_of(p: &Pending) -> bool {
    is_of_registration(p.kind) || p.field.ends_with(AT_REGISTRY)
}

/// The value that a change is about, the same for either direction.
fn key(change: &Change) -> (EventKind, String) {
    use EventKind as K;
    match change.kind {
        K::Renewed => (K::ExpirationChanged, change.field.clone()),
        K::StatusAdded | K::StatusRemoved => {
            let flag = change.new.as_ref().or(change.old.as_ref()).unwrap_or(&change.field);
            (K::StatusRemoved, flag.clone())
        }
        kind @ (K::NameserversChanged | K::DnssecChanged) => (kind, change.field.clone() + AT_REGISTRY),
        kind => (kind, change.field.clone()),
    }
}

/// A digest of a value. Of a time the date: sources state the same one with and without the hour.
fn digest(value: Option<&String>) -> String {
    let Some(value) = value else { return String::new() };
    let text = value.parse::<StatedTime>().map_or_else(|_| value.to_lowercase(), |t| t.date().to_string());
    digest_of([text.as_str()])
}

/// A value of the registration: what is remembered of it, and how it changes now.
struct Value {
    known: Pending,
    seen: Option<Change>,
}

impl Value {
    /// The change, unless it is of what an unchanged value means by now.
    fn change(&self) -> Option<&Change> {
        self.seen.as_ref().filter(|c| c.kind != EventKind::Renewed || c.old != c.new)
    }

    /// True when it goes back to what it was before, too often, and has not been so for a day.
    fn returns_too_often(&self, change: &Change, now: Timestamp) -> bool {
        let mut rotation = self.known.rotation.clone();
        rotation.see(digest(change.new.as_ref()), now, now);
        let is_overdue = rotation.held_since.is_some_and(|at| plus(at, LONGEST_S) <= now);
        rotation.sets().is_some() && !rotation.has_lasted(DAY_S, now) && !is_overdue
    }

    /// When an earlier look saw the same value, which waits since.
    fn first_seen(&self, change: &Change) -> Option<Timestamp> {
        self.known.change.as_ref().filter(|c| c.new == change.new).map(|_| self.known.since)
    }

    /// True for what alarms and was not seen by a second look.
    fn is_unconfirmed(&self, change: &Change, confirm_s: i64, now: Timestamp) -> bool {
        let since = self.first_seen(change);
        let is_seen_twice = since.is_some_and(|since| plus(since, confirm_s) <= now);
        // Other than the reported value for a day, though never the same.
        let is_overdue = self.known.flips.first().is_some_and(|at| plus(*at, DAY_S) <= now);
        change.severity == Severity::Critical && !is_seen_twice && !is_overdue
    }

    /// Notes that the value waits as it is.
    fn wait(&mut self, now: Timestamp) {
        let change = self.change().cloned();
        if self.known.change.as_ref().map(|c| &c.new) != change.as_ref().map(|c| &c.new) {
            self.known.since = now;
        }
        self.known.change = change;
        if self.known.flips.is_empty() {
            self.known.flips.push(now);
        }
    }

    /// Remembers that the value is the reported one again.
    fn mark_unchanged(&mut self, now: Timestamp) {
        self.known.flips.clear();
        let rotation = &mut self.known.rotation;
        match self.known.change.take() {
            Some(held) if !rotation.is_empty() => rotation.see(digest(held.old.as_ref()), now, now),
            _ => rotation.touch(now),
        }
        if rotation.has_settled(now) {
            *rotation = Rotation::default();
        }
    }
}

/// Judges an answer by the changes that it makes. `was_read`: whether there is one now.
pub(super) fn judge(
    known: &[&Pending],
    stated: Vec<Change>,
    was_read: bool,
    confirm_s: i64,
    now: Timestamp,
) -> Answer {
    if !was_read {
        let pending = known.iter().map(|p| (*p).clone()).collect();
        return Answer { changes: stated, held: Vec::new(), pending };
    }
    let mut values: Vec<Value> = known
        .iter()
        .map(|p| {
            // Of a clock that was wrong: it would wait for as long.
            let known = Pending { since: p.since.min(now), ..(*p).clone() };
            Value { known, seen: None }
        })
        .collect();
    for change in &stated {
        let (kind, field) = key(change);
        let seen = Some(change.clone());
        if let Some(value) = values.iter_mut().find(|v| v.known.kind == kind && v.known.field == field) {
            value.seen = seen;
            continue;
        }
        let (flips, rotation) = (Vec::new(), Rotation::default());
        values
            .push(Value { known: Pending { kind, field, change: None, since: now, flips, rotation }, seen });
    }
    let changing = || values.iter().filter_map(|v| v.change().map(|c| (v, c)));
    let returns = changing().next().is_some() && changing().all(|(v, c)| v.returns_too_often(c, now));
    let waits = changing().any(|(v, c)| v.is_unconfirmed(c, confirm_s, now));
    let first_seen: Vec<_> =
        changing().filter_map(|(v, c)| Some((key(c), v.first_seen(c).filter(|at| *at < now)?))).collect();
    for value in &mut values {
        let Some(change) = value.change().cloned() else {
            value.mark_unchanged(now);
            continue;
        };
        let (old, new) = (digest(change.old.as_ref()), digest(change.new.as_ref()));
        if returns {
            value.wait(now);
            value.known.rotation.see(new, now, now);
            value.known.rotation.held_since.get_or_insert(now);
        } else if waits {
            value.known.rotation.compare(&new);
            if change.severity == Severity::Critical {
                value.wait(now);
            } else {
                value.known.change = None;
                value.known.flips.clear();
            }
        } else {
            let rotation = &mut value.known.rotation;
            if rotation.is_empty() {
                rotation.see(old, now, now);
            }
            rotation.see(new.clone(), now, now);
            rotation.compare(&new);
            rotation.held_since = None;
            value.known.flips.clear();
            (value.known.change, value.known.since) = (None, now);
        }
    }
    let pending = values.into_iter().map(|v| v.known);
    let pending = pending.filter(|p| p.change.is_some() || !p.rotation.is_empty()).collect();
    if returns || waits {
        Answer { changes: Vec::new(), held: stated, pending }
    } else {
        let seen = |c: &Change| first_seen.iter().find(|(k, _)| *k == key(c)).map(|(_, at)| *at);
        let changes = stated.into_iter().map(|c| Change { first_seen_at: seen(&c), ..c }).collect();
        Answer { changes, held: Vec::new(), pending }
    }
}
