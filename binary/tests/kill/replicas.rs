//! Three replicas over one PostgreSQL, killed at random, with a feature turned off meanwhile, and PostgreSQL restarted and
//! failed over to a standby.

use crate::cluster::Cluster;
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::{Kills, ORG, Place, Plan, World, seed, undisturbed};
use features::{LIVE_SECONDS, State, leader};
use jiff::{SignedDuration, Timestamp};
use model::account::Actor;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use store::{FeatureWrite, Store};

/// Turned off in the middle: each step of that is carried out by a leader.
const FEATURE: &str = "domain-connect-apply";
/// Longest wait for what is promised within seconds.
const LIMIT: Duration = Duration::from_secs(90);

/// The process that leads the transition of the feature, as every replica computes it.
async fn leading(store: &dyn Store) -> Option<String> {
    let since = Timestamp::now() - SignedDuration::from_secs(LIVE_SECONDS);
    let live = store.processes(since).await.unwrap();
    leader(FEATURE, live.iter().filter(|p| p.uses.contains_key(FEATURE)).map(|p| p.id.as_str()))
        .map(str::to_string)
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
async fn replicas(count: usize, kills: usize) {
    let Some(mut cluster) = Cluster::start("-c fsync=off -c max_connections=200") else { return };
    let world = World::start(count).await;
    let expected = undisturbed(&world).await;
    let place = Place::Postgres(cluster.url("postgres"));
    let plan = Plan { processes: 3, kills, seed: seed(), leases_end: false };

    let receiver = Receiver::start().await;
    let store = world.prepare(&place, &receiver).await;
    let begin = Instant::now();
    let mut points = Kills::new(&world, &plan);
    let mut running: Vec<Process> = (0..plan.processes).map(|_| Process::spawn(&world, &place)).collect();
    readiness(&running, 200, &world).await;
    let mut leaders = BTreeSet::new();
    for n in 0..kills {
        let which = points.next(n, &world, &receiver, plan.processes).await;
        if n == kills / 3 {
            let write = FeatureWrite {
                name: FEATURE.into(),
                desired: Some(false),
                expected: None,
                metadata: None,
                declared: None,
            };
            store.set_feature(&Actor::system(), ORG, &write, Timestamp::now()).await.unwrap();
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
        leaders.extend(leading(&*store).await);
        running[which].kill();
        assert_eq!(running[which].readyz(), None);
        running[which] = Process::spawn(&world, &place);
    }
    let killed_for = begin.elapsed();
    // Leadership is with a live process as soon as the dead ones count as dead, and the transition ends.
    let ended = Instant::now();
    loop {
        let leads = leading(&*store).await;
        let alive = leads
            .as_ref()
            .is_some_and(|id| running.iter().any(|p| id.split('-').any(|part| part == p.id().to_string())));
        let state = state(&*store).await;
        if alive && state == State::Off {
            leaders.extend(leads);
            break;
        }
        let log = world.log_tail();
        assert!(ended.elapsed() < LIMIT, "{leads:?} leads, {FEATURE} is {state:?}: {log}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(leaders.len() > 1, "one process led all the time");
    readiness(&running, 200, &world).await;
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    assert_eq!(world.outcome(&*store).await, expected);
    let again: u32 = receiver.ids().values().map(|n| n - 1).sum();
    println!(
        "seed {}: {count} domains, 3 processes, {kills} kills, {} of them before the last message, PostgreSQL restarted \
         and failed over once; {} leaders; {} messages, {again} sent again under their id; {:.0} s with kills, {:.0} s in all",
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
#[ignore = "takes minutes: 2,000 domains, 200 kills, leases of killed replicas run out"]
async fn three_replicas_killed_two_hundred_times_while_postgresql_restarts() {
    replicas(2000, 200).await;
}
