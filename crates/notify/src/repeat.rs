//! Messages that are sent again while what they are about is open: what is left of each when its time has come, and when the
//! next one is due.

use crate::dispatch::{Dispatcher, OrgSettings};
use crate::history::{Known, KnownOf};
use jiff::Timestamp;
use model::event::Event;
use model::ids::EventId;
use model::maintenance::kept_until;
use model::notify::{Planned, Rule};
use model::repeat;
use store::Notification;

/// Why a repeat is not sent.
const IS_OVER: &str = "Not sent again: it is over, or a later event replaced it";
const NO_RULE: &str = "Not sent again: no rule asks for it";
const REMOVED: &str = "Not sent again: the domain was removed";

impl Known {
    /// True for an event that is worth sending again: it still is as it says, and it is not the end of anything.
    fn is_open(&self, e: &Event) -> bool {
        let is_end = self.endings.get(&e.id).is_some_and(|ending| ending.is_clear);
        !is_end && !self.over.contains_key(&e.id) && !self.replaced.contains(&e.id)
    }
}

impl Dispatcher {
    /// The rows but for repeats that are not sent: closed with the reason, or postponed to the end of a mute or a window.
    pub(crate) async fn without_settled_repeats(
        &self,
        group: Vec<Notification>,
        settings: &OrgSettings,
        known: &KnownOf,
    ) -> Result<Vec<Notification>, store::Error> {
        let now = (self.now)();
        let mut out = Vec::with_capacity(group.len());
        for mut n in group {
            if !n.is_repeat {
                out.push(n);
                continue;
            }
            let row = std::slice::from_ref(&n);
            let known = known.get(&n.domain);
            let Some((item, _)) = known.and_then(|k| k.item.as_ref()) else {
                self.store.notification_skipped(row, REMOVED, now).await?;
                continue;
            };
            let open: Vec<Event> =
                n.events.iter().filter(|e| known.is_none_or(|k| k.is_open(e))).cloned().collect();
            let asks = |rule: &Rule| {
                !repeat::next(std::slice::from_ref(rule), item, &n.channel, &open, now).is_empty()
            };
            let (asking, muted): (Vec<_>, Vec<_>) =
                settings.rules.iter().filter(|r| asks(r)).partition(|r| !r.is_muted(now));
            // Where every rule that asks is muted, it waits for the first to be heard again.
            let until = muted.iter().filter(|_| asking.is_empty()).filter_map(|r| r.muted_until).min();
            let waits = until.map(|until| (until, "The rule is muted"));
            if let Some((until, why)) = kept_until(&settings.windows, item, now).or(waits) {
                self.store.postpone_repeats(row, why, until).await?;
                continue;
            }
            if open.is_empty() || asking.is_empty() {
                let why = if open.is_empty() { IS_OVER } else { NO_RULE };
                self.store.notification_skipped(row, why, now).await?;
                continue;
            }
            n.events = open;
            out.push(n);
        }
        Ok(out)
    }
}

/// The messages that repeat rows which were sent now, by row. It reads nothing: between sending and saying so a deliverer
/// should neither fail nor take long.
pub(crate) fn next_repeats(
    group: &[Notification],
    settings: &OrgSettings,
    known: &KnownOf,
    now: Timestamp,
) -> Vec<(EventId, Planned)> {
    let mut out = Vec::new();
    for n in group {
        let Some(known) = known.get(&n.domain) else { continue };
        let Some((item, _)) = &known.item else { continue };
        let open: Vec<Event> = n.events.iter().filter(|e| known.is_open(e)).cloned().collect();
        for mut next in repeat::next(&settings.rules, item, &n.channel, &open, now) {
            // What came together stays together.
            next.batch |= n.batch.is_some();
            out.push((n.id, next));
        }
    }
    out
}
