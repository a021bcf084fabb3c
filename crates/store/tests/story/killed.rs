//! Each feature of this version, with the process that leads its transition killed in each state between on and off, and in
//! the middle of each task: another process goes on and ends it right.

use crate::features::{desire, feature};
use crate::uses::{remove_it, use_it};
use crate::world::{ONE, Place, TWO, add, now};
use async_trait::async_trait;
use features::{
    FEATURES, Feature, FeatureStore, Gates, LIVE_SECONDS, Process, Remaining, Runner, Spec, State,
    StoreError, Stored, Task,
};
use jiff::{SignedDuration, Timestamp};
use model::configure::{ServiceKind, ServiceSpec, StoredService};
use std::sync::{Arc, Mutex};
use store::Store;
use tokio::sync::Notify;

type Result<T> = std::result::Result<T, StoreError>;

/// What a process has just done when it is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Moment {
    /// Wrote a state.
    Written(&'static str, State),
    /// Deleted some of the data, and did not say so yet.
    Cleaned(String),
    /// Looked whether people have deleted all of it.
    LookedFor(String),
}

/// A store that does not return to its process after a moment.
struct Mortal {
    inner: Arc<dyn Store>,
    dies_at: Mutex<Option<Moment>>,
    reached: Notify,
}

impl Mortal {
    async fn pass(&self, is_it: impl Fn(&Moment) -> bool) {
        let dies = self.dies_at.lock().unwrap().as_ref().is_some_and(is_it);
        if dies {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl FeatureStore for Mortal {
    async fn features(&self) -> Result<Vec<Stored>> {
        self.inner.features().await
    }
    async fn turning_elsewhere(&self, after: i64, limit: u32) -> Result<Vec<Stored>> {
        self.inner.turning_elsewhere(after, limit).await
    }
    async fn add_feature(&self, feature: &Feature, now: Timestamp) -> Result<()> {
        self.inner.add_feature(feature, now).await
    }
    async fn write_feature(&self, rv: i64, feature: &Feature, now: Timestamp) -> Result<bool> {
        let written = self.inner.write_feature(rv, feature, now).await?;
        let is_it =
            |m: &Moment| matches!(m, Moment::Written(n, s) if *n == feature.name && *s == feature.state);
        self.pass(is_it).await;
        Ok(written)
    }
    async fn settle_feature(&self, rv: i64, name: &str, now: Timestamp) -> Result<bool> {
        self.inner.settle_feature(rv, name, now).await
    }
    async fn forget_feature(&self, name: &str, now: Timestamp) -> Result<()> {
        self.inner.forget_feature(name, now).await
    }
    async fn announce(&self, process: &Process) -> Result<()> {
        self.inner.announce(process).await
    }
    async fn retire(&self, id: Option<&str>, unseen_since: Timestamp) -> Result<()> {
        self.inner.retire(id, unseen_since).await
    }
    async fn processes(&self, since: Timestamp) -> Result<Vec<Process>> {
        self.inner.processes(since).await
    }
    async fn clean(&self, of: (&str, i64), data: &str, now: Timestamp) -> Result<u64> {
        let n = self.inner.clean(of, data, now).await?;
        self.pass(|m| matches!(m, Moment::Cleaned(d) if d == data)).await;
        Ok(n)
    }
    async fn remaining(&self, data: &str) -> Result<Remaining> {
        self.inner.remaining(data).await
    }
    async fn has_remaining(&self, data: &str) -> Result<bool> {
        let is_left = self.inner.has_remaining(data).await?;
        self.pass(|m| matches!(m, Moment::LookedFor(d) if d == data)).await;
        Ok(is_left)
    }
}

struct Member {
    store: Arc<Mortal>,
    runner: Runner<Mortal>,
    gates: Gates,
}

impl Member {
    fn new(inner: &Arc<dyn Store>, id: String, at: Timestamp) -> Self {
        let store =
            Arc::new(Mortal { inner: inner.clone(), dies_at: Mutex::default(), reached: Notify::new() });
        let gates = Gates::default();
        Member { runner: Runner::new(store.clone(), gates.clone(), id, "0.1.0", at), store, gates }
    }

    async fn tick(&self, at: Timestamp) {
        assert_eq!(self.runner.tick(at).await.unwrap().failed, []);
    }
}

struct World {
    s: Arc<dyn Store>,
    survivor: Member,
    at: Timestamp,
    born: usize,
}

impl World {
    /// Rounds of the survivor alone: enough for a transition that nothing holds up.
    async fn rounds(&mut self) {
        for _ in 0..4 {
            self.at += SignedDuration::from_secs(1);
            self.survivor.tick(self.at).await;
        }
    }

    /// A process that leads this feature as long as it counts as live.
    async fn leader(&mut self, feature: &str) -> Member {
        // Those of before count as dead, whatever their clocks may have been.
        self.at += SignedDuration::from_mins(2);
        let leads = |id: &String| features::leader(feature, [id.as_str(), "survivor"]) == Some(id.as_str());
        let id = (self.born..).map(|n| format!("mortal-{n}")).find(leads).expect("one of them");
        self.born = id.trim_start_matches("mortal-").parse::<usize>().unwrap() + 1;
        let mortal = Member::new(&self.s, id, self.at);
        for _ in 0..3 {
            self.at += SignedDuration::from_secs(1);
            self.survivor.tick(self.at).await;
            mortal.tick(self.at).await;
        }
        mortal
    }

    /// Both go on until the leader has done that, and dies; then the survivor alone, first while the dead one still counts
    /// as live.
    async fn kill(&mut self, mortal: Member, moment: Moment) {
        *mortal.store.dies_at.lock().unwrap() = Some(moment.clone());
        let mut is_dead = false;
        for _ in 0..20 {
            self.at += SignedDuration::from_secs(1);
            tokio::select! {
                biased;
                () = mortal.tick(self.at) => {}
                () = mortal.store.reached.notified() => is_dead = true,
            }
            if is_dead {
                break;
            }
            self.survivor.tick(self.at).await;
        }
        assert!(is_dead, "{moment:?} was not reached");
        drop(mortal);
        self.rounds().await;
    }

    /// The dead one counts as dead, and the survivor goes on.
    async fn takes_over(&mut self) {
        self.at += SignedDuration::from_secs(LIVE_SECONDS);
        self.rounds().await;
    }

    async fn state(&self, spec: &Spec) -> State {
        feature(&*self.s, spec.name).await.state
    }

    async fn use_all(&self, spec: &Spec) {
        for task in spec.tasks() {
            use_it(&*self.s, task.data()).await;
        }
    }

    /// People delete what they have to.
    async fn remove_all(&self, spec: &Spec) {
        for task in spec.tasks() {
            if let Task::WaitUntilGone { data } = &task {
                remove_it(&*self.s, data).await;
            }
        }
    }

    async fn remaining(&self, spec: &Spec) -> u64 {
        let mut sum = 0;
        for task in spec.tasks() {
            sum += self.s.remaining(task.data()).await.unwrap().count;
        }
        sum
    }

    async fn is_off(&self, spec: &Spec, moment: &str) {
        let stored = feature(&*self.s, spec.name).await;
        assert_eq!((stored.state, stored.tasks.len()), (State::Off, 0), "{} {moment}", spec.name);
        assert_eq!(self.remaining(spec).await, 0, "{} {moment}", spec.name);
        assert!(self.survivor.gates.enter(spec.name).is_none(), "{} {moment}", spec.name);
    }

    /// Turned on; its leader dies in the middle.
    async fn on(&mut self, spec: &Spec) {
        if self.state(spec).await == State::On {
            return;
        }
        let mortal = self.leader(spec.name).await;
        desire(&*self.s, spec.name, Some(true)).await;
        self.kill(mortal, Moment::Written(spec.name, State::TurningOn)).await;
        assert_eq!(self.state(spec).await, State::TurningOn, "{}: the dead one reports off", spec.name);
        self.takes_over().await;
        assert_eq!(self.state(spec).await, State::On, "{}", spec.name);
        assert!(self.survivor.gates.enter(spec.name).is_some(), "{}", spec.name);
    }
}

pub async fn a_leader_killed_in_any_state_of_any_feature_is_replaced(place: &Place) {
    let s = place.open().await;
    add(&*s, TWO, &["a.example"]).await;
    let service = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    s.add_service(TWO, &StoredService::new("one".into(), "a.example", service, now()), now()).await.unwrap();
    let survivor = Member::new(&place.open().await, "survivor".into(), now());
    let mut w = World { s, survivor, at: now(), born: 0 };
    w.rounds().await;
    for spec in FEATURES {
        // Killed when it has begun to turn it off, while another process uses it.
        w.on(spec).await;
        w.use_all(spec).await;
        let left = w.remaining(spec).await;
        let held = w.survivor.gates.enter(spec.name).expect("on");
        let mortal = w.leader(spec.name).await;
        desire(&*w.s, spec.name, Some(false)).await;
        w.kill(mortal, Moment::Written(spec.name, State::TurningOff)).await;
        w.takes_over().await;
        assert_eq!(w.state(spec).await, State::TurningOff, "{}: a use runs", spec.name);
        assert_eq!(w.remaining(spec).await, left, "{}: nothing is deleted in use", spec.name);
        drop(held);
        w.remove_all(spec).await;
        w.rounds().await;
        w.is_off(spec, "with uses").await;
        // Killed in each task.
        for task in spec.tasks() {
            w.on(spec).await;
            w.use_all(spec).await;
            let mortal = w.leader(spec.name).await;
            desire(&*w.s, spec.name, Some(false)).await;
            let moment = match &task {
                Task::WaitUntilGone { data } => Moment::LookedFor(data.clone()),
                Task::Clean { data } => {
                    w.remove_all(spec).await;
                    Moment::Cleaned(data.clone())
                }
                Task::Unknown(_) => panic!("{} has a task that this version does not know", spec.name),
            };
            w.kill(mortal, moment).await;
            assert_eq!(w.state(spec).await, State::TurningOff, "{} {task:?}", spec.name);
            assert!(feature(&*w.s, spec.name).await.tasks.contains(&task), "{}: not recorded", spec.name);
            w.takes_over().await;
            if matches!(task, Task::WaitUntilGone { .. }) {
                assert_eq!(w.state(spec).await, State::TurningOff, "{}: objects are left", spec.name);
                w.remove_all(spec).await;
                w.rounds().await;
            }
            w.is_off(spec, &task.words()).await;
        }
        w.on(spec).await;
    }
    assert_eq!(w.s.feature_rows(ONE, "", 99).await.unwrap().len(), FEATURES.len());
}
