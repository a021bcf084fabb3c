//! Real servers killed (SIGKILL) in each state between on and off of each feature, and in each task: on SQLite the server
//! is started again, on PostgreSQL another one takes over. The transition ends right, and leaves nothing.
//!
//! The short form turns all features together; the long form each by itself, with a kill in each of its tasks.

use crate::cluster::Cluster;
use crate::hold::{Hold, Holder};
use crate::process::Process;
use crate::world::{KEY, Place, World};
use ::features::{FEATURES, Feature, Remaining, Spec, State, Task, leader};
use jiff::Timestamp;
use model::configure::{ServiceKind, ServiceSpec, StoredService};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{NewItem, Store};
use uses::{remove_it, use_it};

#[path = "../../../crates/store/tests/story/uses.rs"]
#[allow(dead_code, reason = "the store's tests use more of it")]
mod uses;

/// What `uses` takes from its neighbour: real servers have real clocks.
mod world {
    use jiff::{SignedDuration, Timestamp};
    use model::ids::OrgId;

    pub const ONE: OrgId = OrgId::BUILT_IN;
    pub const TWO: OrgId = OrgId(2);

    pub fn now() -> Timestamp {
        Timestamp::now()
    }

    pub fn later(minutes: i64) -> Timestamp {
        now() + SignedDuration::from_mins(minutes)
    }
}

/// Longest wait for what is promised within seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// What features need to be turned on. Nothing is sent to any of these.
const SETTINGS: &[(&str, &str)] = &[
    ("DOMAINSCOPE_SMTP_URL", "smtp://127.0.0.1:9?tls=none"),
    ("DOMAINSCOPE_MAIL_FROM", "ops@alder.example"),
    ("DOMAINSCOPE_OPEN_TOOLS", "check"),
    ("DOMAINSCOPE_GLOBALPING_URL", "http://127.0.0.1:9"),
];

/// Where some data are stored.
fn table(data: &str) -> &'static str {
    match data {
        "agent-questions" => "agent_work",
        "agent-tokens" => "agent_tokens",
        "channel-tests" | "fleet-key" => "settings",
        "connect-links" => "connect_links",
        "fleet-set" => "cluster_claims",
        "listed-blocks" => "network_blocks",
        "place-samples" => "observations",
        "released-prefixes" => "prefixes",
        "third-party-usage" => "host_budgets",
        other => panic!("{other:?} is in no table that this test knows"),
    }
}

/// Servers over one database, and the features that turn together.
struct Walk<'a> {
    world: &'a World,
    place: &'a Place,
    store: Arc<dyn Store>,
    running: Vec<Process>,
    group: &'a [Spec],
    kills: usize,
}

impl<'a> Walk<'a> {
    async fn start(world: &'a World, place: &'a Place) -> Walk<'a> {
        let store = place.open().await;
        let item = NewItem {
            unicode: "a.example".into(),
            name: model::names::DomainName::trusted("a.example"),
            ownership: model::item::Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        store.add(world::TWO, &[item], world::now()).await.unwrap();
        let service = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
        let service = StoredService::new("one".into(), "a.example", service, world::now());
        store.add_service(world::TWO, &service, world::now()).await.unwrap();
        let mut walk = Walk { world, place, store, running: vec![], group: &[], kills: 0 };
        walk.staff().await;
        walk
    }

    /// As many servers as the database is made for, each of which has announced itself.
    async fn staff(&mut self) {
        let count = if matches!(self.place, Place::Postgres(_)) { 2 } else { 1 };
        while self.running.len() < count {
            self.running.push(Process::spawn_with(self.world, self.place, SETTINGS));
        }
        self.announced(1).await;
    }

    /// The servers that run, as they announce themselves.
    async fn live(&self) -> Vec<::features::Process> {
        let mut all = self.store.processes(Timestamp::UNIX_EPOCH).await.unwrap();
        all.retain(|p| self.running.iter().any(|r| r.is_named(&p.id)));
        all
    }

