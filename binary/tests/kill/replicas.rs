//! Three replicas over one PostgreSQL whose clocks differ by a minute, killed at random, with a feature turned off meanwhile,
//! and PostgreSQL restarted and failed over to a standby.

use crate::cluster::Cluster;
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::{Kills, ORG, Place, Plan, World, seed, undisturbed};
use ::features::{State, leader};
use jiff::Timestamp;
use model::account::Actor;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use store::{FeatureWrite, Store};

/// Turned off in the middle: each step of that is carried out by a leader.
const FEATURE: &str = "domain-connect-apply";
/// Longest wait for what is promised within seconds.
const LIMIT: Duration = Duration::from_secs(90);

/// Seconds by which the clocks of the replicas are wrong.
const SKEWS: [&str; 3] = ["-30", "0", "30"];

/// The library that sets a process's wall clock wrong.
struct Skew(PathBuf);

impl Skew {
    /// Compiles it with the C compiler that the linker of Rust programs is.
    fn build(folder: &Path) -> Skew {
        let (source, library) = (folder.join("skew.c"), folder.join("skew.so"));
        std::fs::write(&source, include_str!("skew.c")).unwrap();
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
        assert!(compiled.success());
        Skew(library)
    }

    /// One of the replicas, with its clock.
    fn spawn(&self, which: usize, world: &World, place: &Place) -> Process {
        let library = self.0.to_str().unwrap();
        Process::spawn_with(world, place, &[("LD_PRELOAD", library), ("CLOCK_SKEW", SKEWS[which])])
    }
}

/// What the running replicas announced last.
async fn announced(store: &dyn Store, running: &[Process]) -> Vec<::features::Process> {
    let mut all = store.processes(Timestamp::UNIX_EPOCH).await.unwrap();
    all.retain(|p| running.iter().any(|r| r.is_named(&p.id)));
    all
}

/// The running replica that leads the transition of the feature.
async fn leading(store: &dyn Store, running: &[Process]) -> Option<String> {
    let live = announced(store, running).await;
    leader(FEATURE, live.iter().map(|p| p.id.as_str())).map(str::to_string)
}

/// Asks for the feature to be on or off.
async fn desire(store: &dyn Store, desired: bool) {
    let write = FeatureWrite {
        name: FEATURE.into(),
        desired: Some(desired),
        expected: None,
        metadata: None,
        declared: None,
    };
    store.set_feature(&Actor::system(), ORG, &write, Timestamp::now()).await.unwrap();
}

/// Waits until the feature is as asked for: a live process leads it.
async fn turned(store: &dyn Store, expected: State, world: &World) {
    let begin = Instant::now();
    loop {
        let state = state(store).await;
        if state == expected {
            return;
        }
        assert!(begin.elapsed() < LIMIT, "{FEATURE} is {state:?}: {}", world.log_tail());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until every replica says that it is ready, or that it is not.
async fn readiness(running: &[Process], expected: u16, world: &World) {
    let begin = Instant::now();
    for process in running {
        loop {
            let said = process.readyz();
            if said == Some(expected) {
                break;
            }
            let log = world.log_tail();
            assert!(begin.elapsed() < LIMIT, "/readyz is {said:?} rather than {expected}: {log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The whole of it; `kills` of which the middle one waits for the restart of PostgreSQL.
async fn replicas(count: usize, kills: usize, leases_end: bool) {
    let Some(mut cluster) = Cluster::start("-c fsync=off -c max_connections=200") else { return };
    let world = World::start(count).await;
    let expected = undisturbed(&world).await;
    let place = Place::Postgres(cluster.url("postgres"));
    let plan = Plan { processes: SKEWS.len(), kills, seed: seed(), leases_end };
    let skew = Skew::build(world.folder.path());

    let receiver = Receiver::start().await;
    let store = world.prepare(&place, &receiver).await;
    let begin = Instant::now();
    let mut points = Kills::new(&world, &plan);
    let mut running: Vec<Process> = (0..plan.processes).map(|n| skew.spawn(n, &world, &place)).collect();
    readiness(&running, 200, &world).await;
    while announced(&*store, &running).await.len() < running.len() {
        assert!(begin.elapsed() < LIMIT, "a replica is silent: {}", world.log_tail());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let clocks: Vec<_> = announced(&*store, &running).await.iter().map(|p| p.started_at).collect();
    let apart = clocks.iter().max().unwrap().duration_since(*clocks.iter().min().unwrap());
    assert!((50..=75).contains(&apart.as_secs()), "the clocks differ: {clocks:?}");
    let mut leaders = BTreeSet::new();
    for n in 0..kills {
        let which = points.next(n, &world, &receiver, plan.processes).await;
        if n == kills / 3 {
            desire(&*store, false).await;
        }
        if n == kills / 2 {
            readiness(&running, 200, &world).await;
            cluster.stop();
            readiness(&running, 503, &world).await;
            cluster.start_again();
            readiness(&running, 200, &world).await;
            assert!(running.iter_mut().all(|p| !p.has_ended()), "{}", world.log_tail());
        }
        if n == kills * 3 / 4 {
            readiness(&running, 200, &world).await;
            cluster.add_standby();
            cluster.fail_over();
            readiness(&running, 200, &world).await;
            assert!(running.iter_mut().all(|p| !p.has_ended()), "{}", world.log_tail());
        }
        leaders.extend(leading(&*store, &running).await);
        running[which].kill();
        assert_eq!(running[which].readyz(), None);
        running[which] = skew.spawn(which, &world, &place);
    }
    let killed_for = begin.elapsed();
    if plan.leases_end {
        store.release_lost(Timestamp::now()).await.unwrap();
    }
    turned(&*store, State::Off, &world).await;
    desire(&*store, true).await;
    turned(&*store, State::On, &world).await;
    assert!(leaders.len() > 1, "one process led all the time");
    readiness(&running, 200, &world).await;
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    assert_eq!(world.outcome(&*store).await, expected);
    let again: u32 = receiver.ids().values().map(|n| n - 1).sum();
    println!(
        "seed {}: {count} domains, 3 processes with clocks a minute apart, {kills} kills, {} of them before \
         the last message, PostgreSQL restarted and failed over once; {} leaders; {} messages, {again} sent again under their id; {:.0} s with \
         kills, {:.0} s in all",
        plan.seed,
        points.amid,
        leaders.len(),
        receiver.count(),
        killed_for.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    assert!(points.amid * 10 >= kills * 9, "the cycle was over before the kills");
}

/// Where [`FEATURE`] stands.
async fn state(store: &dyn Store) -> State {
    let all = store.features().await.unwrap();
    all.into_iter().find(|s| s.feature.name == FEATURE).unwrap().feature.state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_with_wrong_clocks_killed_while_postgresql_restarts() {
    replicas(300, 8, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: 2,000 domains, 200 kills, leases of killed replicas run out"]
async fn three_replicas_killed_two_hundred_times_while_postgresql_restarts() {
    replicas(2000, 200, false).await;
}
