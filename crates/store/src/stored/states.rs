//! Kept states with their raw answers. The newest state of a name is whole; when another one is kept, it becomes the
//! difference to that one, and every [`CHAIN`]th stays whole. So a difference always needs newer rows, which are deleted
//! later than it is. Raw answers of the newest state are replaced by every look; they become a difference one state
//! later, when they are final.

use super::{Text, answers, is_sampled};
use crate::api::{Error, Record, Result};
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::history::HELD;
use jiff::Timestamp;
use model::detail::{RawAnswer, Snapshot, SnapshotMeta};
use model::ids::{OrgId, SnapshotId, Vantage};
use model::names::DomainName;
use model::observation::Observation;
use std::collections::BTreeMap;

/// Differences that are read, at most, for one state.
const CHAIN: i64 = 32;

/// States kept of a name and vantage: a name that changes with every look must not fill the database.
const KEPT_STATES: i64 = 1000;

/// What a record stores, packed.
pub(crate) struct Packed {
    /// The observation.
    pub(crate) observation: Vec<u8>,
    /// Whether it holds samples of points of presence.
    pub(crate) is_sampled: bool,
    /// The state to be kept, when it differs.
    state: Option<State>,
    /// The raw answers, when there were any.
    raw: Option<Vec<u8>>,
}

struct State {
    summary: String,
    text: Text,
    packed: Vec<u8>,
}

impl Packed {
    pub(crate) fn of(record: &Record) -> Result<Packed> {
        let state = match &record.snapshot {
            Some(summary) => {
                let text = Text::of_state(&record.observation)?;
                let packed = text.pack(None)?;
                Some(State { summary: json(summary)?, text, packed })
            }
            None => None,
        };
        let raw = if record.raw.is_empty() { None } else { Some(Text::of(&record.raw)?.pack(None)?) };
        let observation = Text::of(&record.observation)?.pack(None)?;
        Ok(Packed { observation, is_sampled: is_sampled(&record.observation), state, raw })
    }
}

/// What is to be kept of one scan; `last` is the newest state kept so far.
pub(crate) struct Kept<'a> {
    pub(crate) name: &'a DomainName,
    pub(crate) vantage: &'a Vantage,
    pub(crate) packed: &'a Packed,
    pub(crate) last: Option<i64>,
    pub(crate) at: Timestamp,
}

/// Keeps the states that differ, and the raw answers with the newest state of each name.
pub(crate) async fn keep(tx: &mut Tx, scans: Vec<Kept<'_>>) -> Result<()> {
    let mut firsts = put_first(tx, &scans).await?;
    let (mut replaced, mut raw) = (Vec::new(), Vec::new());
    for scan in &scans {
        let state = match (&scan.packed.state, scan.last) {
            (Some(_), None) => firsts.remove(&(scan.name.to_string(), scan.vantage.0.to_string())),
            (Some(state), Some(_)) => Some(keep_state(tx, scan, state).await?),
            // Nothing was answered: the last answers stay.
            (None, last) => last.filter(|_| scan.packed.raw.is_some()).inspect(|id| replaced.push(*id)),
        };
        if let (Some(state), Some(packed)) = (state, &scan.packed.raw) {
            raw.push(args![state, 0, "", packed.clone(), None::<i64>]);
        }
    }
    if !replaced.is_empty() {
        let places: Vec<_> = (1..=replaced.len()).map(|n| format!("${n}")).collect();
        let sql = format!("DELETE FROM raw_answers WHERE snapshot IN ({})", places.join(", "));
        tx.execute(sql, replaced.into_iter().map(Arg::from).collect()).await?;
    }
    tx.insert("INSERT INTO raw_answers (snapshot, ord, json, packed, base)", raw, "").await.map(drop)
}

