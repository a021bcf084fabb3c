//! The event log of an organisation: reading it page by page, newest first, and marking entries as seen.

use crate::accounts::audit;
use crate::api::Result;
use crate::codec::{instant, micros, read_json};
use crate::db::{Arg, Cells, Db, args};
use crate::items::By;
use crate::log::{self, Line};
use crate::record::severity_rank;
use jiff::Timestamp;
use model::event::{Acknowledged, Change, Event, EventKind, EventPage, EventQuery, Severity};
use model::ids::{EventId, LogPosition, OrgId};
use model::names::DomainName;
use model::scan::Op;
use serde::{Deserialize, Serialize};

/// Rows a page unless asked otherwise, and at most.
const PER_PAGE: (u32, u32) = (50, 200);
/// Identities of one question.
const IDS: usize = 200;

pub(crate) async fn events(db: &Db, org: OrgId, query: &EventQuery) -> Result<EventPage> {
    let mut filter = "org = $1".to_string();
    let mut values = args![org.0];
    let mut also = |text: &str, value: Option<Arg>| {
        values.extend(value);
        filter.push_str(" AND ");
        filter.push_str(&text.replace("$n", &format!("${}", values.len())));
    };
    if let Some(d) = &query.domain {
        also("name = $n", Some(d.as_str().into()));
    }
    if !query.kinds.is_empty() {
        let words: Vec<String> = query.kinds.iter().map(|k| k.as_str().to_string()).collect();
        also(&db.any("kind", 0).replace("$0", "$n"), Some(words.into()));
    }
    if let Some(s) = query.at_least {
        also("severity >= $n", Some(severity_rank(s).into()));
    }
    if query.unacknowledged {
        also("ack_at IS NULL", None);
    }
    let per_page = if query.per_page == 0 { PER_PAGE.0 } else { query.per_page.min(PER_PAGE.1) };
    let page = query.page.max(1);
    let total = db
        .row(format!("SELECT COUNT(*) FROM events WHERE {filter}"), values.clone())
        .await?
        .map_or(Ok(0), |r| r.int(0))?;
    let (limit, offset) = (values.len() + 1, values.len() + 2);
    let sql = format!(
        "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance FROM events WHERE {filter} \
         ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}"
    );
    values.extend(args![i64::from(per_page), i64::from(page - 1) * i64::from(per_page)]);
    let events = db.rows(sql, values).await?.iter().map(read).collect::<Result<_>>()?;
    Ok(EventPage { events, total: u64::try_from(total).unwrap_or(0), page, per_page })
}

/// Events after an identifier, oldest first, each with the position of the newest log entry about it.
pub(crate) async fn after(
    db: &Db,
    org: OrgId,
    after: EventId,
    limit: u32,
) -> Result<Vec<(Event, LogPosition)>> {
    let sql = "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance, COALESCE(rv, id) FROM events \
               WHERE org = $1 AND id > $2 ORDER BY id LIMIT $3";
    let rows = db.rows(sql, args![org.0, after.0, i64::from(limit)]).await?;
    rows.iter().map(|r| Ok((read(r)?, LogPosition(r.int(9)?)))).collect()
}

/// What the column `json` of an event holds.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredChange {
    /// What changed.
    #[serde(flatten)]
    pub(crate) change: Change,
    /// The set that the installation was a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clusterset: Option<String>,
}

fn read(r: &Cells) -> Result<Event> {
    let acknowledged = match (r.text_or_null(5)?, r.int_or_null(6)?) {
        (Some(by), Some(at)) => Some(Acknowledged { by, at: instant(at)? }),
        _ => None,
    };
    let stored: StoredChange = read_json(&r.text(4)?)?;
    Ok(Event {
        id: EventId(r.int(0)?),
        org: OrgId(r.int(1)?),
        domain: DomainName::trusted(&r.text(2)?),
        at: instant(r.int(3)?)?,
        change: stored.change,
        acknowledged,
        cluster: r.text_or_null(7)?,
        clusterset: stored.clusterset,
        maintenance: r.text_or_null(8)?,
    })
}

