//! The next message about events that are still open, planned in the transaction that marks the last one as delivered: so
//! there is one, however many processes deliver and wherever they end.

use super::route::{Routed, write};
use super::{Notification, WORDS};
use crate::api::Result;
use crate::codec::micros;
use crate::db::{Db, Tx, args};
use crate::log::{self, Line};
use jiff::Timestamp;
use model::ids::EventId;
use model::notify::Planned;
use model::scan::Op;

/// Why it waits. Only repeats have it.
pub(super) const WAITS: &str = "Sent again unless it is acknowledged or over by then";

/// Plans the messages that repeat rows which were delivered, each under a number that no other message has.
pub(super) async fn put(
    tx: &mut Tx,
    delivered: &[&Notification],
    next: &[(EventId, Planned)],
    now: Timestamp,
) -> Result<()> {
    let planned = |n: &Notification| {
        let id = n.id;
        next.iter().filter(move |(of, p)| *of == id && !p.events.is_empty()).map(|(_, p)| p)
    };
    let repeats: Vec<(&Notification, &Planned)> =
        delivered.iter().flat_map(|n| planned(n).map(|p| (*n, p))).collect();
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

/// Has repeats whose lease holds wait until an instant, as if they were not attempted yet.
///
/// One that was in a digest leaves it: the rest goes on under the identity of the digest, which receivers drop when they see
/// it again. What waits for the same instant is another digest. The row that the digest is named after is sent by itself,
/// because a digest that it is the first of would have the same name.
pub(crate) async fn postpone(db: &Db, rows: &[Notification], reason: &str, until: Timestamp) -> Result<()> {
    let sql = "UPDATE outbox SET due_at = $4, at = $4, last_error = $5, attempts = 0, \
               batch = CASE WHEN batch IS NULL OR batch = -id THEN NULL ELSE $4 END \
               WHERE id = $1 AND channel = $2 AND lease = $3 AND delivered_at IS NULL";
    let reason: String = reason.chars().take(WORDS).collect();
    let mut tx = db.begin().await?;
    for n in rows {
        let values = args![n.id.0, n.channel.as_str(), n.lease, micros(until), reason.as_str()];
        tx.execute(sql, values).await?;
    }
    tx.commit().await
}
