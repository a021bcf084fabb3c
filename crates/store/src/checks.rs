//! What organisations say about the interval of checks and about reminders; what they say of a domain is in its row.

use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::api::{Error, Result};
use crate::codec::{json, micros, read_json};
use crate::db::{Arg, Cells, Db, Tx, args};
use jiff::Timestamp;
use model::checks::{Checks, interval_words};
use model::ids::OrgId;
use std::collections::{BTreeMap, BTreeSet};

/// Organisations asked about in one statement.
const TOGETHER: usize = 500;
/// Holdings marked in one statement.
const MARKED: i64 = 1_000;

/// Columns of [`read`] in `items` and `orgs`.
pub(crate) const COLUMNS: &str = "scan_interval_s, expiry_days";

/// What two columns say, of which `first` is the first.
pub(crate) fn read(r: &Cells, first: usize) -> Result<Checks> {
    Ok(Checks {
        interval_s: r.int_or_null(first)?,
        expiry_days: r.text_or_null(first + 1)?.map(|t| read_json(&t)).transpose()?,
    })
}

/// Values of [`COLUMNS`].
pub(crate) fn values(checks: &Checks) -> Result<[Arg; 2]> {
    let days = checks.expiry_days.as_ref().map(json).transpose()?;
    Ok([Arg::from(checks.interval_s), Arg::from(days)])
}

/// For the audit log.
pub(crate) fn words(checks: &Checks) -> Vec<String> {
    let mut out: Vec<String> =
        checks.interval_s.map(|s| format!("checks: {}", interval_words(s))).into_iter().collect();
    out.extend(checks.expiry_days.as_ref().map(|days| {
        let days: Vec<_> = days.iter().map(ToString::to_string).collect();
        format!("reminders: {} days before", days.join(", "))
    }));
    out
}

pub(crate) async fn of(db: &Db, org: OrgId) -> Result<Checks> {
    let row = db.row(format!("SELECT {COLUMNS} FROM orgs WHERE id = $1"), args![org.0]).await?;
    row.map_or(Ok(Checks::default()), |r| read(&r, 0))
}

/// The same of several; those that do not exist are left out.
pub(crate) async fn of_each(db: &Db, orgs: &[OrgId]) -> Result<BTreeMap<OrgId, Checks>> {
    let mut said = BTreeMap::new();
    for part in orgs.chunks(TOGETHER) {
        for r in db.rows(select_each(part.len()), part.iter().map(|org| Arg::from(org.0)).collect()).await? {
            said.insert(OrgId(r.int(0)?), read(&r, 1)?);
        }
    }
    Ok(said)
}

/// Reminder days by organisation.
pub(crate) type DaysOf = BTreeMap<OrgId, Option<Vec<i64>>>;

/// Those of some organisations, read after their holdings were locked: who changes the days locks the holdings too, so what
/// is judged by other days is either refused here or marked by that change.
pub(crate) async fn days_of(tx: &mut Tx, orgs: BTreeSet<OrgId>) -> Result<DaysOf> {
    let mut said = DaysOf::new();
    for part in orgs.into_iter().collect::<Vec<_>>().chunks(TOGETHER) {
        for r in tx.rows(select_each(part.len()), part.iter().map(|org| Arg::from(org.0)).collect()).await? {
            said.insert(OrgId(r.int(0)?), read(&r, 1)?.expiry_days);
        }
    }
    Ok(said)
}

fn select_each(orgs: usize) -> String {
    let places: Vec<_> = (1..=orgs).map(|n| format!("${n}")).collect();
    format!("SELECT id, {COLUMNS} FROM orgs WHERE id IN ({})", places.join(", "))
}

pub(crate) async fn set(db: &Db, org: OrgId, checks: &Checks, log: &Audit) -> Result<()> {
    let mut tx = db.begin().await?;
    let sql = format!("SELECT {COLUMNS} FROM orgs WHERE id = $1{}", db.for_update());
    let old = read(&tx.row(sql, args![org.0]).await?.ok_or(Error::NotFound)?, 0)?;
    if old == *checks {
        return Ok(());
    }
    let [interval, days] = values(checks)?;
    let sql = "UPDATE orgs SET scan_interval_s = $2, expiry_days = $3 WHERE id = $1";
    tx.execute(sql, vec![Arg::from(org.0), interval, days]).await?;
    // Nothing else that is judged follows from what it says.
    if old.expiry_days != checks.expiry_days {
        judge_again(db, &mut tx, org, log.at).await?;
    }
    let said = |c: &Checks| (!c.is_empty()).then(|| words(c).join("; "));
    note(&mut tx, Some(&Audit { old: said(&old), new: said(checks), ..log.clone() })).await?;
    tx.commit().await
}

/// Makes the judgement of an organisation's holdings due: which reminder is next follows from the days that it says. In
/// the order of names, as every transaction that locks several holdings.
async fn judge_again(db: &Db, tx: &mut Tx, org: OrgId, now: Timestamp) -> Result<()> {
    let sql = format!(
        "SELECT name FROM items WHERE org = $1 AND name > $2 AND expiry_days IS NULL ORDER BY name LIMIT $3{}",
        db.for_update()
    );
    let mark = "UPDATE items SET judge_again_at = $4 WHERE org = $1 AND name > $2 AND name <= $3 \
                AND expiry_days IS NULL AND (judge_again_at IS NULL OR judge_again_at > $4)";
    let mut after = String::new();
    loop {
        let rows = tx.rows(sql.clone(), args![org.0, after.as_str(), MARKED]).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        let last = last.text(0)?;
        tx.execute(mark, args![org.0, after.as_str(), last.as_str(), micros(now)]).await?;
        after = last;
    }
}

/// Makes the judgement of all holdings due, in steps of bounded size; how many there are.
pub(crate) async fn judge_all_again(db: &Db, now: Timestamp) -> Result<u64> {
    let page = format!(
        "SELECT name FROM items WHERE org = $1 AND name > $2 ORDER BY name LIMIT $3{}",
        db.for_update()
    );
    let mark = "UPDATE items SET judge_again_at = $4 WHERE org = $1 AND name > $2 AND name <= $3 \
                AND (judge_again_at IS NULL OR judge_again_at > $4)";
    let mut marked = 0;
    for r in db.rows("SELECT DISTINCT org FROM items ORDER BY org", args![]).await? {
        let (org, mut after) = (r.int(0)?, String::new());
        loop {
            let mut tx = db.begin().await?;
            let rows = tx.rows(page.clone(), args![org, after.as_str(), MARKED]).await?;
            let Some(last) = rows.last() else { break };
            let last = last.text(0)?;
            marked += tx.execute(mark, args![org, after.as_str(), last.as_str(), micros(now)]).await?;
            tx.commit().await?;
            after = last;
        }
    }
    Ok(marked)
}

/// The longest interval that anything says.
pub(crate) async fn longest_interval(db: &Db) -> Result<Option<i64>> {
    let mut longest = None;
    for sql in [
        "SELECT MAX(scan_interval_s) FROM items WHERE scan_interval_s IS NOT NULL",
        "SELECT MAX(scan_interval_s) FROM orgs WHERE scan_interval_s IS NOT NULL",
    ] {
        longest = longest.max(db.row(sql, args![]).await?.map(|r| r.int_or_null(0)).transpose()?.flatten());
    }
    Ok(longest)
}
