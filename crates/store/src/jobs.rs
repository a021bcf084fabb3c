//! The queue of leased jobs. In: what is to be done and when; out: each due job at one worker at a time.
//!
//! A job waits until `due_at`. A lease moves `due_at` to its own end, so a worker that dies gives the job back by
//! doing nothing. The lease number only grows (it is never less than the time of leasing), so the late answer of
//! a worker that lost its job completes nothing, not even a job of the same key queued anew.

use crate::api::{Job, Result};
use crate::codec::{instant, micros, span};
use crate::db::{Db, Tx, args};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Queues jobs inside a transaction.
pub(crate) async fn put(tx: &mut Tx, kind: &str, keys: &[(String, Timestamp)], priority: i32) -> Result<()> {
    let mut earliest: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (key, at) in keys {
        let known = earliest.entry(key).or_insert(*at);
        *known = (*known).min(*at);
    }
    let rows = earliest
        .into_iter()
        .map(|(key, at)| args![kind, key, micros(at), micros(at), i64::from(priority), 0, 0])
        .collect();
    // While a worker has the job, what is asked for is put aside until it is done: it must run again.
    tx.insert(
        "INSERT INTO jobs (kind, key, due_at, run_at, priority, attempts, lease)",
        rows,
        "ON CONFLICT (kind, key) DO UPDATE SET \
         due_at = CASE WHEN jobs.worker IS NULL AND excluded.due_at < jobs.due_at \
                  THEN excluded.due_at ELSE jobs.due_at END, \
         run_at = CASE WHEN jobs.worker IS NULL AND excluded.run_at < jobs.run_at \
                  THEN excluded.run_at ELSE jobs.run_at END, \
         priority = CASE WHEN jobs.worker IS NULL AND excluded.priority > jobs.priority \
                    THEN excluded.priority ELSE jobs.priority END, \
         asked_at = CASE WHEN jobs.worker IS NULL THEN NULL \
                    WHEN jobs.asked_at IS NULL OR excluded.run_at < jobs.asked_at \
                    THEN excluded.run_at ELSE jobs.asked_at END, \
         asked_priority = CASE WHEN jobs.worker IS NULL THEN NULL \
                          WHEN jobs.asked_priority IS NULL OR excluded.priority > jobs.asked_priority \
                          THEN excluded.priority ELSE jobs.asked_priority END",
    )
    .await?;
    Ok(())
}

pub(crate) async fn enqueue_many(
    db: &Db,
    kind: &str,
    keys: &[(String, Timestamp)],
    priority: i32,
) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    put(&mut tx, kind, keys, priority).await?;
    tx.commit().await
}

pub(crate) async fn lease(
    db: &Db,
    kind: &str,
    worker: &str,
    limit: u32,
    lease: Duration,
    now: Timestamp,
) -> Result<Vec<Job>> {
    let at = micros(now);
    // An idle queue costs one look into an index and no writer's turn.
    let due =
        db.row("SELECT due_at FROM jobs WHERE kind = $1 AND due_at <= $2 LIMIT 1", args![kind, at]).await?;
    if due.is_none() || limit == 0 {
        return Ok(Vec::new());
    }
    let take = format!(
        "WITH picked AS MATERIALIZED (SELECT key AS k FROM jobs \
         WHERE kind = $1 AND priority = $2 AND due_at <= $3 ORDER BY due_at LIMIT $4{}) \
         UPDATE jobs SET lease = CASE WHEN lease >= $3 THEN lease + 1 ELSE $3 END, worker = $5, due_at = $6, \
         attempts = attempts + 1, asked_at = CASE WHEN asked_at > $3 THEN asked_at END, \
         asked_priority = CASE WHEN asked_at > $3 THEN asked_priority END \
         FROM picked WHERE jobs.kind = $1 AND jobs.key = picked.k \
         RETURNING key, run_at, priority, attempts, lease",
        db.skip_locked()
    );
    let mut tx = db.begin().await?;
    let mut jobs = Vec::new();
    let mut below = i64::MAX;
    // One step a priority, highest first: each is a range of the index, however long the queue is.
    loop {
        let next = tx
            .row("SELECT MAX(priority) FROM jobs WHERE kind = $1 AND priority < $2", args![kind, below])
            .await?;
        let Some(priority) = next.map(|r| r.int_or_null(0)).transpose()?.flatten() else { break };
        let room = i64::from(limit) - i64::try_from(jobs.len()).unwrap_or(i64::MAX);
        let until = at.saturating_add(span(lease));
        for r in tx.rows(take.clone(), args![kind, priority, at, room, worker, until]).await? {
            jobs.push(Job {
                kind: kind.to_string(),
                key: r.text(0)?,
                run_at: instant(r.int(1)?)?,
                priority: i32::try_from(r.int(2)?).unwrap_or(i32::MAX),
                attempts: i32::try_from(r.int(3)?).unwrap_or(i32::MAX),
                lease: r.int(4)?,
            });
        }
        if jobs.len() >= limit as usize {
            break;
        }
        below = priority;
    }
    tx.commit().await?;
    jobs.sort_by(|a, b| (-a.priority, a.run_at, &a.key).cmp(&(-b.priority, b.run_at, &b.key)));
    Ok(jobs)
}

