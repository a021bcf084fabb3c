//! Changes that are reported at once, of a value that changes too often: servers of a registry, or of a parent zone, that
//! state different things in turn. Reported when it has been the same for a day, with what was reported last. Pure.

use super::confirm::{DAY_S, Pending, REMEMBERED};
use super::event::{Change, EventKind};
use super::rotation::Rotation;
use jiff::Timestamp;

/// The value that a change is about, in one word for either direction; `None` for what is not judged here.
fn value(change: &Change) -> Option<(EventKind, &str)> {
    use EventKind as K;
    let field = change.field.as_str();
    match change.kind {
        K::ExpirationChanged | K::Renewed => Some((K::ExpirationChanged, field)),
        K::StatusAdded | K::StatusRemoved => {
            Some((K::StatusRemoved, change.new.as_deref().or(change.old.as_deref())?))
        }
        K::RegistrarChanged
        | K::CreationChanged
        | K::ModifiedChanged
        | K::NameserversChanged
        | K::DnssecChanged
        | K::ProviderChanged => Some((change.kind, field)),
        _ => None,
    }
}

/// True for what is kept of such a value.
pub(super) fn is_of(pending: &Pending) -> bool {
    use EventKind as K;
    matches!(
        pending.kind,
        K::ExpirationChanged
            | K::StatusRemoved
            | K::RegistrarChanged
            | K::CreationChanged
            | K::ModifiedChanged
            | K::NameserversChanged
            | K::DnssecChanged
            | K::ProviderChanged
    )
}

/// The changes that are reported now, and what is kept of values that changed lately. `was_read`: whether a kind of change
/// could be seen in this look.
pub(super) fn settle(
    known: &[&Pending],
    changes: Vec<Change>,
    was_read: impl Fn(EventKind) -> bool,
    now: Timestamp,
) -> (Vec<Change>, Vec<Pending>) {
    let mut kept: Vec<Pending> = known.iter().map(|p| (*p).clone()).collect();
    let mut reported = Vec::new();
    for change in changes {
        // A renewal that is only now a fact changes no value.
        let Some((kind, field)) = value(&change).filter(|_| change.old != change.new) else {
            reported.push(change);
            continue;
        };
        let i = kept.iter().position(|p| p.kind == kind && p.field == field).unwrap_or_else(|| {
            let rotation = Rotation::default();
            let field = field.to_string();
            kept.push(Pending { kind, field, change: None, since: now, flips: Vec::new(), rotation });
            kept.len() - 1
        });
        let Some(p) = kept.get_mut(i) else { continue };
        p.since = now;
        forget(p, now);
        p.flips.push(now);
        match p.change.take() {
            // Compared with what was reported last: it may be back.
            Some(held) => {
                let change = Change { old: held.old, ..change };
                p.change = (change.old != change.new).then_some(change);
            }
            None if p.is_flapping() => p.change = Some(change),
            None => reported.push(change),
        }
    }
    for p in &mut kept {
        // Of a clock that was wrong: it would wait for as long.
        p.since = p.since.min(now);
        if now.as_second() - p.since.as_second() >= DAY_S && was_read(p.kind) {
            reported.extend(p.change.take());
        }
        if p.change.is_none() {
            forget(p, now);
        }
    }
    kept.retain(|p| p.change.is_some() || !p.flips.is_empty());
    (reported, kept)
}

/// Forgets the changes of more than a day ago; those of a value that waits count until it is reported.
fn forget(p: &mut Pending, now: Timestamp) {
    p.flips.retain(|at| *at <= now && (p.change.is_some() || now.as_second() - at.as_second() < DAY_S));
    let excess = p.flips.len().saturating_sub(REMEMBERED - 1);
    p.flips.drain(..excess);
}