/// The events of one scan: those of a domain with ids from `first` to `last`, in order.
pub(crate) async fn between(
    db: &Db,
    org: OrgId,
    name: &DomainName,
    first: EventId,
    last: EventId,
) -> Result<Vec<Event>> {
    let sql = "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance FROM events \
               WHERE org = $1 AND name = $2 AND id >= $3 AND id <= $4 ORDER BY id";
    db.rows(sql, args![org.0, name.as_str(), first.0, last.0]).await?.iter().map(read).collect()
}

/// Events by identity, in order.
pub(crate) async fn by_id(db: &Db, org: OrgId, ids: &[EventId]) -> Result<Vec<Event>> {
    let mut out = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS) {
        let places: Vec<_> = (2..2 + ids.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance FROM events \
             WHERE org = $1 AND id IN ({}) ORDER BY id",
            places.join(", ")
        );
        let values = args![org.0].into_iter().chain(ids.iter().map(|id| Arg::from(id.0))).collect();
        for r in db.rows(sql, values).await? {
            out.push(read(&r)?);
        }
    }
    out.sort_by_key(|e| e.id);
    Ok(out)
}

/// The newest events since an instant, oldest first.
pub(crate) async fn since(db: &Db, org: OrgId, at: Timestamp, limit: u32) -> Result<Vec<Event>> {
    let sql = "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance FROM events WHERE org = $1 AND at >= $2 \
               ORDER BY id DESC LIMIT $3";
    let rows = db.rows(sql, args![org.0, micros(at), i64::from(limit)]).await?;
    rows.iter().rev().map(read).collect()
}

/// The newest acknowledged events of a kind about a domain.
pub(crate) async fn acknowledged(
    db: &Db,
    org: OrgId,
    name: &DomainName,
    kind: EventKind,
) -> Result<Vec<Event>> {
    let sql = "SELECT id, org, name, at, json, ack_by, ack_at, cluster, maintenance FROM events \
               WHERE org = $1 AND name = $2 AND kind = $3 AND ack_at IS NOT NULL ORDER BY id DESC LIMIT 20";
    db.rows(sql, args![org.0, name.as_str(), kind.as_str()]).await?.iter().map(read).collect()
}

/// How many events of an organisation no one has seen that ask for attention.
pub(crate) async fn open(db: &Db, org: OrgId) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM events WHERE org = $1 AND severity >= $2 AND ack_at IS NULL";
    let n = db.row(sql, args![org.0, severity_rank(Severity::Warning)]).await?.map_or(Ok(0), |r| r.int(0))?;
    Ok(u64::try_from(n).unwrap_or(0))
}

pub(crate) async fn acknowledge(db: &Db, by: &By<'_>, ids: &[EventId]) -> Result<u64> {
    let (org, now) = (by.org, by.now);
    let mut ids: Vec<i64> = ids.iter().map(|i| i.0).collect();
    ids.sort_unstable();
    let mut tx = db.begin().await?;
    let mut lines = Vec::new();
    let mut entries = Vec::new();
    let mut marked_ids = Vec::new();
    for id in ids {
        let mark = "UPDATE events SET ack_by = $3, ack_at = $4 WHERE org = $1 AND id = $2 AND ack_at IS NULL \
                    RETURNING name";
        let values = args![org.0, id, by.actor.who.as_str(), micros(now)];
        if let Some(marked) = tx.row(mark, values).await? {
            entries.push((marked.text(0)?, None, Some(format!("event {id}"))));
            marked_ids.push(id);
            lines.push(Line { org, kind: log::EVENT, name: Some(id.to_string()), op: Op::Update });
        }
    }
    let n = lines.len() as u64;
    if n > 0 {
        let first = log::append(&mut tx, lines, now).await?;
        for (rv, id) in (first.0..).zip(marked_ids) {
            tx.execute("UPDATE events SET rv = $3 WHERE org = $1 AND id = $2", args![org.0, id, rv]).await?;
        }
        audit::append(&mut tx, (org, by.actor, now), "event.acknowledge", &entries).await?;
    }
    tx.commit().await?;
    Ok(n)
}
