//! The change log: what happened to which object of which organisation, at positions that increase in commit order.
//!
//! A writer updates the one row of `log_head` first and so locks it until the commit; a reader that has seen position n
//! never sees a new entry at or before n. Append late in a transaction: other writers wait meanwhile.

use crate::api::{Error, LogRead, Result};
use crate::codec::{instant, micros};
use crate::db::{Arg, Cells, Db, Tx, args};
use jiff::Timestamp;
use model::ids::{LogPosition, OrgId};
use model::scan::{LogEntry, Op};

/// Kind of entries about holdings.
pub(crate) const ITEM: &str = "item";
/// Kind of entries about claims of address space.
pub(crate) const CLAIM: &str = "claim";
/// Kind of entries about features.
pub(crate) const FEATURE: &str = "feature";
/// Kind of entries about claims of the installation.
pub(crate) const CLUSTER_CLAIM: &str = "cluster_claim";
/// Kind of entries about events.
pub(crate) const EVENT: &str = "event";
/// Kind of entries about settings.
pub(crate) const SETTING: &str = "setting";

/// An entry to write.
pub(crate) struct Line {
    pub(crate) org: OrgId,
    pub(crate) kind: &'static str,
    /// `None` for a new event, whose identity is its position.
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

/// Appends entries and returns the position of the first one. The others follow without a gap.
pub(crate) async fn append(tx: &mut Tx, lines: Vec<Line>, at: Timestamp) -> Result<LogPosition> {
    let holdings = lines.iter().any(|l| l.kind == ITEM && l.op != Op::Delete);
    let first = append_only(tx, lines.into_iter().map(|l| (l, at)).collect()).await?;
    if holdings {
        // A holding's version is the position of the newest entry about it.
        let sql = "UPDATE items SET rv = c.rv FROM change_log AS c \
                   WHERE c.rv >= $1 AND c.kind = $2 AND c.org = items.org AND c.name = items.name";
        tx.execute(sql, args![first.0, ITEM]).await?;
    }
    Ok(first)
}

/// The same for a caller that writes the versions of the holdings with the holdings; each entry with its time.
pub(crate) async fn append_only(tx: &mut Tx, lines: Vec<(Line, Timestamp)>) -> Result<LogPosition> {
    let n = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let head = tx
        .row("UPDATE log_head SET head = head + $1 WHERE id = 1 RETURNING head", args![n])
        .await?
        .ok_or_else(|| Error::Broken("the head of the change log is missing".into()))?
        .int(0)?;
    let first = head - n + 1;
    let rows = (first..)
        .zip(lines)
        .map(|(rv, (l, at))| {
            let name = l.name.unwrap_or_else(|| rv.to_string());
            args![rv, l.org.0, l.kind, name, l.op.as_str(), micros(at)]
        })
        .collect();
    tx.insert("INSERT INTO change_log (rv, org, kind, name, op, at)", rows, "").await?;
    Ok(LogPosition(first))
}

/// The newest position, and the position up to which entries were pruned.
pub(crate) async fn ends(db: &Db) -> Result<(LogPosition, LogPosition)> {
    let row = db
        .row("SELECT head, floor FROM log_head WHERE id = 1", args![])
        .await?
        .ok_or_else(|| Error::Broken("the head of the change log is missing".into()))?;
    Ok((LogPosition(row.int(0)?), LogPosition(row.int(1)?)))
}

/// Entries after a position in order, unless some of them were pruned.
pub(crate) async fn since(db: &Db, org: Option<OrgId>, after: LogPosition, limit: u32) -> Result<LogRead> {
    let whose = if org.is_some() { "org = $3 AND " } else { "" };
    let sql = format!(
        "SELECT rv, org, kind, name, op, at FROM change_log WHERE {whose}rv > $1 ORDER BY rv LIMIT $2"
    );
    let mut values = args![after.0, i64::from(limit)];
    values.extend(org.map(|o| Arg::from(o.0)));
    let entries = db.rows(sql, values).await?.iter().map(read).collect::<Result<Vec<_>>>()?;
    // Read after the entries: pruning raises the floor before it deletes, so a floor that is still at or before the
    // position means that nothing was missing. A position after the head is of another copy of the database.
    let (head, floor) = ends(db).await?;
    Ok(if floor > after || after > head { LogRead::ReadAnew } else { LogRead::Entries(entries) })
}

fn read(r: &Cells) -> Result<LogEntry> {
    let word = r.text(4)?;
    let op = [Op::Create, Op::Update, Op::Delete]
        .into_iter()
        .find(|o| o.as_str() == word)
        .ok_or_else(|| Error::Broken(format!("stored operation “{word}”")))?;
    Ok(LogEntry {
        rv: LogPosition(r.int(0)?),
        org: OrgId(r.int(1)?),
        kind: r.text(2)?,
        name: r.text(3)?,
        op,
        at: instant(r.int(5)?)?,
    })
}
