//! The real process killed (SIGKILL) at random points of a scan cycle: the outcome is that of an undisturbed run. No job,
//! event or message is lost or doubled; a message that is sent again carries the same id.
//!
//! Every domain of the cycle expires within the reminder's threshold, so each scan makes one event and one message.
//! `cargo xtask bench kill` runs the long forms and prints their figures; `KILL_SEED` repeats one.

#[path = "../../../crates/store/tests/story/cluster.rs"]
#[allow(dead_code, reason = "the store's tests use more of it")]
mod cluster;
mod features;
mod hold;
mod process;
mod receiver;
mod replicas;
#[path = "../support/mod.rs"]
mod support;
mod world;

use world::{Place, Plan, World, killed, seed, undisturbed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_eight_times_loses_and_doubles_nothing() {
    let world = World::start(150).await;
    let expected = undisturbed(&world).await;
    let plan = Plan { processes: 1, kills: 8, seed: seed(), leases_end: false };
    assert_eq!(killed(&world, &Place::folder(&world, "killed"), &plan).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_killed_six_times_lose_and_double_nothing() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let world = World::start(150).await;
    let expected = undisturbed(&world).await;
    let plan = Plan { processes: 2, kills: 6, seed: seed(), leases_end: true };
    assert_eq!(killed(&world, &Place::Postgres(cluster.url("postgres")), &plan).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: 2,000 domains, 100 kills"]
async fn a_server_killed_a_hundred_times_loses_and_doubles_nothing() {
    let world = World::start(2000).await;
    let expected = undisturbed(&world).await;
    let plan = Plan { processes: 1, kills: 100, seed: seed(), leases_end: false };
    assert_eq!(killed(&world, &Place::folder(&world, "killed"), &plan).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: 2,000 domains, 100 kills, leases of killed replicas run out"]
async fn two_replicas_killed_a_hundred_times_lose_and_double_nothing() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let world = World::start(2000).await;
    let expected = undisturbed(&world).await;
    let plan = Plan { processes: 2, kills: 100, seed: seed(), leases_end: false };
    assert_eq!(killed(&world, &Place::Postgres(cluster.url("postgres")), &plan).await, expected);
}
