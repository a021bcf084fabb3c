//! Messages that were given up: listed, sent again, or dropped. A digest is one of them, whole.

use super::LOG;
use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Arg, Cells, Db, Tx, args};
use jiff::Timestamp;
use model::ids::{EventId, OrgId};
use model::names::DomainName;
use std::collections::BTreeSet;

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedNotification {
    /// The first event of the scan, or of the digest.
    pub id: EventId,
    /// Where it was to go.
    pub channel: String,
    /// Whose events.
    pub org: OrgId,
    /// The domain; of a digest one of several.
    pub domain: DomainName,
    /// How many domains it is about.
    pub domains: u64,
    /// When it was given up.
    pub failed_at: Timestamp,
    /// Why the last attempt failed.
    pub reason: String,
    /// Attempts that were made.
    pub attempts: u32,
}

/// What the rows of one message have in common. A batch is an instant or less than zero, and never the identity of an event.
pub(super) const MESSAGE: &str = "org, channel, COALESCE(batch, id)";

pub(crate) async fn list(db: &Db, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>> {
    let whose = if org.is_some() { " AND org = $2" } else { "" };
    let sql = format!(
        "SELECT MIN(id), channel, org, MIN(name), COUNT(DISTINCT name), MAX(failed_at), MAX(last_error), MAX(attempts) \
         FROM outbox WHERE failed_at IS NOT NULL{whose} GROUP BY {MESSAGE} ORDER BY MAX(failed_at), MIN(id) LIMIT $1"
    );
    let mut values = args![i64::from(limit)];
    values.extend(org.map(|o| Arg::from(o.0)));
    db.rows(sql, values)
        .await?
        .iter()
        .map(|r| {
            Ok(FailedNotification {
                id: EventId(r.int(0)?),
                channel: r.text(1)?,
                org: OrgId(r.int(2)?),
                domain: DomainName::trusted(&r.text(3)?),
                domains: u64::try_from(r.int(4)?).unwrap_or(0),
                failed_at: instant(r.int(5)?)?,
                reason: r.text_or_null(6)?.unwrap_or_default(),
                attempts: u32::try_from(r.int(7)?).unwrap_or(u32::MAX),
            })
        })
        .collect()
}

/// How many there are, however many are listed.
pub(crate) async fn count(db: &Db, org: OrgId) -> Result<u64> {
    let sql = format!(
        "SELECT COUNT(*) FROM (SELECT 1 FROM outbox WHERE failed_at IS NOT NULL AND org = $1 GROUP BY {MESSAGE}) AS m"
    );
    let row = db.row(sql, args![org.0]).await?;
    Ok(row.map(|r| r.int(0)).transpose()?.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
}

/// Of an organisation, the message of a row (all rows of its digest) or all; of all organisations without one.
fn chosen(org: Option<OrgId>, which: Option<(EventId, String)>, values: &mut Vec<Arg>) -> String {
    let mut sql = "failed_at IS NOT NULL".to_string();
    let mut bind = |value: Arg| {
        values.push(value);
        values.len()
    };
    if let Some(org) = org {
        sql.push_str(&format!(" AND org = ${}", bind(Arg::from(org.0))));
    }
    if let Some((id, channel)) = which {
        let (id, channel) = (bind(Arg::from(id.0)), bind(Arg::from(channel)));
        sql.push_str(&format!(
            " AND channel = ${channel} AND COALESCE(batch, id) = \
             (SELECT COALESCE(f.batch, f.id) FROM outbox f WHERE f.id = ${id} AND f.channel = ${channel})"
        ));
    }
    sql
}

/// How many messages these rows of [`MESSAGE`] are.
fn messages(rows: &[Cells]) -> Result<u64> {
    let keys = rows.iter().map(|r| Ok((r.int(0)?, r.text(1)?, r.int(2)?)));
    Ok(keys.collect::<Result<BTreeSet<_>>>()?.len() as u64)
}

pub(crate) async fn retry(
    db: &Db,
    org: Option<OrgId>,
    which: Option<(EventId, String)>,
    now: Timestamp,
) -> Result<u64> {
    let mut values = args![micros(now)];
    let chosen = chosen(org, which, &mut values);
    let sql = format!(
        "UPDATE outbox SET due_at = $1, at = $1, attempts = 0, failed_at = NULL WHERE {chosen} RETURNING {MESSAGE}"
    );
    let mut tx = db.begin().await?;
    let rows = tx.rows(sql, values).await?;
    tx.commit().await?;
    messages(&rows)
}

/// Closes messages for good, with an entry of the audit log when there was any. Events that are not yet routed
/// ([`LOG`]) stay: dropping them would lose them for every channel.
pub(crate) async fn drop(db: &Db, which: Option<(EventId, String)>, log: &Audit) -> Result<u64> {
    let mut values = args![micros(log.at), format!("{} dropped it after it had failed", log.by.who)];
    let object = match &which {
        Some((id, channel)) => name_of(db, log.org, *id, channel).await?,
        None => "all failed messages".to_string(),
    };
    let chosen = chosen(Some(log.org), which, &mut values);
    let sql = format!(
        "UPDATE outbox SET delivered_at = $1, skipped = 1, answer = $2, failed_at = NULL \
         WHERE {chosen} AND channel <> '{LOG}' \
         RETURNING {MESSAGE}"
    );
    let mut tx: Tx = db.begin().await?;
    let dropped = messages(&tx.rows(sql, values).await?)?;
    if dropped > 0 {
        let old = Some(if dropped == 1 { "1 message".to_string() } else { format!("{dropped} messages") });
        note(&mut tx, Some(&Audit { object, old, ..log.clone() })).await?;
    }
    tx.commit().await?;
    Ok(dropped)
}

/// The domain of a message, for the audit log.
async fn name_of(db: &Db, org: OrgId, id: EventId, channel: &str) -> Result<String> {
    let sql = "SELECT name FROM outbox WHERE org = $1 AND id = $2 AND channel = $3";
    let row = db.row(sql, args![org.0, id.0, channel]).await?;
    row.map_or_else(|| Ok(String::new()), |r| r.text(0))
}
