//! Which event ends what an earlier one reported: a server answers again, a record is what it was, a name was renewed. Who
//! got the alarm gets its end, digests leave out what was over before they were sent, and incidents are resolved. Pure.

use super::event::{Change, Event, EventKind, Severity};
pub use super::hold::kinds_of_subjects;
use super::hold::{is_reversed, subject};
use crate::base::ids::EventId;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What an event ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The earlier events, in order.
    pub of: Vec<EventId>,
    /// True when the state is the one before them: who was told of none of them need not be told of the end.
    pub is_back: bool,
    /// True when nothing that was reported of the same subject still holds.
    pub is_clear: bool,
}

/// An event that ends what a channel was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The event.
    pub event: EventId,
    /// Identity of the channel.
    pub channel: String,
    /// What it ends, of what the channel was sent.
    pub of: Vec<Event>,
}

/// True for a change to a state in which nothing is wrong with its subject, whatever was before.
fn is_good(change: &Change) -> bool {
    use EventKind as K;
    match change.kind {
        K::Renewed | K::ServiceReady | K::ServiceRecovered | K::OwnershipVerified => true,
        K::DelegationHealthChanged => change.severity == Severity::Info,
        // Anything but bogus; a certificate that replaces one near its end is a notice.
        K::DnssecStatusChanged | K::CertificateChanged => change.severity < Severity::Warning,
        _ => false,
    }
}

/// What a change is about, as a key: of two changes of a domain with the same one the later counts.
pub fn subject_words(change: &Change) -> String {
    let (kind, field) = subject(change);
    if field.is_empty() { kind.to_string() } else { format!("{kind}/{field}") }
}

/// What is known of a subject while its events are read in order.
#[derive(Default)]
struct Subject<'a> {
    /// What was reported and still holds.
    open: Vec<&'a Event>,
    /// The last event, where it is an end that was sent nowhere, and what it ended.
    unsent_end: Option<(EventId, Vec<&'a Event>)>,
}

/// The events of a domain that end earlier ones, with what they end. `events` are in any order; `unsent` are those that led to
/// no message.
///
/// An end that was sent nowhere, and that another event of its subject followed, ended nothing for who was sent the beginning:
/// what was open goes on, and what ends it later is its end.
pub fn endings(events: &[Event], unsent: &BTreeSet<EventId>) -> BTreeMap<EventId, Ending> {
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by_key(|e| e.id);
    sorted.dedup_by_key(|e| e.id);
    let mut subjects: BTreeMap<_, Subject<'_>> = BTreeMap::new();
    let mut out = BTreeMap::new();
    for e in sorted {
        let of_subject = subjects.entry(subject(&e.change)).or_default();
        let before = &mut of_subject.open;
        if let Some((end, resumed)) = of_subject.unsent_end.take() {
            out.remove(&end);
            before.extend(resumed);
        }
        let back = before.iter().position(|o| is_reversed(&o.change, &e.change));
        // A server that failed when it was first seen has no state before.
        let is_joined =
            |o: &Event| o.change.old.is_none() && o.change.kind == EventKind::DelegationHealthChanged;
        let (of, is_back): (Vec<_>, bool) = match back {
            Some(at) => (before.split_off(at), true),
            None if is_good(&e.change) => {
                let is_back = before.first().is_some_and(|o| is_joined(o));
                (std::mem::take(before), is_back)
            }
            None => (Vec::new(), false),
        };
        let worst = of.iter().map(|o| o.change.severity).max();
        // What is worse than what was before it is an alarm by itself: a lock that was set and is lost, a name that was
        // registered and is free. So is all that is critical, whatever it reverses.
        let is_end = worst.is_some_and(|w| e.change.severity <= w) && e.change.severity < Severity::Critical;
        if is_end {
            // Events that led to no message need no message of their end; if that is all of them, it is an end all the same.
            let told: Vec<_> = of.iter().map(|o| o.id).filter(|o| !unsent.contains(o)).collect();
            let all = || of.iter().map(|o| o.id).collect();
            let ended = if told.is_empty() { all() } else { told };
            out.insert(e.id, Ending { of: ended, is_back, is_clear: before.is_empty() });
            of_subject.unsent_end = unsent.contains(&e.id).then_some((e.id, of));
        } else if !is_good(&e.change) || e.change.severity > Severity::Info {
            before.push(e);
        }
    }
    out
}

/// Which of `events` end what channels were sent. `history` are the events of the domain, these among them; `sent` are
/// events with the channels that a message about them went or goes to, and `endings` those of the history.
pub fn recoveries(
    events: &[Event],
    history: &[Event],
    endings: &BTreeMap<EventId, Ending>,
    sent: &[(EventId, String)],
) -> Vec<Recovery> {
    let mut out = Vec::new();
    for e in events {
        let Some(ending) = endings.get(&e.id) else { continue };
        let reached = || sent.iter().filter(|(id, _)| ending.of.contains(id));
        for channel in reached().map(|(_, channel)| channel).collect::<BTreeSet<_>>() {
            let is_sent = |h: &&Event| reached().any(|(id, c)| *id == h.id && c == channel);
            let of = history.iter().filter(is_sent).cloned().collect();
            out.push(Recovery { event: e.id, channel: channel.clone(), of });
        }
    }
    out
}

/// Which events of a message are over, and since when: what they reported ended, or they are the end of what is told
/// nowhere else. `history` are the events of the domain, those of the message among them, and `endings` its endings.
pub fn over(
    message: &[EventId],
    history: &[Event],
    endings: &BTreeMap<EventId, Ending>,
) -> BTreeMap<EventId, Timestamp> {
    let mut out = BTreeMap::new();
    for (id, ending) in endings {
        let Some(at) = history.iter().find(|e| e.id == *id).map(|e| e.at) else { continue };
        let ended = ending.of.iter().filter(|e| message.contains(e));
        out.extend(ended.map(|e| (*e, at)));
        if ending.is_back && message.contains(id) && ending.of.iter().all(|e| message.contains(e)) {
            out.insert(*id, at);
        }
    }
    out
}
