//! Scans that end together are recorded together: the change log has one writer at a time, so a scan that waits for its
//! turn may as well share it. In: one scan; out: its place in the log once it is written. No scan waits for company:
//! the first goes alone, and those that come while it is written are the next transaction.

use super::{Prepared, write};
use crate::api::{Error, Record, Result};
use crate::db::Db;
use model::ids::LogPosition;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Scans of one transaction. Each number of them has statements of its own, which a connection keeps prepared.
const TOGETHER: usize = 8;

/// Records scans.
pub(crate) struct Recorder {
    db: Db,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// True while a task takes from the queue.
    written: bool,
}

struct Waiting {
    scan: Prepared,
    answer: oneshot::Sender<Result<LogPosition>>,
}

/// The task that writes. Where it ends early (a panic, the end of its runtime), what waits is answered with an error and
/// the next scan starts another.
struct Writer {
    recorder: Arc<Recorder>,
    done: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.done {
            *self.recorder.queue() = Queue::default();
        }
    }
}

impl Recorder {
    pub(crate) fn new(db: Db) -> Arc<Recorder> {
        Arc::new(Recorder { db, queue: Mutex::default() })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a scan. It is recorded also when the caller stops waiting.
    pub(crate) async fn record(self: &Arc<Self>, record: &Record) -> Result<LogPosition> {
        let scan = Prepared::of(record)?;
        let (answer, answered) = oneshot::channel();
        let alone = {
            let mut queue = self.queue();
            queue.waiting.push(Waiting { scan, answer });
            !std::mem::replace(&mut queue.written, true)
        };
        if alone {
            tokio::spawn(Writer { recorder: self.clone(), done: false }.run());
        }
        answered.await.unwrap_or_else(|_| Err(Error::Unavailable("the task that records scans ended".into())))
    }

    /// The next scans to write together: none twice of one name. None is left when it is empty.
    fn next(&self) -> Vec<Waiting> {
        let mut queue = self.queue();
        let mut names = BTreeSet::new();
        let (mut next, mut later) = (Vec::new(), Vec::new());
        for waiting in queue.waiting.drain(..) {
            let (name, vantage) = waiting.scan.key();
            if next.len() < TOGETHER && names.insert((name.to_string(), vantage.to_string())) {
                next.push(waiting);
            } else {
                later.push(waiting);
            }
        }
        queue.waiting = later;
        queue.written = !next.is_empty();
        next
    }

    /// Writes scans together; where that fails because of one of them, each by itself.
    async fn write(&self, scans: &[&Prepared]) -> Vec<Result<LogPosition>> {
        match write(&self.db, scans).await {
            Ok(results) => results,
            Err(Error::Unavailable(reason)) => {
                scans.iter().map(|_| Err(Error::Unavailable(reason.clone()))).collect()
            }
            Err(e) if scans.len() == 1 => vec![Err(e)],
            Err(_) => {
                let mut results = Vec::new();
                for scan in scans {
                    results.push(match write(&self.db, &[scan]).await {
                        Ok(mut one) => one.pop().unwrap_or(Err(Error::Conflict)),
                        Err(e) => Err(e),
                    });
                }
                results
            }
        }
    }
}

impl Writer {
    async fn run(mut self) {
        loop {
            let next = self.recorder.next();
            if next.is_empty() {
                self.done = true;
                return;
            }
            let scans: Vec<&Prepared> = next.iter().map(|w| &w.scan).collect();
            let results = self.recorder.write(&scans).await;
            for (waiting, result) in next.into_iter().zip(results) {
                // A caller that no longer waits needs no answer.
                let _ = waiting.answer.send(result);
            }
        }
    }
}
