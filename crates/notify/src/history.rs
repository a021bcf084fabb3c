//! What is known about the events of a domain when they are routed or sent: what came before and after them, and what of it
//! was sent.

use crate::dispatch::Dispatcher;
use crate::settle::CHANGED_AGAIN;
use model::ending::{Ending, endings, kinds_of_subjects, over, subject_words};
use model::event::{Event, EventQuery};
use model::ids::{EventId, OrgId};
use model::inventory::Row;
use model::item::Item;
use model::maintenance::{MUTED_RULE, NO_LONGER};
use model::names::DomainName;
use model::notify::{DeliveryState, MessageStatus};
use model::repeat::replaced;
use std::collections::{BTreeMap, BTreeSet};
use store::LOG;

/// Pages of events of a domain that are read at most to see what still holds, of [`EventQuery::MAX_PER_PAGE`] each.
const PAGES: u32 = 5;

/// What is known about the events of a domain in a message.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Events that are over, and since when.
    pub over: BTreeMap<EventId, jiff::Timestamp>,
    /// Events that end earlier ones of the domain.
    pub endings: BTreeMap<EventId, Ending>,
    /// Events that a later one about the same thing replaced.
    pub replaced: BTreeSet<EventId>,
    /// Ends that wait to be sent although an event that was sent nowhere undid them.
    pub undone: BTreeSet<EventId>,
    /// The domain in the inventory; `None` when it was removed. Read once for each message.
    pub item: Option<(Item, Row)>,
}

/// What is known about the domains of a message.
pub(crate) type KnownOf = BTreeMap<DomainName, Known>;

/// Events that led to no message.
#[derive(Debug, Default)]
pub(crate) struct UnsentEvents {
    /// All of them.
    pub all: BTreeSet<EventId>,
    /// Those among them that still wait to be sent, and should not be.
    pub undone: BTreeSet<EventId>,
}

impl Dispatcher {
    /// What is known about these events of a domain.
    pub(crate) async fn known(
        &self,
        org: OrgId,
        domain: &DomainName,
        events: &[Event],
    ) -> Result<Known, store::Error> {
        let history = self.history(org, domain, events).await?;
        let unsent = self.unsent(org, &history).await?;
        let ids: Vec<_> = events.iter().map(|e| e.id).collect();
        let endings = endings(&history, &unsent.all);
        Ok(Known {
            over: over(&ids, &history, &endings),
            replaced: replaced(&history, &unsent.all),
            endings,
            undone: unsent.undone,
            item: self.store.item(org, domain).await?,
        })
    }

    /// The newest events of a domain about what `events` are about, oldest first, and these among them. It reaches back beyond
    /// the first of them, unless too many followed.
    pub(crate) async fn history(
        &self,
        org: OrgId,
        domain: &DomainName,
        events: &[Event],
    ) -> Result<Vec<Event>, store::Error> {
        let mut history = events.to_vec();
        let Some(first) = events.iter().map(|e| e.id).min() else { return Ok(history) };
        let kinds = kinds_of_subjects(events.iter().map(|e| &e.change));
        for page in 1..=PAGES {
            let per_page = EventQuery::MAX_PER_PAGE;
            let (domain, kinds) = (Some(domain.clone()), kinds.clone());
            let query = EventQuery { domain, kinds, page, per_page, ..EventQuery::default() };
            let read = match self.store.events(org, &query).await {
                Ok(read) => read.events,
                // One that can't be read keeps no message about the others back.
                Err(store::Error::Broken(reason)) => {
                    tracing::warn!(
                        org = org.0,
                        domain = query.domain.as_ref().map(DomainName::as_str),
                        reason,
                        "events can't be read; messages may be about what is over"
                    );
                    break;
                }
                Err(e) => return Err(e),
            };
            let is_last = read.len() < per_page as usize || read.iter().any(|e| e.id < first);
            history.extend(read);
            if is_last {
                break;
            }
        }
        history.sort_by_key(|e| e.id);
        history.dedup_by_key(|e| e.id);
        Ok(history)
    }

    /// The events of a history that led to no message because they were held or their rule was muted. Only subjects with an
    /// end are looked at: elsewhere no alarm is ended wrongly, and most domains have none.
    pub(crate) async fn unsent(&self, org: OrgId, history: &[Event]) -> Result<UnsentEvents, store::Error> {
        let ends = endings(history, &BTreeSet::new());
        let of_ends = history.iter().filter(|e| ends.contains_key(&e.id));
        let subjects: BTreeSet<String> = of_ends.map(|e| subject_words(&e.change)).collect();
        if subjects.is_empty() {
            return Ok(UnsentEvents::default());
        }
        let about = history.iter().filter(|e| subjects.contains(&subject_words(&e.change)));
        let ids: Vec<_> = about.map(|e| e.id).collect();
        Ok(unsent_of(history, &self.store.message_statuses(org, &ids).await?))
    }
}

/// What came of an event in the messages about it.
#[derive(Default, Clone, Copy)]
struct Sending {
    /// It was held, or closed for that.
    is_held: bool,
    /// A message about it waits.
    waits: bool,
    /// Anything else.
    is_sent: bool,
}

/// Which events of a history led to no message, by the messages about them.
fn unsent_of(history: &[Event], messages: &[MessageStatus]) -> UnsentEvents {
    let mut sendings: BTreeMap<EventId, Sending> = BTreeMap::new();
    for m in messages {
        for e in &m.events {
            let of_event = sendings.entry(*e).or_default();
            match &m.state {
                DeliveryState::Waiting { .. } if m.channel == LOG => of_event.is_held = true,
                DeliveryState::Waiting { .. } => of_event.waits = true,
                DeliveryState::Skipped { reason, .. }
                    if [NO_LONGER, MUTED_RULE, CHANGED_AGAIN].contains(&reason.as_str()) =>
                {
                    of_event.is_held = true;
                }
                _ => of_event.is_sent = true,
            }
        }
    }
    let state = |e: &Event| sendings.get(&e.id).copied().unwrap_or_default();
    let held = history.iter().filter(|e| state(e).is_held && !state(e).waits && !state(e).is_sent);
    let mut all: BTreeSet<EventId> = held.map(|e| e.id).collect();
    // An end that waits, while the newest event of its subject led to no message: it would say what is not so.
    let newest: BTreeMap<String, EventId> =
        history.iter().map(|e| (subject_words(&e.change), e.id)).collect();
    let ends = endings(history, &all);
    let is_undone = |e: &&Event| {
        let last = newest.get(&subject_words(&e.change)).filter(|last| **last > e.id);
        let waits = state(e).waits && !state(e).is_sent;
        waits && ends.contains_key(&e.id) && last.is_some_and(|last| all.contains(last))
    };
    let undone: BTreeSet<EventId> = history.iter().filter(is_undone).map(|e| e.id).collect();
    all.extend(&undone);
    UnsentEvents { all, undone }
}
