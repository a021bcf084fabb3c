//! The event log of an organisation: reading it page by page, newest first, and marking entries as seen.

use crate::accounts::audit::{self, escaped};
use crate::api::Result;
use crate::codec::{instant, micros, read_json};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::items::By;
use crate::log::{self, Line};
use crate::record::severity_rank;
use jiff::Timestamp;
use model::event::{
    Acknowledged, Change, Event, EventCounts, EventGroup, EventKind, EventPage, EventQuery, Severity,
};
use model::ids::{EventId, LogPosition, OrgId};
use model::names::DomainName;
use model::scan::Op;
use model::status::StatusKind;
use serde::{Deserialize, Serialize};

/// Rows a page unless asked otherwise, and at most.
const PER_PAGE: (u32, u32) = (50, 200);
/// Identities of one question.
const IDS: usize = 200;

/// Events whose kinds are counted for the filters: more take too long for a page.
const COUNTED: i64 = 20_000;
/// Events that are acknowledged in one call of [`acknowledge_matching`].
const MATCHING: u32 = 10_000;

/// Conditions of a statement over `events`, and their values.
#[derive(Clone)]
struct Filter<'a> {
    db: &'a Db,
    text: String,
    values: Vec<Arg>,
}

impl<'a> Filter<'a> {
    /// The events of an organisation.
    fn new(db: &'a Db, org: OrgId) -> Self {
        Filter { db, text: "org = $1".into(), values: args![org.0] }
    }

    /// Adds a condition; `$n` stands for its value.
    fn and(&mut self, condition: &str, value: Option<Arg>) {
        self.values.extend(value);
        self.text.push_str(" AND ");
        self.text.push_str(&condition.replace("$n", &format!("${}", self.values.len())));
    }

    /// Everything a query selects by but kinds, severity and acknowledgement.
    fn selection(&mut self, q: &EventQuery) {
        if let Some(d) = &q.domain {
            self.and("name = $n", Some(d.as_str().into()));
        }
        if let Some(at) = q.since {
            self.and("at >= $n", Some(micros(at).into()));
        }
        if let Some(at) = q.until {
            self.and("at < $n", Some(micros(at).into()));
        }
        if q.failed_delivery {
            // What was given up is little and has an index of its own: the sign keeps both databases from another one.
            self.and(
                "id IN (SELECT m.event FROM outbox o JOIN message_events m ON m.id = o.id AND m.channel = o.channel \
                 WHERE +o.org = $1 AND o.failed_at > 0)",
                None,
            );
        }
        if let Some(o) = q.ownership {
            let owner = self.bind(o.as_str());
            self.of_items(&format!("i.ownership = {owner}"));
        }
        if !q.tags.is_empty() {
            // A tag is one JSON string of the list: its quotes are its ends.
            let tag = |t: &String| serde_json::Value::from(t.as_str()).to_string();
            let db = self.db;
            let any: Vec<_> = q.tags.iter().map(|t| db.contains("i.tags", &self.bind(tag(t)))).collect();
            self.of_items(&format!("({})", any.join(" OR ")));
        }
        if !q.search.is_empty() {
            let pattern = self.bind(format!("%{}%", escaped(&q.search)));
            let like = format!("LIKE {pattern} ESCAPE '\\'");
            // In the stored JSON quotes and backslashes are escaped.
            let quoted = serde_json::Value::from(q.search.as_str()).to_string();
            let inside = self.bind(format!("%{}%", escaped(&quoted[1..quoted.len() - 1])));
            let mut said = format!("LOWER(json) LIKE {inside} ESCAPE '\\'");
            if may_be_structure(&q.search) {
                let values = ["field", "old", "new", "source", "note"]
                    .map(|key| format!("COALESCE({}, '')", self.db.json_text("json", key)))
                    .join(" || ' ' || ");
                said = format!("({said} AND LOWER({values}) {like})");
            }
            let unicode = match q.search.is_ascii() {
                true => String::new(),
                false => format!(" OR {}", of_items(&format!("i.unicode {like}"))),
            };
            self.and(&format!("(name {like}{unicode} OR {said})"), None);
        }
    }

    /// Adds a condition on the holdings that events are about.
    fn of_items(&mut self, condition: &str) {
        self.and(&of_items(condition), None);
    }

    /// Kinds, severity and acknowledgement.
    fn groups(&mut self, q: &EventQuery) {
        if !q.kinds.is_empty() {
            let words: Vec<String> = q.kinds.iter().map(|k| k.as_str().to_string()).collect();
            let any = self.db.any("kind", 0).replace("$0", "$n");
            self.and(&any, Some(words.into()));
        }
        if let Some(s) = q.at_least {
            self.and("severity >= $n", Some(severity_rank(s).into()));
        }
        if q.unacknowledged {
            self.and("ack_at IS NULL", None);
        }
    }

