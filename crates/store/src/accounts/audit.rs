//! The audit log. Entries are written in the transaction of the change they record.

use super::Audit;
use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Arg, Cells, Db, Tx, args};
use jiff::Timestamp;
use model::account::{Actor, AuditEntry, AuditPage, AuditQuery};
use model::ids::OrgId;

/// Most entries of one page.
const PAGE: u32 = 1000;
/// Longest value that is kept, in characters: a note is longer than what a log needs.
const VALUE_MAX: usize = 1000;

/// Object, old and new value of a change to one of many things.
pub(crate) type Line = (String, Option<String>, Option<String>);

fn cut(value: &str) -> String {
    value.chars().take(VALUE_MAX).collect()
}

fn row(org: OrgId, by: &Actor, at: Timestamp, action: &str, (object, old, new): &Line) -> Vec<Arg> {
    args![
        org.0,
        micros(at),
        by.who.as_str(),
        by.id.clone(),
        by.address.as_str(),
        action,
        cut(object),
        old.as_deref().map(cut),
        new.as_deref().map(cut)
    ]
}

/// Writes one entry for each line.
pub(crate) async fn append(
    tx: &mut Tx,
    (org, by, at): (OrgId, &Actor, Timestamp),
    action: &str,
    lines: &[Line],
) -> Result<()> {
    let rows = lines.iter().map(|line| row(org, by, at, action, line)).collect();
    let head =
        "INSERT INTO audit_log (org, at, who, actor_id, address, action, object, old_value, new_value)";
    tx.insert(head, rows, "").await.map(drop)
}

/// Writes an entry, if there is one to write.
pub(crate) async fn note(tx: &mut Tx, entry: Option<&Audit>) -> Result<()> {
    let Some(e) = entry else { return Ok(()) };
    append(tx, (e.org, &e.by, e.at), e.action, &[(e.object.clone(), e.old.clone(), e.new.clone())]).await
}

pub(super) async fn append_alone(db: &Db, entry: &Audit) -> Result<()> {
    let mut tx = db.begin().await?;
    note(&mut tx, Some(entry)).await?;
    tx.commit().await
}

/// A text for LIKE in lower case, with its special characters escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

pub(super) async fn page(db: &Db, org: OrgId, q: &AuditQuery) -> Result<AuditPage> {
    let limit = q.limit.clamp(1, PAGE);
    let mut sql = String::from(
        "SELECT a.id, a.at, a.who, u.email, a.address, a.action, a.object, a.old_value, a.new_value \
         FROM audit_log a LEFT JOIN users u ON u.id = a.actor_id WHERE a.org = $1 AND a.id < $2",
    );
    let mut values = args![org.0, q.before.unwrap_or(i64::MAX)];
    let mut and = |condition: &str, value: Arg| {
        values.push(value);
        sql.push_str(&condition.replace('?', &format!("${}", values.len())));
    };
    if let Some(since) = q.since {
        and(" AND a.at >= ?", micros(since).into());
    }
    if let Some(until) = q.until {
        and(" AND a.at < ?", micros(until).into());
    }
    if !q.subject.is_empty() {
        and(" AND a.action LIKE ? ESCAPE '\\'", format!("{}.%", escaped(&q.subject)).into());
    }
    let text = q.text.trim();
    if !text.is_empty() {
        let both = "LOWER(a.who || ' ' || COALESCE(u.email, '') || ' ' || a.address || ' ' || a.object || ' ' || \
                    COALESCE(a.old_value, '') || ' ' || COALESCE(a.new_value, ''))";
        and(&format!(" AND {both} LIKE ? ESCAPE '\\'"), format!("%{}%", escaped(text)).into());
    }
    sql.push_str(&format!(" ORDER BY a.id DESC LIMIT {}", limit + 1));
    let rows = db.rows(sql, values).await?;
    let mut entries = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    // One more than asked for was read: it says that there is a next page.
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = entries.last().filter(|_| more).map(|last| last.id);
    Ok(AuditPage { entries, next })
}

fn read(r: &Cells) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: r.int(0)?,
        at: instant(r.int(1)?)?,
        who: r.text(2)?,
        email: r.text_or_null(3)?,
        address: r.text(4)?,
        action: r.text(5)?,
        object: r.text(6)?,
        old: r.text_or_null(7)?,
        new: r.text_or_null(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_is_searched_for_is_no_pattern() {
        assert_eq!(escaped("50%_\\A"), "50\\%\\_\\\\a");
    }
}
