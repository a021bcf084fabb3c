//! Writes that end together share a transaction: a commit costs what many statements do, and SQLite and the change log
//! have one writer at a time. In: one write; out: its answer once it is written. None waits for company: the first goes
//! alone, and those that come while it is written are the next transaction.

use crate::api::{Error, Result};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Writes of one transaction. Each number of them has statements of its own, which a connection keeps prepared.
const TOGETHER: usize = 8;

/// What can share a transaction.
#[async_trait]
pub(crate) trait Shared: Send + Sync + 'static {
    /// One write.
    type Write: Send + Sync;
    /// What it answers.
    type Answer: Send;

    /// What two writes of one transaction must not have in common.
    fn key(write: &Self::Write) -> String;

    /// Writes some of different keys in one transaction: each wholly or, where it answers an error, not at all.
    ///
    /// # Errors
    /// Nothing was written.
    async fn write(&self, writes: &[&Self::Write]) -> Result<Vec<Result<Self::Answer>>>;
}

/// The writes of one kind that wait.
pub(crate) struct Together<S: Shared> {
    shared: S,
    queue: Mutex<Queue<S>>,
}

struct Queue<S: Shared> {
    waiting: Vec<Waiting<S>>,
    /// True while a task takes from the queue.
    written: bool,
}

struct Waiting<S: Shared> {
    write: S::Write,
    answer: oneshot::Sender<Result<S::Answer>>,
}

/// The task that writes. Where it ends early (a panic, the end of its runtime), what waits is answered with an error and
/// the next write starts another.
struct Writer<S: Shared> {
    together: Arc<Together<S>>,
    done: bool,
}

impl<S: Shared> Drop for Writer<S> {
    fn drop(&mut self) {
        if !self.done {
            *self.together.queue() = Queue { waiting: vec![], written: false };
        }
    }
}

impl<S: Shared> Together<S> {
    pub(crate) fn new(shared: S) -> Arc<Self> {
        Arc::new(Together { shared, queue: Mutex::new(Queue { waiting: vec![], written: false }) })
    }

    fn queue(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes. It is written also when the caller stops waiting.
    pub(crate) async fn write(self: &Arc<Self>, write: S::Write) -> Result<S::Answer> {
        let (answer, answered) = oneshot::channel();
        let alone = {
            let mut queue = self.queue();
            queue.waiting.push(Waiting { write, answer });
            !std::mem::replace(&mut queue.written, true)
        };
        if alone {
            tokio::spawn(Writer { together: self.clone(), done: false }.run());
        }
        answered.await.unwrap_or_else(|_| Err(Error::Unavailable("the task that writes ended".into())))
    }

    /// The next to write together: none twice of one key. None is left when it is empty.
    fn next(&self) -> Vec<Waiting<S>> {
        let mut queue = self.queue();
        let mut keys = BTreeSet::new();
        let (mut next, mut later) = (Vec::new(), Vec::new());
        for waiting in queue.waiting.drain(..) {
            if next.len() < TOGETHER && keys.insert(S::key(&waiting.write)) {
                next.push(waiting);
            } else {
                later.push(waiting);
            }
        }
        queue.waiting = later;
        queue.written = !next.is_empty();
        next
    }

    /// Writes some together; where that fails because of one of them, each by itself.
    async fn write_all(&self, writes: &[&S::Write]) -> Vec<Result<S::Answer>> {
        match self.shared.write(writes).await {
            Ok(results) => results,
            Err(Error::Unavailable(reason)) => {
                writes.iter().map(|_| Err(Error::Unavailable(reason.clone()))).collect()
            }
            Err(e) if writes.len() == 1 => vec![Err(e)],
            Err(_) => {
                let mut results = Vec::new();
                for write in writes {
                    results.push(match self.shared.write(&[write]).await {
                        Ok(mut one) => one.pop().unwrap_or(Err(Error::Conflict)),
                        Err(e) => Err(e),
                    });
                }
                results
            }
        }
    }
}

impl<S: Shared> Writer<S> {
    async fn run(mut self) {
        loop {
            let next = self.together.next();
            if next.is_empty() {
                self.done = true;
                return;
            }
            let writes: Vec<&S::Write> = next.iter().map(|w| &w.write).collect();
            let results = self.together.write_all(&writes).await;
            for (waiting, result) in next.into_iter().zip(results) {
                // A caller that no longer waits needs no answer.
                let _ = waiting.answer.send(result);
            }
        }
    }
}
