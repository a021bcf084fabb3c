//! The change log: what happened to which thing of which organisation, at places that increase in commit order.
//!
//! Whoever appends updates the one row of `log_head` first and so holds it until the commit; a reader that has
//! seen place n will never see a new entry at or before n. Append late in a transaction: others wait meanwhile.

use crate::api::{Error, Result};
use crate::codec::{instant, micros};
use crate::db::{Cells, Db, Tx, args};
use jiff::Timestamp;
use model::ids::{OrgId, Rv};
use model::scan::{LogEntry, Op};

/// Kind of entries about holdings.
pub(crate) const ITEM: &str = "item";
/// Kind of entries about events.
pub(crate) const EVENT: &str = "event";
/// Kind of entries about settings.
pub(crate) const SETTING: &str = "setting";

/// An entry to be.
pub(crate) struct Line {
    pub(crate) org: OrgId,
    pub(crate) kind: &'static str,
    /// `None` for a new event, whose identity is its place.
    pub(crate) name: Option<String>,
    pub(crate) op: Op,
}

impl Line {
    pub(crate) fn item(org: OrgId, name: &str, op: Op) -> Self {
        Line { org, kind: ITEM, name: Some(name.to_string()), op }
    }

    pub(crate) fn new_event(org: OrgId) -> Self {
        Line { org, kind: EVENT, name: None, op: Op::Create }
    }
}

/// Appends entries; the place of the first one. The others follow it without a gap.
pub(crate) async fn append(tx: &mut Tx, lines: Vec<Line>, at: Timestamp) -> Result<Rv> {
    let n = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let head = tx
        .row("UPDATE log_head SET head = head + $1 WHERE id = 1 RETURNING head", args![n])
        .await?
        .ok_or_else(|| Error::Broken("the head of the change log is missing".into()))?
        .int(0)?;
    let first = head - n + 1;
    let rows = (first..)
        .zip(lines)
        .map(|(rv, l)| {
            let name = l.name.unwrap_or_else(|| rv.to_string());
            args![rv, l.org.0, l.kind, name, l.op.as_str(), micros(at)]
        })
        .collect();
    tx.insert("INSERT INTO change_log (rv, org, kind, name, op, at)", rows, "").await?;
    Ok(Rv(first))
}

/// The newest place and the place up to which entries were pruned.
pub(crate) async fn ends(db: &Db) -> Result<(Rv, Rv)> {
    let row = db
        .row("SELECT head, floor FROM log_head WHERE id = 1", args![])
        .await?
        .ok_or_else(|| Error::Broken("the head of the change log is missing".into()))?;
    Ok((Rv(row.int(0)?), Rv(row.int(1)?)))
}

/// Entries after a place in order.
pub(crate) async fn since(db: &Db, org: Option<OrgId>, rv: Rv, limit: u32) -> Result<Vec<LogEntry>> {
    let limit = i64::from(limit);
    let rows = match org {
        Some(org) => {
            db.rows(
                "SELECT rv, org, kind, name, op, at FROM change_log WHERE org = $1 AND rv > $2 ORDER BY rv LIMIT $3",
                args![org.0, rv.0, limit],
            )
            .await?
        }
        None => {
            db.rows(
                "SELECT rv, org, kind, name, op, at FROM change_log WHERE rv > $1 ORDER BY rv LIMIT $2",
                args![rv.0, limit],
            )
            .await?
        }
    };
    rows.iter().map(read).collect()
}

fn read(r: &Cells) -> Result<LogEntry> {
    let word = r.text(4)?;
    let op = [Op::Create, Op::Update, Op::Delete]
        .into_iter()
        .find(|o| o.as_str() == word)
        .ok_or_else(|| Error::Broken(format!("stored operation “{word}”")))?;
    Ok(LogEntry {
        rv: Rv(r.int(0)?),
        org: OrgId(r.int(1)?),
        kind: r.text(2)?,
        name: r.text(3)?,
        op,
        at: instant(r.int(5)?)?,
    })
}
