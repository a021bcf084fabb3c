//! The queue of leased jobs. In: what is to be done and when; out: each due job at one worker at a time.
//!
//! A job waits until `due_at`. A lease moves `due_at` to the end of the lease and of the wait after it, so the job of a
//! worker that dies comes back by itself; each lease counts as an attempt until the job is completed, and a job that
//! has used them up is parked. The lease number only grows (it is never less than the time of leasing), so the late
//! answer of a worker that lost its job changes nothing, not even a job of the same key queued again.

use crate::api::{Error, Result};
use crate::codec::{instant, micros, span};
use crate::db::{Cells, Db, Tx, args};
use crate::job::{Job, JobKind, JobPhase, JobState, LeasedJob, Priority, QueueStats};
use crate::retry::Retry;
use crate::together::{Shared, Together};
use async_trait::async_trait;
use jiff::Timestamp;
use model::ids::OrgId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// `due_at` of a parked job: later than every instant.
const NEVER: i64 = i64::MAX;
/// Characters of a failure's reason that are kept.
const REASON_MAX: usize = 500;

/// Queues jobs inside a transaction. A parked job is tried again from its first attempt on.
pub(crate) async fn put(tx: &mut Tx, jobs: &[(Job, Timestamp)], priority: Priority) -> Result<()> {
    let mut earliest: BTreeMap<&Job, Timestamp> = BTreeMap::new();
    for (job, at) in jobs {
        let known = earliest.entry(job).or_insert(*at);
        *known = (*known).min(*at);
    }
    let rows = earliest
        .into_iter()
        .map(|(job, at)| {
            args![job.kind().as_str(), job.key(), micros(at), micros(at), priority.number(), 0, 0]
        })
        .collect();
    // While a worker has the job, a new request is put aside until it is done: the job must run again.
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
         attempts = CASE WHEN jobs.parked_at IS NULL THEN jobs.attempts ELSE 0 END, \
         parked_at = NULL, \
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

pub(crate) async fn enqueue(db: &Db, jobs: &[(Job, Timestamp)], priority: Priority) -> Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    put(&mut tx, jobs, priority).await?;
    tx.commit().await
}

