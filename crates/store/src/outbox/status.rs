//! How messages stand, and the outbox in figures.

use super::failed::MESSAGE;
use crate::api::Result;
use crate::codec::{instant, read_json};
use crate::db::{Arg, Cells, Db, args};
use jiff::Timestamp;
use model::ids::{EventId, OrgId};
use model::notify::{DeliveryState, MessageStatus};
use std::collections::BTreeMap;

/// The outbox in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Messages still to be delivered.
    pub waiting: u64,
    /// Messages that were given up.
    pub failed: u64,
}

pub(crate) async fn stats(db: &Db) -> Result<OutboxStats> {
    // What is held back is not due.
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM outbox WHERE failed_at IS NULL AND delivered_at IS NULL \
         AND (channel <> 'log' OR events IS NULL)), \
         (SELECT COUNT(*) FROM (SELECT 1 FROM outbox WHERE failed_at IS NOT NULL GROUP BY {MESSAGE}) AS m)"
    );
    let Some(r) = db.row(sql, args![]).await? else { return Ok(OutboxStats::default()) };
    let count = |i| r.int(i).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(OutboxStats { waiting: count(0)?, failed: count(1)? })
}

const STATUS: &str = "o.id, o.channel, o.name, o.events, o.at, o.due_at, o.attempts, o.failed_at, o.delivered_at, \
                      o.last_error, o.answer, o.skipped";

/// Events of one question.
const IDS: usize = 200;

/// Messages about these events, and what became of those without a message ([`LOG`]), newest first.
pub(crate) async fn statuses(db: &Db, org: OrgId, events: &[EventId]) -> Result<Vec<MessageStatus>> {
    let mut found: BTreeMap<(EventId, String), MessageStatus> = BTreeMap::new();
    for ids in events.chunks(IDS) {
        let places: Vec<_> = (2..2 + ids.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "SELECT {STATUS} FROM outbox o WHERE (o.id, o.channel) IN \
             (SELECT m.id, m.channel FROM message_events m WHERE m.org = $1 AND m.event IN ({}))",
            places.join(", ")
        );
        let values = args![org.0].into_iter().chain(ids.iter().map(|id| Arg::from(id.0))).collect();
        for r in db.rows(sql, values).await? {
            let message = status(&r)?;
            found.insert((message.id, message.channel.clone()), message);
        }
    }
    let mut out: Vec<_> = found.into_values().collect();
    out.sort_by(|a, b| (b.id, &a.channel).cmp(&(a.id, &b.channel)));
    Ok(out)
}

pub(crate) async fn last_of(db: &Db, org: OrgId, channel: &str) -> Result<Option<MessageStatus>> {
    let sql = format!(
        "SELECT {STATUS} FROM outbox o WHERE o.org = $1 AND o.channel = $2 AND o.attempts > 0 \
         ORDER BY o.id DESC LIMIT 1"
    );
    db.row(sql, args![org.0, channel]).await?.as_ref().map(status).transpose()
}

/// When the first of the messages to a channel failed that were attempted since one was delivered last.
pub(crate) async fn failing_since(db: &Db, org: OrgId, channel: &str) -> Result<Option<Timestamp>> {
    let sql = "SELECT MIN(o.at) FROM outbox o WHERE o.org = $1 AND o.channel = $2 \
               AND o.delivered_at IS NULL AND o.attempts > 0 AND o.last_error IS NOT NULL AND o.id > COALESCE((SELECT d.id \
               FROM outbox d WHERE d.org = $1 AND d.channel = $2 AND d.delivered_at IS NOT NULL AND d.skipped = 0 \
               ORDER BY d.id DESC LIMIT 1), 0)";
    let at = db.row(sql, args![org.0, channel]).await?.map(|r| r.int_or_null(0)).transpose()?.flatten();
    at.map(instant).transpose()
}

fn status(r: &Cells) -> Result<MessageStatus> {
    let attempts = u32::try_from(r.int(6)?).unwrap_or(u32::MAX);
    let error = r.text_or_null(9)?;
    let state = match (r.int_or_null(8)?, r.int_or_null(7)?) {
        (Some(at), _) if r.int(11)? != 0 => {
            DeliveryState::Skipped { at: instant(at)?, reason: r.text_or_null(10)?.unwrap_or_default() }
        }
        (Some(at), _) => {
            DeliveryState::Delivered { at: instant(at)?, answer: r.text_or_null(10)?.unwrap_or_default() }
        }
        (None, Some(at)) => {
            DeliveryState::Failed { at: instant(at)?, error: error.unwrap_or_default(), attempts }
        }
        (None, None) => {
            // The reason why events wait is kept where the answer will be.
            let error = error.or(r.text_or_null(10)?);
            DeliveryState::Waiting { due_at: instant(r.int(5)?)?, attempts, error }
        }
    };
    Ok(MessageStatus {
        id: EventId(r.int(0)?),
        channel: r.text(1)?,
        domain: r.text(2)?,
        events: r.text_or_null(3)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        at: instant(r.int(4)?)?,
        state,
    })
}