/// Adds the first states of names; their numbers by name and vantage.
async fn put_first(tx: &mut Tx, scans: &[Kept<'_>]) -> Result<BTreeMap<(String, String), i64>> {
    let firsts = scans.iter().filter(|s| s.last.is_none());
    let rows = firsts.filter_map(|s| {
        let state = s.packed.state.as_ref()?;
        let (name, vantage) = (s.name.as_str(), s.vantage.0.as_str());
        Some(args![name, vantage, micros(s.at), state.summary.clone(), "", state.packed.clone(), 0])
    });
    let added = tx
        .insert(
            "INSERT INTO snapshots (name, vantage, at, summary, json, packed, chain)",
            rows.collect(),
            "RETURNING name, vantage, id",
        )
        .await?;
    added.iter().map(|r| Ok(((r.text(0)?, r.text(1)?), r.int(2)?))).collect()
}

/// Adds a state and answers its number; the states before it become differences.
async fn keep_state(tx: &mut Tx, scan: &Kept<'_>, state: &State) -> Result<i64> {
    let (name, vantage) = (scan.name.as_str(), scan.vantage.0.as_str());
    let before = tx
        .rows(
            "SELECT id, json, packed, chain, base FROM snapshots WHERE name = $1 AND vantage = $2 \
             ORDER BY id DESC LIMIT 2",
            args![name, vantage],
        )
        .await?;
    let chain = before.first().map(|r| r.int(3)).transpose()?.map_or(0, |n| (n + 1) % CHAIN);
    let row = tx
        .row(
            "INSERT INTO snapshots (name, vantage, at, summary, json, packed, chain) \
             VALUES ($1, $2, $3, $4, '', $5, $6) RETURNING id",
            args![name, vantage, micros(scan.at), state.summary.clone(), state.packed.clone(), chain],
        )
        .await?;
    let id = row.ok_or_else(|| Error::Broken("a new row has no number".into()))?.int(0)?;
    shorten(tx, &before, (id, &state.text, chain)).await?;
    if before.len() < 2 {
        return Ok(id);
    }
    tx.execute(
        "DELETE FROM snapshots WHERE name = $1 AND vantage = $2 AND id <= \
         (SELECT id FROM snapshots WHERE name = $1 AND vantage = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)",
        args![name, vantage, KEPT_STATES],
    )
    .await?;
    Ok(id)
}

/// Makes the state before a new one the difference to it, and the raw answers of the state before that the difference
/// to those of the former. `before` holds the two newest states so far.
async fn shorten(tx: &mut Tx, before: &[Cells], (id, state, chain): (i64, &Text, i64)) -> Result<()> {
    let Some(last) = before.first() else { return Ok(()) };
    if chain > 0 {
        // Read and written again: what an earlier version kept loses its latencies, too.
        if let Some(old) = readable(Text::of_columns(last, 1, None).and_then(|t| t.read::<Observation>()))? {
            let packed = Text::of_state(&old)?.pack(Some(state))?;
            let sql = "UPDATE snapshots SET json = '', packed = $2, base = $3 WHERE id = $1";
            tx.execute(sql, args![last.int(0)?, packed, id]).await?;
        }
    }
    let Some(second) = before.get(1) else { return Ok(()) };
    if second.int_or_null(4)?.is_none() {
        return Ok(());
    }
    let (second, last) = (second.int(0)?, last.int(0)?);
    let (old, base) = (readable(raw_of(tx, second).await)?, readable(raw_of(tx, last).await)?);
    let (Some(old), Some(base)) = (old, base) else { return Ok(()) };
    if old.is_empty() || base.is_empty() {
        return Ok(());
    }
    // The base is written again in one row of today's form, so that its text is what is stored.
    let (old, base) = (Text::of(&old)?, Text::of(&base)?);
    tx.execute("DELETE FROM raw_answers WHERE snapshot = $1 OR snapshot = $2", args![second, last]).await?;
    put_raw(tx, last, base.pack(None)?, None).await?;
    put_raw(tx, second, old.pack(Some(&base))?, Some(last)).await
}

/// What a row holds; `None` where it is damaged, which must not keep new states from being recorded.
fn readable<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Error::Broken(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Stores raw answers; `base` is the state whose answers they are the difference to.
async fn put_raw(tx: &mut Tx, snapshot: i64, packed: Vec<u8>, base: Option<i64>) -> Result<()> {
    let sql = "INSERT INTO raw_answers (snapshot, ord, json, packed, base) VALUES ($1, 0, '', $2, $3)";
    tx.execute(sql, args![snapshot, packed, base]).await.map(drop)
}

/// The raw answers of a state that are no difference.
async fn raw_of(tx: &mut Tx, snapshot: i64) -> Result<Vec<RawAnswer>> {
    let sql = "SELECT json, packed FROM raw_answers WHERE snapshot = $1 ORDER BY ord";
    let rows = tx.rows(sql, args![snapshot]).await?;
    let each = rows.iter().map(|r| answers(r, 0, None)).collect::<Result<Vec<_>>>()?;
    Ok(each.into_iter().flatten().collect())
}

/// The text of the first row, each being the difference to the next one. Columns: `json`, `packed`, then others.
fn unchain(rows: &[Cells]) -> Result<Option<Text>> {
    let mut text = None;
    for r in rows.iter().rev() {
        text = Some(Text::of_columns(r, 0, text.as_ref())?);
    }
    Ok(text)
}

pub(crate) async fn snapshot(db: &Db, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Snapshot> {
    let sql = format!(
        "WITH RECURSIVE chain (id, at, summary, json, packed, base, n) AS ( \
         SELECT s.id, s.at, s.summary, s.json, s.packed, s.base, 0 FROM snapshots s \
         WHERE s.id = $3 AND s.name = $2 AND {HELD} \
         UNION ALL SELECT s.id, s.at, s.summary, s.json, s.packed, s.base, c.n + 1 \
         FROM chain c JOIN snapshots s ON s.id = c.base WHERE c.n < $4) \
         SELECT json, packed, at, summary FROM chain ORDER BY n"
    );
    let rows = db.rows(sql, args![org.0, name.as_str(), id.0, CHAIN]).await?;
    let first = rows.first().ok_or(Error::NotFound)?;
    let meta = SnapshotMeta { id, at: instant(first.int(2)?)?, summary: read_json(&first.text(3)?)? };
    let text = unchain(&rows)?.ok_or(Error::NotFound)?;
    Ok(Snapshot { meta, observation: text.read()? })
}

pub(crate) async fn raw(db: &Db, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Vec<RawAnswer>> {
    let sql = format!(
        "WITH RECURSIVE chain (json, packed, base, ord, n) AS ( \
         SELECT a.json, a.packed, a.base, a.ord, 0 FROM snapshots s LEFT JOIN raw_answers a ON a.snapshot = s.id \
         WHERE s.id = $3 AND s.name = $2 AND {HELD} \
         UNION ALL SELECT a.json, a.packed, a.base, a.ord, c.n + 1 \
         FROM chain c JOIN raw_answers a ON a.snapshot = c.base WHERE c.n < $4) \
         SELECT json, packed FROM chain ORDER BY n, ord"
    );
    let rows = db.rows(sql, args![org.0, name.as_str(), id.0, CHAIN]).await?;
    let first = rows.first().ok_or(Error::NotFound)?;
    if first.bytes_or_null(1)?.is_some() {
        return unchain(&rows)?.map_or(Ok(Vec::new()), |text| text.read());
    }
    // Plain rows are one answer each; a state without raw answers is one row of NULL.
    let plain = rows.iter().filter_map(|r| r.text_or_null(0).transpose());
    plain.map(|text| read_json(&text?)).collect()
}