pub(crate) async fn complete(db: &Db, job: &Job, again_at: Option<Timestamp>) -> Result<()> {
    let mut tx = db.begin().await?;
    let find = format!(
        "SELECT asked_at, asked_priority FROM jobs WHERE kind = $1 AND key = $2 AND lease = $3 \
         AND worker IS NOT NULL{}",
        db.for_update()
    );
    let held = tx.row(find, args![job.kind.as_str(), job.key.as_str(), job.lease]).await?;
    let Some(held) = held else { return Ok(()) };
    let asked = held.int_or_null(0)?;
    let again = again_at.map(micros);
    match [asked, again].into_iter().flatten().min() {
        None => {
            tx.execute(
                "DELETE FROM jobs WHERE kind = $1 AND key = $2",
                args![job.kind.as_str(), job.key.as_str()],
            )
            .await?;
        }
        Some(next) => {
            // What a person asked for keeps its priority; the schedule goes back to the ordinary one.
            let priority = if asked == Some(next) { held.int_or_null(1)?.unwrap_or(0) } else { 0 };
            tx.execute(
                "UPDATE jobs SET due_at = $3, run_at = $3, priority = $4, attempts = 0, worker = NULL, \
                 asked_at = NULL, asked_priority = NULL WHERE kind = $1 AND key = $2",
                args![job.kind.as_str(), job.key.as_str(), next, priority],
            )
            .await?;
        }
    }
    tx.commit().await
}

pub(crate) async fn due_after(db: &Db, kind: &str, after: Timestamp, limit: u32) -> Result<Vec<String>> {
    let sql = "SELECT key FROM jobs WHERE kind = $1 AND due_at > $2 ORDER BY due_at LIMIT $3";
    let rows = db.rows(sql, args![kind, micros(after), i64::from(limit)]).await?;
    rows.iter().map(|r| r.text(0)).collect()
}

pub(crate) async fn draw_back(
    db: &Db,
    kind: &str,
    after: Timestamp,
    times: &[(String, Timestamp)],
) -> Result<u64> {
    let mut tx = db.begin().await?;
    let mut moved = 0;
    for (key, at) in times {
        // The lease number stays: the late answer of who held the job completes nothing (`worker` is gone).
        moved += tx
            .execute(
                "UPDATE jobs SET due_at = $4, run_at = $4, worker = NULL, asked_at = NULL, asked_priority = NULL \
                 WHERE kind = $1 AND key = $2 AND due_at > $3",
                args![kind, key.as_str(), micros(after), micros(*at)],
            )
            .await?;
    }
    tx.commit().await?;
    Ok(moved)
}

pub(crate) async fn queue_lag(db: &Db, kind: &str, now: Timestamp) -> Result<(u64, f64)> {
    let sql = "SELECT COUNT(*), MIN(due_at) FROM jobs WHERE kind = $1 AND due_at <= $2";
    let Some(r) = db.row(sql, args![kind, micros(now)]).await? else { return Ok((0, 0.0)) };
    let count = u64::try_from(r.int(0)?).unwrap_or(0);
    let late = r.int_or_null(1)?.map_or(Duration::ZERO, |oldest| {
        Duration::from_micros(u64::try_from(micros(now).saturating_sub(oldest)).unwrap_or(0))
    });
    Ok((count, late.as_secs_f64()))
}