    /// Binds one more value; its placeholder.
    fn bind(&mut self, value: impl Into<Arg>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }
}

/// True for a text that the stored JSON of a change may contain although none of its values does: a key, the word of a kind or a
/// severity, what stands between them. Such a text is looked for in the values themselves, which takes longer.
fn may_be_structure(text: &str) -> bool {
    let text = text.to_lowercase();
    let empty = |kind, severity, status| {
        let change = Change {
            kind,
            severity,
            field: String::new(),
            old: None,
            new: None,
            source: String::new(),
            note: String::new(),
            first_seen_at: Some(Timestamp::UNIX_EPOCH),
            status_before: Some(status),
        };
        serde_json::to_string(&change).unwrap_or_default()
    };
    text.contains(['"', '\\'])
        || is_part_of_instant(&text)
        || EventKind::ALL.iter().any(|k| empty(*k, Severity::Info, StatusKind::Normal).contains(&text))
        || Severity::ALL.iter().any(|s| empty(EventKind::Renewed, *s, StatusKind::Normal).contains(&text))
        || StatusKind::ALL.iter().any(|s| empty(EventKind::Renewed, Severity::Info, *s).contains(&text))
}

/// True for a text that an instant in JSON (`2026-11-13t09:12:00.5z`) may contain; an address has more dots.
fn is_part_of_instant(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || "-:tz.".contains(c)) && text.matches('.').count() < 2
}

fn of_items(condition: &str) -> String {
    format!("name IN (SELECT i.name FROM items i WHERE i.org = $1 AND {condition})")
}

pub(crate) async fn events(db: &Db, org: OrgId, query: &EventQuery) -> Result<EventPage> {
    page(db, org, query, None).await
}

/// The same with counts for the filters, where there are not too many events.
pub(crate) async fn counted(db: &Db, org: OrgId, query: &EventQuery) -> Result<EventPage> {
    let counts = counts(db, org, query).await?;
    page(db, org, query, counts).await
}

async fn page(db: &Db, org: OrgId, query: &EventQuery, counts: Option<EventCounts>) -> Result<EventPage> {
    let mut filter = Filter::new(db, org);
    filter.selection(query);
    filter.groups(query);
    let total = match &counts {
        Some(counts) => counts.matching(query),
        None => {
            let sql = format!("SELECT COUNT(*) FROM events WHERE {}", filter.text);
            let total = db.row(sql, filter.values.clone()).await?.map_or(Ok(0), |r| r.int(0))?;
            u64::try_from(total).unwrap_or(0)
        }
    };
    let per_page = if query.per_page == 0 { PER_PAGE.0 } else { query.per_page.min(PER_PAGE.1) };
    let page = query.page.max(1);
    let newest_first = |columns: &str, filter: &mut Filter<'_>, limit: u32, offset: i64| {
        let condition = filter.text.clone();
        let (limit, offset) = (filter.bind(i64::from(limit)), filter.bind(offset));
        format!(
            "SELECT {columns} FROM events WHERE {condition} ORDER BY id DESC LIMIT {limit} OFFSET {offset}"
        )
    };
    let first = filter.clone();
    let columns = "id, org, name, at, json, ack_by, ack_at, cluster, maintenance";
    let sql = newest_first(columns, &mut filter, per_page, i64::from(page - 1) * i64::from(per_page));
    let events: Vec<Event> = db.rows(sql, filter.values).await?.iter().map(read).collect::<Result<_>>()?;
    let newest = match page {
        1 => events.first().map(|e| e.id),
        _ => {
            let mut filter = first;
            let sql = newest_first("id", &mut filter, 1, 0);
            db.row(sql, filter.values).await?.map(|r| r.int(0)).transpose()?.map(EventId)
        }
    };
    Ok(EventPage { events, total, page, per_page, newest, counts })
}

