//! The next message about events that are still open, planned in the transaction that marks the last one as delivered: so
//! there is one, however many processes deliver and wherever they end.

use super::Notification;
use super::route::{Routed, write};
use crate::api::Result;
use crate::codec::micros;
use crate::db::{Tx, args};
use crate::log::{self, Line};
use jiff::Timestamp;
use model::ids::EventId;
use model::notify::Planned;
use model::scan::Op;

/// Why it waits.
const WAITS: &str = "Sent again unless it is acknowledged or over by then";

/// Plans the messages that repeat rows which were delivered, each under a number that no other message has.
pub(super) async fn put(
    tx: &mut Tx,
    delivered: &[&Notification],
    next: &[(EventId, Planned)],
    now: Timestamp,
) -> Result<()> {
    let planned = |n: &&Notification| next.iter().find(|(id, _)| *id == n.id).map(|(_, p)| p);
    let repeats: Vec<(&Notification, &Planned)> = delivered
        .iter()
        .filter_map(|n| Some((*n, planned(n)?)))
        .filter(|(_, p)| !p.events.is_empty())
        .collect();
    if repeats.is_empty() {
        return Ok(());
    }
    // Positions of the log are the numbers of events, too; these are entries about the first event of each.
    let line = |(n, p): &(&Notification, &Planned)| Line {
        org: n.org,
        kind: log::EVENT,
        name: p.events.first().map(|e| e.0.to_string()),
        op: Op::Update,
    };
    let first = log::append(tx, repeats.iter().map(line).collect(), now).await?;
    for (rv, (n, p)) in (first.0..).zip(repeats) {
        let event = p.events.first().map_or(0, |e| e.0);
        tx.execute("UPDATE events SET rv = $3 WHERE org = $1 AND id = $2", args![n.org.0, event, rv]).await?;
        let row = Routed {
            id: Some(EventId(rv)),
            channel: &n.channel,
            events: &p.events,
            due_at: p.due_at,
            since: p.due_at,
            rules: &p.rules,
            batch: p.batch.then(|| micros(p.due_at)),
            closed: None,
            waits: Some(WAITS),
        };
        write(tx, n, &[row], now).await?;
    }
    Ok(())
}
