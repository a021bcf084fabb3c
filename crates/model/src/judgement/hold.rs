//! Messages about a muted holding, or about one under maintenance, wait. When the wait ends, what still holds is sent, and
//! what was superseded or reversed meanwhile is not. Pure.

use super::event::{Change, Event, EventKind};
use crate::base::ids::EventId;
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Events about which nothing is sent before an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The events, in order.
    pub events: Vec<EventId>,
    /// When they are looked at again.
    pub until: Timestamp,
    /// Why, in a few words.
    pub reason: String,
}

/// Events about which nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The events, in order.
    pub events: Vec<EventId>,
    /// Why, in a sentence.
    pub reason: String,
}

/// What changes of a kind are about.
fn family(kind: EventKind) -> &'static str {
    use EventKind as K;
    match kind {
        K::ExpirationChanged | K::Renewed | K::ExpiresSoon | K::Expired => "expiration",
        K::Registered | K::Released | K::CreationChanged => "registration",
        K::StatusAdded | K::StatusRemoved => "status",
        K::CertificateChanged | K::CertificateEnds => "certificate",
        K::ServiceReady | K::ServiceDrifted | K::ServiceRecovered => "service",
        kind if kind.is_about_ownership() => "ownership",
        kind => kind.as_str(),
    }
}

/// The kinds of changes that may have the same subject as one of these.
pub fn kinds_of_subjects<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<EventKind> {
    let families: BTreeSet<_> = changes.into_iter().map(|c| family(c.kind)).collect();
    EventKind::ALL.into_iter().filter(|k| families.contains(family(*k))).collect()
}

/// What a change is about: of two changes with the same subject the later one counts.
pub(super) fn subject(change: &Change) -> (&'static str, &str) {
    use EventKind as K;
    let field = change.field.as_str();
    let what = match change.kind {
        // The date that the registrar states differs from the registry's: the change of one says nothing of the other.
        K::ExpirationChanged if field != "expires" => field,
        K::ExpirationChanged
        | K::Renewed
        | K::ExpiresSoon
        | K::Expired
        | K::Registered
        | K::Released
        | K::CreationChanged => "",
        K::StatusAdded | K::StatusRemoved => {
            change.new.as_deref().or(change.old.as_deref()).unwrap_or_default()
        }
        _ => field,
    };
    (family(change.kind), what)
}

/// True when the last change of a subject leaves it as it was before the first.
pub(super) fn is_reversed(first: &Change, last: &Change) -> bool {
    use EventKind as K;
    match (first.kind, last.kind) {
        (K::ServiceDrifted, K::ServiceRecovered) | (K::OwnershipAtRisk, K::OwnershipVerified) => true,
        (K::Registered, K::Released) => true,
        // A name that was lost and registered is another registration, whoever holds it: both are told.
        (K::Released, K::Registered) => false,
        // Reminders state a date and change nothing.
        (K::ExpiresSoon | K::Expired | K::CertificateEnds, _) => false,
        (_, K::ExpiresSoon | K::Expired | K::CertificateEnds) => false,
        (a, b) if a.is_about_ownership() || b.is_about_ownership() => false,
        (K::ServiceReady | K::ServiceDrifted | K::ServiceRecovered, _) => false,
        _ => first.old == last.new,
    }
}

/// Divides events that were held into those that still hold, and those that don't. `later` are events of the domain that
/// followed.
pub fn still_holding(held: &[Event], later: &[Event]) -> (Vec<Event>, Vec<EventId>) {
    let (mut holding, mut over) = (Vec::new(), Vec::new());
    for (i, e) in held.iter().enumerate() {
        let of_subject = |o: &&Event| subject(&o.change) == subject(&e.change);
        let is_superseded = held.iter().chain(later).filter(of_subject).any(|o| o.id > e.id);
        let first = held[..=i].iter().find(of_subject);
        let is_back = first.is_some_and(|f| f.id != e.id && is_reversed(&f.change, &e.change));
        if is_superseded || is_back {
            over.push(e.id);
        } else {
            holding.push(e.clone());
        }
    }
    (holding, over)
}
