//! The story of the store, told once and run against both databases.
//!
//! SQLite stories run one by one, each in its own file; the PostgreSQL stories share one private cluster, each in
//! its own database.

mod budgets;
mod cluster;
mod crash;
mod history;
mod jobs;
mod lists;
mod log;
mod plain;
mod world;

use world::Place;

macro_rules! stories {
    ($($module:ident::$story:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $story() {
                let folder = tempfile::tempdir().expect("a scratch folder");
                super::$module::$story(&super::Place::Sqlite(folder.path().join("story.db"))).await;
            })*
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn postgres() {
            // Without waiting for the disk: these stories are about what is visible, not about power cuts.
            let Some(cluster) = cluster::Cluster::start("-c fsync=off -c max_connections=200") else { return };
            $({
                println!("on PostgreSQL: {}", stringify!($story));
                let url = cluster.database(stringify!($story)).await;
                $module::$story(&Place::Postgres(url)).await;
            })*
        }
    };
}

stories! {
    budgets::replicas_change_a_budget_one_after_the_other,
    budgets::a_budget_nobody_needs_is_forgotten_and_begins_anew,
    history::a_scan_is_recorded_once_or_not_at_all,
    history::of_several_first_settings_one_counts,
    history::two_scans_of_one_name_conflict,
    history::what_was_said_meanwhile_is_kept,
    history::states_are_kept_with_their_answers,
    history::pruning_keeps_the_newest_change,
    history::organisations_see_only_their_own,
    history::events_are_selected_and_acknowledged_once,
    history::texts_may_hold_anything,
    jobs::workers_never_share_a_job,
    jobs::a_lost_lease_is_retaken_and_fenced,
    jobs::what_a_wrong_clock_put_years_ahead_is_drawn_back,
    jobs::asking_twice_makes_one_job,
    jobs::what_is_asked_for_meanwhile_runs_again,
    jobs::a_rush_of_askers_and_workers_loses_nothing,
    lists::lists_answer_as_a_plain_filter_would,
    lists::lists_follow_every_change_on_every_replica,
    lists::holdings_are_patched_and_judged,
    lists::what_was_taken_is_put_back_whole,
    lists::empty_lists_have_empty_answers,
    log::a_reader_of_the_log_misses_nothing,
    log::migrations_run_once_and_forward,
}
