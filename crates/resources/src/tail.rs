//! One reader of the change log for all watches of a kind in a namespace. What it reads is made into objects and lines
//! once and kept in a bounded ring, which the watches read at their own pace.

use crate::failure::Failure;
use crate::store::{Objects, position};
use model::ids::{LogPosition, OrgId};
use model::scan::{LogEntry, Op};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Time for which one read of the change log waits for something new.
const WAIT: Duration = Duration::from_secs(30);
/// Octets of memory that an octet of a line stands for: the object is kept beside it, as a tree.
const WEIGHT: usize = 8;

/// Bounds of the memory that shared tails take.
#[derive(Debug, Clone, Copy)]
pub struct TailLimits {
    /// Changes that one tail keeps.
    pub changes: usize,
    /// Octets that one tail keeps, as estimated.
    pub octets: usize,
    /// Octets that all tails of the process keep together. Each keeps its newest change whatever its size.
    pub octets_together: usize,
}

impl Default for TailLimits {
    fn default() -> Self {
        TailLimits { changes: 4_096, octets: 32 << 20, octets_together: 128 << 20 }
    }
}

/// A line of a watch.
pub type WatchLine = Arc<[u8]>;

/// The type of an event about an object (Kubernetes: `watch.Event`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
}

impl EventType {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            EventType::Added => "ADDED",
            EventType::Modified => "MODIFIED",
            EventType::Deleted => "DELETED",
        }
    }
}

/// An entry of the change log with the object it is about.
pub(crate) struct Change {
    pub(crate) rv: LogPosition,
    pub(crate) op: Op,
    pub(crate) name: String,
    /// The object; of a deletion its last state.
    pub(crate) object: Value,
    lines: [OnceLock<WatchLine>; 3],
}

impl Change {
    /// Reads the object of an entry; `None` when it was deleted meanwhile, which a later entry says.
    pub(crate) async fn read(
        objects: &Objects,
        entry: &LogEntry,
        kept: Option<&str>,
    ) -> Result<Option<Self>, Failure> {
        let name = objects.name_of(entry);
        let object = if entry.op == Op::Delete {
            objects.deleted(&name, entry.rv, kept)
        } else {
            match objects.get(&name).await? {
                Some(object) => object,
                None => return Ok(None),
            }
        };
        Ok(Some(Change { rv: entry.rv, op: entry.op, name, object, lines: Default::default() }))
    }

    /// Position of the object, which is later than that of the entry when it was changed again meanwhile.
    pub(crate) fn object_rv(&self) -> LogPosition {
        position(&self.object).max(self.rv)
    }

    /// The change as a line of JSON, made once for all watches.
    pub(crate) fn line(&self, event: EventType) -> WatchLine {
        self.lines[event as usize].get_or_init(|| line(event.as_str(), &self.object)).clone()
    }

    fn weight(&self) -> usize {
        let usual = match self.op {
            Op::Create => EventType::Added,
            Op::Update => EventType::Modified,
            Op::Delete => EventType::Deleted,
        };
        self.line(usual).len() * WEIGHT
    }
}

/// An event of a watch as a line of JSON.
pub(crate) fn line(event: &str, object: &Value) -> WatchLine {
    format!("{{\"type\":\"{event}\",\"object\":{object}}}\n").into_bytes().into()
}

/// The changes that a tail keeps.
struct Ring {
    /// Every change after this position …
    from: LogPosition,
    /// … up to this one is in `changes`.
    read_to: LogPosition,
    changes: VecDeque<(Arc<Change>, usize)>,
    weight: usize,
    end: Option<Failure>,
}

/// The result of reading a tail at a position.
pub(crate) enum Found {
    /// The next changes, in order.
    Changes(Vec<Arc<Change>>),
    /// Nothing; all up to this position was looked at.
    Nothing(LogPosition),
    /// Changes after the position are not kept any more.
    Gone,
    /// The tail ended.
    Ended(Failure),
}

struct Shared {
    ring: Mutex<Ring>,
    /// Wakes the watches; without a receiver no watch is left.
    moved: watch::Sender<()>,
    limits: TailLimits,
    together: Arc<AtomicUsize>,
}

/// A watch's hold on a tail, which ends with the last one.
pub(crate) struct Tail {
    shared: Arc<Shared>,
    moved: watch::Receiver<()>,
}