pub(crate) async fn lease(
    db: &Db,
    kind: JobKind,
    worker: &str,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<LeasedJob>> {
    let at = micros(now);
    let (word, retry) = (kind.as_str(), kind.policy().retry);
    // An idle queue costs one look into an index and no writer's turn.
    let due =
        db.row("SELECT due_at FROM jobs WHERE kind = $1 AND due_at <= $2 LIMIT 1", args![word, at]).await?;
    if due.is_none() || limit == 0 {
        return Ok(Vec::new());
    }
    let take = format!(
        "WITH picked AS MATERIALIZED (SELECT key AS k FROM jobs \
         WHERE kind = $1 AND priority = $2 AND due_at <= $3 ORDER BY due_at LIMIT $4{}) \
         UPDATE jobs SET lease = CASE WHEN lease >= $3 THEN lease + 1 ELSE $3 END, worker = $5, due_at = $6, \
         attempts = attempts + 1, \
         priority = CASE WHEN asked_at <= $3 AND asked_priority > priority THEN asked_priority ELSE priority END, \
         asked_at = CASE WHEN asked_at > $3 THEN asked_at END, \
         asked_priority = CASE WHEN asked_at > $3 THEN asked_priority END \
         FROM picked WHERE jobs.kind = $1 AND jobs.key = picked.k \
         RETURNING key, run_at, priority, attempts, lease",
        db.skip_locked()
    );
    let again = |attempt: u32, key: &str| at.saturating_add(span(retry.lease + retry.delay(attempt, key)));
    let mut tx = db.begin().await?;
    let mut jobs = Vec::new();
    let mut below = i64::MAX;
    // One step a priority, highest first: each is a range of the index, however long the queue is.
    loop {
        let next = tx
            .row("SELECT MAX(priority) FROM jobs WHERE kind = $1 AND priority < $2", args![word, below])
            .await?;
        let Some(priority) = next.map(|r| r.int_or_null(0)).transpose()?.flatten() else { break };
        let room = i64::from(limit) - i64::try_from(jobs.len()).unwrap_or(i64::MAX);
        let first = again(1, "");
        for r in tx.rows(take.clone(), args![word, priority, at, room, worker, first]).await? {
            let job = LeasedJob {
                job: Job::of(kind, &r.text(0)?),
                run_at: instant(r.int(1)?)?,
                priority: Priority::from_number(r.int(2)?),
                attempt: u32::try_from(r.int(3)?).unwrap_or(u32::MAX),
                lease: r.int(4)?,
            };
            if job.attempt > retry.max_attempts {
                let reason = format!(
                    "{} attempts ended without a result: the process that ran them ended, or was stopped",
                    retry.max_attempts
                );
                park(&mut tx, &job, &reason, at).await?;
                continue;
            }
            if job.attempt > 1 {
                let until = again(job.attempt, job.job.key());
                let sql = "UPDATE jobs SET due_at = $3 WHERE kind = $1 AND key = $2";
                tx.execute(sql, args![word, job.job.key(), until]).await?;
            }
            jobs.push(job);
        }
        if jobs.len() >= limit as usize {
            break;
        }
        below = priority;
    }
    tx.commit().await?;
    jobs.sort_by(|a, b| (b.priority, a.run_at, &a.job).cmp(&(a.priority, b.run_at, &b.job)));
    Ok(jobs)
}

/// Takes a job out of the queue until a person asks for it.
async fn park(tx: &mut Tx, job: &LeasedJob, reason: &str, at: i64) -> Result<()> {
    let reason: String = reason.chars().take(REASON_MAX).collect();
    tx.execute(
        "UPDATE jobs SET due_at = $3, run_at = $3, parked_at = $4, last_error = $5, attempts = $6, priority = 0, \
         worker = NULL, asked_at = NULL, asked_priority = NULL WHERE kind = $1 AND key = $2",
        args![
            job.job.kind().as_str(),
            job.job.key(),
            NEVER,
            at,
            reason,
            i64::from(job.attempt.min(job.job.kind().policy().retry.max_attempts))
        ],
    )
    .await?;
    Ok(())
}

/// What was asked for while the job was leased (`asked_at`, `asked_priority`), locked; `None` when the lease was lost.
async fn held(db: &Db, tx: &mut Tx, job: &LeasedJob) -> Result<Option<(Option<i64>, Option<i64>)>> {
    let find = format!(
        "SELECT asked_at, asked_priority FROM jobs WHERE kind = $1 AND key = $2 AND lease = $3 \
         AND worker IS NOT NULL{}",
        db.for_update()
    );
    let row = tx.row(find, args![job.job.kind().as_str(), job.job.key(), job.lease]).await?;
    row.map(|r| Ok((r.int_or_null(0)?, r.int_or_null(1)?))).transpose()
}

/// A job that was done.
struct Completion {
    job: LeasedJob,
    next: Option<Timestamp>,
    outcome: Option<String>,
    at: Timestamp,
}

/// Completes jobs, those that end together in one transaction.
#[derive(Clone)]
pub(crate) struct Completer(Arc<Together<Completions>>);

impl Completer {
    pub(crate) fn new(db: Db) -> Completer {
        Completer(Together::new(Completions(db)))
    }

    pub(crate) async fn complete(
        &self,
        job: LeasedJob,
        next: Option<Timestamp>,
        outcome: Option<String>,
        at: Timestamp,
    ) -> Result<()> {
        self.0.write(Completion { job, next, outcome, at }).await
    }
}

struct Completions(Db);

#[async_trait]
impl Shared for Completions {
    type Write = Completion;
    type Answer = ();

    fn key(c: &Completion) -> String {
        format!("{} {}", c.job.job.kind().as_str(), c.job.job.key())
    }

    async fn write(&self, all: &[&Completion]) -> Result<Vec<Result<()>>> {
        complete(&self.0, all).await?;
        Ok(all.iter().map(|_| Ok(())).collect())
    }
}

async fn complete(db: &Db, all: &[&Completion]) -> Result<()> {
    let mut tx = db.begin().await?;
    // PostgreSQL locks rows in any order; requests lock them in this one, and another could end in a deadlock.
    if let Db::Postgres(_) = db {
        let jobs: BTreeSet<_> = all.iter().map(|c| (c.job.job.kind().as_str(), c.job.job.key())).collect();
        let jobs = jobs.into_iter().map(|(kind, key)| args![kind, key]).collect();
        let lock = "SELECT 1 FROM jobs WHERE (kind, key) IN (";
        tx.insert(lock, jobs, ") ORDER BY kind, key COLLATE \"C\" FOR UPDATE").await?;
    }
    let gone = all.iter().filter(|c| c.next.is_none());
    let gone: Vec<_> = gone.map(|c| args![c.job.job.kind().as_str(), c.job.job.key(), c.job.lease]).collect();
    tx.insert(
        "DELETE FROM jobs WHERE worker IS NOT NULL AND asked_at IS NULL AND (kind, key, lease) IN (",
        gone,
        ")",
    )
    .await?;
    // Whichever is sooner: the schedule, or what was asked for meanwhile. What a person asked for keeps its priority; the
    // schedule goes back to the ordinary one. A job that has no schedule is still there only when it was asked for.
    let rows = all.iter().map(|c| {
        let (job, next) = (&c.job.job, c.next.map_or(NEVER, micros));
        args![job.kind().as_str(), job.key(), c.job.lease, next, c.outcome.clone(), micros(c.at)]
    });
    tx.insert(
        "UPDATE jobs SET due_at = CASE WHEN asked_at <= v.column4 THEN asked_at ELSE v.column4 END, \
         run_at = CASE WHEN asked_at <= v.column4 THEN asked_at ELSE v.column4 END, \
         priority = CASE WHEN asked_at <= v.column4 OR asked_at <= v.column6 THEN COALESCE(asked_priority, 0) ELSE 0 END, \
         attempts = 0, worker = NULL, last_error = NULL, outcome = v.column5, finished_at = v.column6, \
         asked_at = NULL, asked_priority = NULL FROM (",
        rows.collect(),
        ") AS v WHERE jobs.kind = v.column1 AND jobs.key = v.column2 AND jobs.lease = v.column3 \
         AND jobs.worker IS NOT NULL",
    )
    .await?;
    tx.commit().await
}

pub(crate) async fn fail(db: &Db, job: &LeasedJob, reason: &str, now: Timestamp) -> Result<Retry> {
    let mut tx = db.begin().await?;
    let Some((asked, asked_priority)) = held(db, &mut tx, job).await? else { return Ok(Retry::LeaseLost) };
    let retry = job.job.kind().policy().retry;
    let at = micros(now);
    if job.attempt >= retry.max_attempts {
        park(&mut tx, job, reason, at).await?;
        tx.commit().await?;
        return Ok(Retry::GivenUp);
    }
    let wait = at.saturating_add(span(retry.delay(job.attempt, job.job.key())));
    let due = asked.unwrap_or(wait).min(wait);
    let priority = asked_priority.unwrap_or(0).max(job.priority.number());
    let reason: String = reason.chars().take(REASON_MAX).collect();
    tx.execute(
        "UPDATE jobs SET due_at = $3, priority = $4, last_error = $5, worker = NULL, asked_at = NULL, \
         asked_priority = NULL WHERE kind = $1 AND key = $2",
        args![job.job.kind().as_str(), job.job.key(), due, priority, reason],
    )
    .await?;
    tx.commit().await?;
    Ok(Retry::At(instant(due)?))
}

/// Makes what dead workers held due again. The attempts stay counted: a job that ends its process is parked in the end.
pub(crate) async fn release_lost(db: &Db, now: Timestamp) -> Result<u64> {
    let sql = "UPDATE jobs SET due_at = $1, worker = NULL, lease = lease + 1 WHERE worker IS NOT NULL";
    db.write(sql, args![micros(now)]).await
}

pub(crate) async fn release(db: &Db, job: &LeasedJob, now: Timestamp) -> Result<()> {
    let sql = "UPDATE jobs SET due_at = $4, attempts = attempts - 1, worker = NULL, asked_at = NULL, \
               priority = CASE WHEN asked_priority > priority THEN asked_priority ELSE priority END, \
               asked_priority = NULL WHERE kind = $1 AND key = $2 AND lease = $3 AND worker IS NOT NULL";
    db.write(sql, args![job.job.kind().as_str(), job.job.key(), job.lease, micros(now)]).await?;
    Ok(())
}

const STATE: &str =
    "SELECT key, run_at, priority, attempts, worker, parked_at, last_error, finished_at, outcome FROM jobs";

fn state(kind: JobKind, r: &Cells) -> Result<JobState> {
    let phase = match r.int_or_null(5)? {
        Some(at) => JobPhase::Parked { at: instant(at)? },
        None if r.text_or_null(4)?.is_some() => JobPhase::Running { run_at: instant(r.int(1)?)? },
        None => JobPhase::Waiting { run_at: instant(r.int(1)?)? },
    };
    let outcome = match (r.int_or_null(7)?, r.text_or_null(8)?) {
        (Some(at), Some(outcome)) => Some((instant(at)?, outcome)),
        _ => None,
    };
    Ok(JobState {
        job: Job::of(kind, &r.text(0)?),
        phase,
        priority: Priority::from_number(r.int(2)?),
        attempts: u32::try_from(r.int(3)?).unwrap_or(u32::MAX),
        last_error: r.text_or_null(6)?,
        outcome,
    })
}

pub(crate) async fn states(db: &Db, kind: JobKind, keys: Vec<String>) -> Result<Vec<JobState>> {
    let sql = format!("{STATE} WHERE kind = $1 AND {}", db.any("key", 2));
    db.rows(sql, args![kind.as_str(), keys]).await?.iter().map(|r| state(kind, r)).collect()
}

pub(crate) async fn active(db: &Db, kind: JobKind, limit: u32) -> Result<Vec<JobState>> {
    let sql = format!("{STATE} WHERE kind = $1 AND (worker IS NOT NULL OR priority > 0) LIMIT $2");
    db.rows(sql, args![kind.as_str(), i64::from(limit)]).await?.iter().map(|r| state(kind, r)).collect()
}

pub(crate) async fn parked(db: &Db, kind: JobKind, limit: u32) -> Result<Vec<JobState>> {
    let sql = format!("{STATE} WHERE kind = $1 AND parked_at IS NOT NULL ORDER BY parked_at LIMIT $2");
    db.rows(sql, args![kind.as_str(), i64::from(limit)]).await?.iter().map(|r| state(kind, r)).collect()
}

/// Deletes parked scans of names that are no longer held.
pub(crate) async fn forget_parked_scans(db: &Db, tx: &mut Tx, names: Vec<String>) -> Result<u64> {
    let sql = format!(
        "DELETE FROM jobs WHERE kind = $1 AND {} AND parked_at IS NOT NULL \
         AND NOT EXISTS (SELECT 1 FROM items i WHERE i.name = jobs.key)",
        db.any("key", 2)
    );
    tx.execute(sql, args![JobKind::Scan.as_str(), names]).await
}

/// Deletes the parked checks of services on domains that an organisation removes: the pages that start them again go, too.
pub(crate) async fn forget_parked_services(
    db: &Db,
    tx: &mut Tx,
    org: OrgId,
    names: Vec<String>,
) -> Result<u64> {
    let sql = format!(
        "DELETE FROM jobs WHERE kind = $1 AND parked_at IS NOT NULL \
         AND key IN (SELECT s.id FROM services s WHERE s.org = $2 AND {})",
        db.any("s.name", 3)
    );
    tx.execute(sql, args![JobKind::Service.as_str(), org.0, names]).await
}

/// Deletes the parked job of something that is removed: nothing else would end it.
pub(crate) async fn forget_parked(tx: &mut Tx, job: &Job) -> Result<u64> {
    let sql = "DELETE FROM jobs WHERE kind = $1 AND key = $2 AND parked_at IS NOT NULL";
    tx.execute(sql, args![job.kind().as_str(), job.key()]).await
}

pub(crate) async fn far_future(db: &Db, kind: JobKind, after: Timestamp, limit: u32) -> Result<Vec<Job>> {
    let sql =
        "SELECT key FROM jobs WHERE kind = $1 AND due_at > $2 AND parked_at IS NULL ORDER BY due_at LIMIT $3";
    let rows = db.rows(sql, args![kind.as_str(), micros(after), i64::from(limit)]).await?;
    rows.iter().map(|r| Ok(Job::of(kind, &r.text(0)?))).collect()
}

pub(crate) async fn reschedule_far_future(
    db: &Db,
    after: Timestamp,
    times: &[(Job, Timestamp)],
) -> Result<u64> {
    let mut tx = db.begin().await?;
    let mut moved = 0;
    for (job, at) in times {
        // The lease number stays: the late answer of who held the job completes nothing (`worker` is gone).
        moved += tx
            .execute(
                "UPDATE jobs SET due_at = $4, run_at = $4, worker = NULL, asked_at = NULL, asked_priority = NULL \
                 WHERE kind = $1 AND key = $2 AND due_at > $3 AND parked_at IS NULL",
                args![job.kind().as_str(), job.key(), micros(after), micros(*at)],
            )
            .await?;
    }
    tx.commit().await?;
    Ok(moved)
}

pub(crate) async fn stats(db: &Db, kind: JobKind, now: Timestamp) -> Result<QueueStats> {
    let sql = "SELECT COUNT(*), MIN(due_at), \
               (SELECT COUNT(*) FROM jobs WHERE kind = $1 AND parked_at IS NOT NULL) \
               FROM jobs WHERE kind = $1 AND due_at <= $2";
    let row = db.row(sql, args![kind.as_str(), micros(now)]).await?;
    let r = row.ok_or_else(|| Error::Broken("a count without an answer".into()))?;
    let lag = r.int_or_null(1)?.map_or(Duration::ZERO, |oldest| {
        Duration::from_micros(u64::try_from(micros(now).saturating_sub(oldest)).unwrap_or(0))
    });
    Ok(QueueStats {
        due: u64::try_from(r.int(0)?).unwrap_or(0),
        lag_seconds: lag.as_secs_f64(),
        parked: u64::try_from(r.int(2)?).unwrap_or(0),
    })
}
