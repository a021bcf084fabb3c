//! Processes that run the lifecycle over a store in memory.

use super::Memory;
use features::{Gates, LIVE_SECONDS, Runner, State};
use jiff::{SignedDuration, Timestamp};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits: the store in memory answers at once.
pub fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store in memory does not wait"),
    }
}

/// A process.
pub struct Member {
    pub runner: Runner<Memory>,
    pub gates: Gates,
    pub use_held: Option<features::Use>,
}

/// Processes over one store.
pub struct World {
    pub store: Arc<Memory>,
    pub members: Vec<Member>,
    pub born: usize,
    pub now: Timestamp,
}

impl World {
    pub fn new(members: usize) -> Self {
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let mut world = World { store: Arc::default(), members: Vec::new(), born: 0, now };
        (0..members).for_each(|_| world.join());
        world.tick_all();
        world
    }

    pub fn join(&mut self) {
        self.born += 1;
        let gates = Gates::default();
        let id = format!("p-{}", self.born);
        let runner = Runner::new(self.store.clone(), gates.clone(), id, "0.1.0", self.now);
        self.members.push(Member { runner, gates, use_held: None });
    }

    pub fn tick(&self, at: usize) {
        assert_eq!(now_or_never(self.members[at].runner.tick(self.now)).unwrap().failed, []);
    }

    pub fn tick_all(&mut self) {
        self.now += SignedDuration::from_secs(1);
        (0..self.members.len()).for_each(|at| self.tick(at));
    }

    /// Time in which dead processes are found to be dead, and what is left of a transition ends.
    pub fn settle(&mut self) {
        self.members.iter_mut().for_each(|m| m.use_held = None);
        (0..LIVE_SECONDS + 6).for_each(|_| self.tick_all());
    }

    pub fn state(&self, name: &str) -> State {
        self.store.feature(name).state
    }
}