type Key = (&'static str, OrgId, String);

/// The tails of a process.
#[derive(Clone, Default)]
pub(crate) struct Tails(Arc<TailsInner>);

#[derive(Default)]
struct TailsInner {
    all: Mutex<HashMap<Key, Arc<Shared>>>,
    limits: TailLimits,
    together: Arc<AtomicUsize>,
}

impl Tails {
    pub(crate) fn new(limits: TailLimits) -> Self {
        Tails(Arc::new(TailsInner { limits, ..TailsInner::default() }))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Arc<Shared>>> {
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tail of these objects, which begins at `head` unless there is one. The caller has authorised the watch; the
    /// objects of a kind look the same to every caller of a namespace that may read them.
    pub(crate) fn join(&self, objects: &Objects, head: LogPosition) -> Tail {
        let key = (objects.kind.name, objects.caller.org, objects.namespace.clone());
        let mut all = self.all();
        if let Some(shared) = all.get(&key) {
            return Tail { moved: shared.moved.subscribe(), shared: shared.clone() };
        }
        let ring = Ring { from: head, read_to: head, changes: VecDeque::new(), weight: 0, end: None };
        let (moved, receiver) = watch::channel(());
        let shared = Arc::new(Shared {
            ring: Mutex::new(ring),
            moved,
            limits: self.0.limits,
            together: self.0.together.clone(),
        });
        all.insert(key.clone(), shared.clone());
        tokio::spawn(self.clone().follow(key, shared.clone(), objects.clone()));
        Tail { shared, moved: receiver }
    }

    async fn follow(self, key: Key, shared: Arc<Shared>, objects: Objects) {
        loop {
            let end = tokio::select! {
                end = shared.read_on(&objects) => Some(end),
                () = shared.moved.closed() => None,
            };
            let mut all = self.all();
            // One that joined since the last one left holds the same tail.
            if end.is_none() && shared.moved.receiver_count() > 0 {
                continue;
            }
            all.remove(&key);
            drop(all);
            shared.ring().end = end;
            shared.moved.send_replace(());
            return;
        }
    }
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the change log until that fails.
    async fn read_on(&self, objects: &Objects) -> Failure {
        loop {
            let at = self.ring().read_to;
            let changes = match objects.backend.changes(&objects.caller, at, WAIT).await {
                Ok(changes) => changes,
                Err(e) => return e.into(),
            };
            let Some(entries) = changes.entries else { return Failure::expired() };
            for (entry, kept) in entries.iter().filter(|(e, _)| e.kind == objects.kind.log_kind) {
                match Change::read(objects, entry, kept.as_deref()).await {
                    Ok(Some(change)) => self.push(change),
                    Ok(None) => {}
                    Err(failure) => return failure,
                }
            }
            let mut ring = self.ring();
            ring.read_to = ring.read_to.max(changes.upto);
        }
    }

    fn push(&self, change: Change) {
        let weight = change.weight();
        let mut ring = self.ring();
        ring.read_to = change.rv;
        ring.changes.push_back((Arc::new(change), weight));
        ring.weight += weight;
        self.together.fetch_add(weight, Ordering::Relaxed);
        let limits = &self.limits;
        while ring.changes.len() > 1
            && (ring.changes.len() > limits.changes
                || ring.weight > limits.octets
                || self.together.load(Ordering::Relaxed) > limits.octets_together)
        {
            if let Some((oldest, weight)) = ring.changes.pop_front() {
                ring.from = oldest.rv;
                ring.weight -= weight;
                self.together.fetch_sub(weight, Ordering::Relaxed);
            }
        }
        drop(ring);
        self.moved.send_replace(());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let weight = self.ring().weight;
        self.together.fetch_sub(weight, Ordering::Relaxed);
    }
}

impl Tail {
    /// True when the tail keeps all that comes after a position.
    pub(crate) fn reaches_back_to(&self, at: LogPosition) -> bool {
        at >= self.shared.ring().from
    }

    /// Reads what comes after a position, at most `limit` changes.
    pub(crate) fn after(&mut self, at: LogPosition, limit: usize) -> Found {
        // Marked as seen before the ring is read, so that a change between the two wakes.
        self.moved.borrow_and_update();
        let ring = self.shared.ring();
        if at < ring.from {
            return Found::Gone;
        }
        let first = ring.changes.partition_point(|(c, _)| c.rv <= at);
        if first < ring.changes.len() {
            let next = ring.changes.range(first..).take(limit);
            return Found::Changes(next.map(|(c, _)| c.clone()).collect());
        }
        match &ring.end {
            Some(failure) => Found::Ended(failure.clone()),
            None => Found::Nothing(ring.read_to.max(at)),
        }
    }

    /// Waits until there may be more.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as this hold on the tail.
        let _ = self.moved.changed().await;
    }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