    /// Waits until each server has announced itself so many times from now on: it then has read what is stored, and done what
    /// is to be done.
    async fn announced(&self, times: u32) {
        for _ in 0..times {
            let (since, begin) = (Timestamp::now(), Instant::now());
            loop {
                let live = self.live().await;
                if live.len() == self.running.len() && live.iter().all(|p| p.seen_at > since) {
                    break;
                }
                assert!(begin.elapsed() < LIMIT, "a server is silent: {}", self.world.log_tail());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Kills the server that leads the first feature. Where it was the only one it starts again.
    async fn kill(&mut self, counts_as_dead: bool) {
        let live = self.live().await;
        let leads = leader(self.group[0].name, live.iter().map(|p| p.id.as_str())).unwrap().to_string();
        let at = self.running.iter().position(|p| p.is_named(&leads)).unwrap();
        self.running.remove(at).kill();
        self.kills += 1;
        if counts_as_dead {
            // As it would after 15 seconds.
            self.store.retire(Some(&leads), Timestamp::UNIX_EPOCH).await.unwrap();
        }
        if self.running.is_empty() {
            self.running.push(Process::spawn_with(self.world, self.place, SETTINGS));
        }
    }

    async fn features(&self) -> Vec<Feature> {
        let mut all: Vec<_> = self.store.features().await.unwrap().into_iter().map(|s| s.feature).collect();
        all.retain(|f| self.group.iter().any(|s| s.name == f.name));
        all
    }

    /// Waits until it is so for all features.
    async fn until(&mut self, what: &str, is_so: impl Fn(&Feature) -> bool) {
        let begin = Instant::now();
        loop {
            let features = self.features().await;
            if features.len() == self.group.len() && features.iter().all(&is_so) {
                return;
            }
            let log = self.world.log_tail();
            let behind: Vec<_> = features.iter().filter(|f| !is_so(f)).collect();
            assert!(begin.elapsed() < LIMIT, "{what}, after {} kills: {behind:?}: {log}", self.kills);
            assert!(self.running.iter_mut().all(|p| !p.has_ended()), "a server ended: {log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// `domainscope features`, as operators run it.
    fn ask(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
        let place = if matches!(self.place, Place::Folder(_)) { "--data" } else { "--database" };
        command.arg("features").args(words).args([place, self.place.at()]);
        let out = command.env("DOMAINSCOPE_SECRET_KEY", KEY).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{words:?}: {text} {}", String::from_utf8_lossy(&out.stderr));
        text
    }

    fn turn(&self, word: &str) {
        for spec in self.group {
            self.ask(&[word, spec.name]);
        }
    }

    /// Each task of the group once.
    fn tasks(&self) -> Vec<Task> {
        let mut all: Vec<Task> = Vec::new();
        for task in self.group.iter().flat_map(Spec::tasks) {
            if !all.contains(&task) {
                all.push(task);
            }
        }
        all
    }

    async fn remaining(&self) -> BTreeMap<String, Remaining> {
        let mut all = BTreeMap::new();
        for task in self.tasks() {
            all.insert(task.data().to_string(), self.store.remaining(task.data()).await.unwrap());
        }
        all
    }

    /// On again, with a kill while a process does not use it yet.
    async fn on(&mut self, counts_as_dead: bool) {
        self.staff().await;
        let holder = Holder::start(&self.store, vec![("holder".into(), BTreeMap::new())]).await;
        self.turn("on");
        self.until("turning on", |f| f.state == State::TurningOn).await;
        self.kill(counts_as_dead).await;
        self.announced(2).await;
        self.until("turning on waits", |f| f.state == State::TurningOn).await;
        holder.end().await;
        self.until("on", |f| f.state == State::On && f.tasks.is_empty()).await;
        self.report(true).await;
    }

    /// The value that each server reports.
    async fn report(&self, value: bool) {
        self.announced(1).await;
        for process in self.live().await {
            for spec in self.group {
                assert_eq!(process.uses[spec.name], value, "{} in {}", spec.name, process.id);
            }
        }
    }

    /// Used, and off, with a kill while a process uses it, one while objects are left, and one in each of these sets of data
    /// that are deleted.
    async fn off(&mut self, cleans: &[Vec<String>], counts_as_dead: bool) {
        self.staff().await;
        let tasks = self.tasks();
        for task in &tasks {
            use_it(&*self.store, task.data()).await;
        }
        let before = self.remaining().await;
        let holder = self.user().await;
        self.turn("off");
        self.until("turning off", |f| f.state == State::TurningOff).await;
        self.kill(true).await;
        self.announced(2).await;
        self.until("off waits for uses", |f| f.state == State::TurningOff).await;
        assert_eq!(self.remaining().await, before, "nothing is deleted in use");
        let mut holder = holder;
        if self.group.iter().any(is_waiting) {
            holder.end().await;
            self.staff().await;
            let is_next = |f: &Feature| matches!(f.tasks.first(), Some(Task::WaitUntilGone { .. }));
            let waits: BTreeSet<_> = self.group.iter().filter(|s| is_waiting(s)).map(|s| s.name).collect();
            let waits = |f: &Feature| !waits.contains(f.name.as_str()) || is_next(f);
            self.kill(true).await;
            self.announced(2).await;
            self.until("off waits for people", |f| waits(f)).await;
            // Deletions begin only when they are held up.
            holder = self.user().await;
            self.announced(1).await;
            for task in &tasks {
                if let Task::WaitUntilGone { data } = task {
                    assert_eq!(self.store.remaining(data).await.unwrap().count, 1, "{data}");
                    remove_it(&*self.store, data).await;
                }
            }
        }
        for data in cleans {
            self.staff().await;
            let hold = Hold::start(self.place, self.world, data.iter().map(|d| table(d)).collect()).await;
            holder.end().await;
            self.deleting(data, &hold).await;
            self.kill(counts_as_dead).await;
            holder = self.user().await;
            hold.end().await;
        }
        holder.end().await;
        self.until("off", |f| f.state == State::Off && f.tasks.is_empty()).await;
        for (data, left) in self.remaining().await {
            assert_eq!(left.count, 0, "{data}: {left:?}");
        }
        self.staff().await;
        self.report(false).await;
    }

    /// A further process for each feature that uses it and does not lead it, unless it is the only one. (One for all would
    /// need a name that loses for each of them: with many features there is hardly any.)
    async fn user(&self) -> Holder {
        let live: Vec<_> = self.live().await.into_iter().map(|p| p.id).collect();
        let follows = |feature: &str, id: &str| {
            live.is_empty() || leader(feature, live.iter().map(String::as_str).chain([id])) != Some(id)
        };
        let user = |spec: &Spec| {
            let mut names = (0..).map(|n| format!("holder-{}-{n}", spec.name));
            let id = names.find(|id| follows(spec.name, id)).unwrap();
            (id, BTreeMap::from([(spec.name.to_string(), true)]))
        };
        Holder::start(&self.store, self.group.iter().map(user).collect()).await
    }

    /// Waits until a server is at the deletion of these data.
    async fn deleting(&self, data: &[String], hold: &Hold) {
        let begin = Instant::now();
        let is_next =
            |f: &Feature| matches!(f.tasks.first(), Some(Task::Clean { data: d }) if data.contains(d));
        loop {
            let is_in_task = self.features().await.iter().any(is_next);
            if is_in_task && hold.is_reached(self.place, self.world).await {
                return;
            }
            let log = self.world.log_tail();
            assert!(
                begin.elapsed() < LIMIT,
                "{data:?} is not being deleted: {:?} {log}",
                self.features().await
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Whether turning it off waits until people have deleted something.
fn is_waiting(spec: &Spec) -> bool {
    spec.tasks().iter().any(|t| matches!(t, Task::WaitUntilGone { .. }))
}

fn cleaned(spec: &Spec) -> Vec<String> {
    let tasks = spec.tasks().into_iter();
    tasks.filter(|t| matches!(t, Task::Clean { .. })).map(|t| t.data().to_string()).collect()
}

/// All features together.
async fn short(place: &Place, world: &World) {
    let mut walk = Walk::start(world, place).await;
    let begin = Instant::now();
    for spec in FEATURES.iter().filter(|s| !s.default) {
        walk.ask(&["on", spec.name, "--wait", "60"]);
    }
    walk.group = FEATURES;
    walk.off(&[FEATURES.iter().flat_map(cleaned).collect()], true).await;
    walk.on(true).await;
    println!("{} features, {} kills in {:.0} s", FEATURES.len(), walk.kills, begin.elapsed().as_secs_f64());
}

/// Each feature by itself; a killed server counts as dead by itself.
async fn long(place: &Place, world: &World) {
    let mut walk = Walk::start(world, place).await;
    let begin = Instant::now();
    for spec in FEATURES {
        walk.group = std::slice::from_ref(spec);
        if !spec.default {
            walk.on(false).await;
        }
        let each: Vec<_> = cleaned(spec).into_iter().map(|data| vec![data]).collect();
        walk.off(&each, false).await;
        walk.on(false).await;
    }
    println!("{} features, {} kills in {:.0} s", FEATURES.len(), walk.kills, begin.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_while_features_turn_goes_on_where_it_was() {
    let world = World::start(1).await;
    short(&Place::folder(&world, "features"), &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_goes_on_where_one_was_killed_while_features_turn() {
    let Some(cluster) = Cluster::start("-c fsync=off") else { return };
    let world = World::start(1).await;
    short(&Place::Postgres(cluster.url("postgres")), &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: each feature, each state, each task"]
async fn a_server_killed_in_each_state_of_each_feature_goes_on_where_it_was() {
    let world = World::start(1).await;
    long(&Place::folder(&world, "features"), &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: each feature, each state, each task"]
async fn another_replica_goes_on_in_each_state_of_each_feature() {
    let Some(cluster) = Cluster::start("-c fsync=off") else { return };
    let world = World::start(1).await;
    long(&Place::Postgres(cluster.url("postgres")), &world).await;
}