/// Counts of the events that match a query whatever its kinds, severity and acknowledgement; `None` where there are too many.
async fn counts(db: &Db, org: OrgId, query: &EventQuery) -> Result<Option<EventCounts>> {
    let mut filter = Filter::new(db, org);
    filter.selection(query);
    let condition = filter.text.clone();
    let limit = filter.bind(COUNTED + 1);
    let sql = format!(
        "SELECT kind, severity, is_open, COUNT(*) FROM (SELECT kind, severity, CASE WHEN ack_at IS NULL THEN \
         CAST(1 AS BIGINT) ELSE 0 END AS is_open FROM events WHERE {condition} LIMIT {limit}) AS e \
         GROUP BY kind, severity, is_open ORDER BY kind, severity, is_open"
    );
    let mut groups = Vec::new();
    let mut total = 0;
    for r in db.rows(sql, filter.values).await? {
        let n = r.int(3)?;
        total += n;
        let kind = EventKind::from_word(&r.text(0)?);
        let severity = usize::try_from(r.int(1)?).ok().and_then(|i| Severity::ALL.get(i).copied());
        // What a later version wrote can't be counted by kind.
        let (Some(kind), Some(severity)) = (kind, severity) else { return Ok(None) };
        groups.push(EventGroup {
            kind,
            severity,
            open: r.int(2)? != 0,
            count: u64::try_from(n).unwrap_or(0),
        });
    }
    Ok((total <= COUNTED).then_some(EventCounts(groups)))
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
    let mut tx = db.begin().await?;
    let marked = mark(db, &mut tx, by, ids.iter().map(|i| i.0).collect()).await?;
    let entries: Vec<_> =
        marked.iter().map(|(id, name)| (name.clone(), None, Some(format!("event {id}")))).collect();
    if !entries.is_empty() {
        audit::append(&mut tx, (by.org, by.actor, by.now), "event.acknowledge", &entries).await?;
    }
    tx.commit().await?;
    Ok(marked.len() as u64)
}

/// Marks the newest events that match a query, up to one of them, with a single entry of the audit log.
pub(crate) async fn acknowledge_matching(
    db: &Db,
    by: &By<'_>,
    query: &EventQuery,
    up_to: Option<EventId>,
) -> Result<u64> {
    let mut filter = Filter::new(db, by.org);
    filter.selection(query);
    filter.groups(&EventQuery { unacknowledged: true, ..query.clone() });
    if let Some(id) = up_to {
        filter.and("id <= $n", Some(id.0.into()));
    }
    let sql = format!("SELECT id FROM events WHERE {} ORDER BY id DESC LIMIT {MATCHING}", filter.text);
    let ids = db.rows(sql, filter.values).await?.iter().map(|r| r.int(0)).collect::<Result<Vec<_>>>()?;
    let mut tx = db.begin().await?;
    let marked = mark(db, &mut tx, by, ids).await?;
    if !marked.is_empty() {
        let mut meant = query.filters().to_search().trim_start_matches('?').to_string();
        if let Some(d) = &query.domain {
            meant = format!("domain={} {meant}", d.as_str()).trim_end().to_string();
        }
        let object =
            if marked.len() == 1 { "1 event".to_string() } else { format!("{} events", marked.len()) };
        let entry = (object, None, Some(meant).filter(|m| !m.is_empty()));
        audit::append(&mut tx, (by.org, by.actor, by.now), "event.acknowledge", &[entry]).await?;
    }
    tx.commit().await?;
    Ok(marked.len() as u64)
}

/// Marks events that are not marked yet, each with an entry of the change log; their identities and domains.
async fn mark(db: &Db, tx: &mut Tx, by: &By<'_>, mut ids: Vec<i64>) -> Result<Vec<(i64, String)>> {
    // In order, so that two calls never wait for each other.
    ids.sort_unstable();
    ids.dedup();
    let mut marked = Vec::new();
    for ids in ids.chunks(IDS) {
        let places: Vec<_> = (4..4 + ids.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "UPDATE events SET ack_by = $2, ack_at = $3 WHERE org = $1 AND ack_at IS NULL AND id IN (SELECT id FROM events \
             WHERE org = $1 AND id IN ({}) ORDER BY id{}) RETURNING id, name",
            places.join(", "),
            db.for_update()
        );
        let mut values = args![by.org.0, by.actor.who.as_str(), micros(by.now)];
        values.extend(ids.iter().map(|id| Arg::from(*id)));
        for r in tx.rows(sql, values).await? {
            marked.push((r.int(0)?, r.text(1)?));
        }
    }
    marked.sort_unstable();
    if marked.is_empty() {
        return Ok(marked);
    }
    let line = |(id, _): &(i64, String)| Line {
        org: by.org,
        kind: log::EVENT,
        name: Some(id.to_string()),
        op: Op::Update,
    };
    let first = log::append(tx, marked.iter().map(line).collect(), by.now).await?;
    let positions = marked.iter().zip(first.0..).map(|((id, _), rv)| args![*id, rv]).collect();
    tx.insert("UPDATE events SET rv = v.column2 FROM (", positions, ") AS v WHERE events.id = v.column1")
        .await?;
    Ok(marked)
}
