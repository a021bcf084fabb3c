//! The story of the store, told once and run against both databases.
//!
//! SQLite stories run one by one, each in its own file; the PostgreSQL stories share one private cluster, each in
//! its own database.

mod accounts;
mod audited;
mod budgets;
mod channels;
mod checks;
mod claims;
mod cluster;
mod crash;
mod digests;
mod events;
mod features;
mod fleet;
mod history;
mod identities;
mod jobs;
mod killed;
mod leftovers;
mod lists;
mod log;
mod numbers;
mod objects;
mod outbox;
mod own_faults;
mod passkeys;
mod plain;
mod processes;
mod prune;
mod registry;
mod repeats;
mod saved;
mod services;
mod states;
mod together;
mod transitions;
mod uses;
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
                // Boxed where it is made: all stories in one frame are more than a stack holds.
                fn story(place: &Place) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>> {
                    Box::pin($module::$story(place))
                }
                let url = cluster.database(stringify!($story)).await;
                story(&Place::Postgres(url)).await;
            })*
        }
    };
}

stories! {
    own_faults::faults_are_kept_by_process_and_forgotten,
    accounts::people_sign_in_and_are_signed_out_everywhere,
    passkeys::a_challenge_is_answered_once_and_a_passkey_belongs_to_one_person,
    identities::an_account_at_a_provider_is_linked_whole_or_not_at_all,
    accounts::a_second_factor_counts_once_on_whichever_replica,
    accounts::an_organisation_always_has_an_owner,
    accounts::who_leaves_an_organisation_loses_its_sessions,
    accounts::tokens_and_links_end,
    accounts::failures_count_together_and_audit_is_kept_apart,
    accounts::every_change_is_in_the_audit_log_with_old_and_new,
    accounts::a_request_with_a_key_is_carried_out_once,
    audited::claims_of_address_space_are_audited,
    audited::metadata_of_domains_and_cluster_claims_is_audited,
    budgets::replicas_change_a_budget_one_after_the_other,
    budgets::a_budget_nobody_needs_is_forgotten_and_begins_anew,
    channels::channels_and_rules_belong_to_one_organisation,
    channels::changes_of_notification_settings_are_audited,
    channels::secrets_of_channels_are_not_stored_in_clear,
    checks::checks_are_said_of_a_domain_and_of_an_organisation,
    checks::what_is_judged_by_the_days_before_stays_due,
    checks::a_reminder_without_a_scan_is_recorded_once,
    claims::a_claim_is_written_with_its_events_and_its_next_check,
    claims::claims_of_rivals_change_together_and_each_sees_its_own,
    claims::a_holding_notes_since_when_its_claim_counts,
    digests::a_batch_is_in_the_hands_of_one_process_and_whole,
    digests::every_attempt_of_a_digest_has_the_same_rows_and_name,
    digests::failed_messages_are_dropped_one_or_all_with_an_entry,
    digests::what_cannot_be_read_holds_up_no_other_message,
    events::events_are_found_by_what_they_say_and_whom_they_are_about,
    events::all_that_match_are_acknowledged_with_one_entry,
    features::each_feature_goes_on_off_and_on_again_and_leaves_nothing,
    leftovers::leftovers_of_each_feature_are_deleted_while_it_stays_off,
    leftovers::leftovers_are_counted_beyond_a_page_and_a_few_are_named,
    leftovers::samples_of_places_go_in_steps_and_no_scan_brings_them_back,
    leftovers::a_task_of_another_version_is_kept_and_holds_up_its_feature_alone,
    features::a_process_that_dies_in_a_transition_is_replaced,
    features::third_parties_register_their_own,
    features::reports_of_third_parties_survive_the_writes_of_runners,
    features::registered_features_have_a_limit_and_their_turns_are_audited,
    features::asking_is_audited_logged_and_fenced,
    fleet::claims_of_identity_follow_their_rules,
    fleet::joining_renaming_and_leaving_follow_each_other,
    fleet::claims_are_bounded_and_one_is_read_by_its_name,
    fleet::a_token_makes_one_member_and_answers_are_taken_once,
    history::a_scan_is_recorded_once_or_not_at_all,
    history::of_several_first_settings_one_counts,
    history::a_scan_whose_grounds_are_gone_is_judged_again,
    history::two_scans_of_one_name_conflict,
    history::what_was_said_meanwhile_is_kept,
    history::states_are_kept_with_their_answers,
    history::an_observation_is_amended_unless_it_was_written_meanwhile,
    history::pruning_keeps_the_newest_change,
    history::organisations_see_only_their_own,
    history::events_are_selected_and_acknowledged_once,
    history::texts_may_hold_anything,
    together::scans_that_end_together_are_each_whole,
    together::a_scan_that_is_outdated_spoils_no_other,
    together::a_reminder_that_was_recorded_meanwhile_is_not_recorded_twice,
    together::a_caller_that_stops_waiting_stops_no_other,
    jobs::workers_never_share_a_job,
    jobs::a_lost_lease_is_retaken_and_fenced,
    jobs::a_job_whose_worker_dies_every_time_is_parked_and_others_go_on,
    jobs::failed_attempts_back_off_and_are_given_up_with_the_reason,
    jobs::a_success_forgets_failures_and_a_release_counts_no_attempt,
    jobs::active_jobs_are_seen_by_every_replica,
    jobs::jobs_that_end_while_all_are_asked_for_lose_nothing,
    jobs::jobs_that_a_wrong_clock_put_years_ahead_are_rescheduled,
    jobs::asking_twice_makes_one_job,
    jobs::what_is_asked_for_meanwhile_runs_again,
    jobs::what_a_person_asked_for_keeps_its_priority,
    jobs::a_rush_of_askers_and_workers_loses_nothing,
    killed::a_leader_killed_in_any_state_of_any_feature_is_replaced,
    lists::lists_answer_as_a_plain_filter_would,
    lists::lists_follow_every_change_on_every_replica,
    lists::holdings_are_patched_and_judged,
    lists::what_was_taken_is_put_back_whole,
    lists::empty_lists_have_empty_answers,
    log::a_reader_of_the_log_misses_nothing,
    log::a_reader_below_the_pruned_part_is_told_to_read_anew,
    log::migrations_run_once_and_forward,
    numbers::claims_are_allocated_whole_and_released,
    numbers::replicas_that_claim_at_once_never_overlap,
    numbers::a_released_prefix_goes_to_the_claim_that_waited,
    registry::released_prefixes_are_listed_once_and_not_while_they_are_held,
    registry::a_prefix_is_surveyed,
    registry::the_registry_is_read_as_a_copy,
    registry::blocks_are_listed_and_removed,
    numbers::hopeless_claims_starve_no_other,
    registry::blocks_are_those_of_all_claims_of_an_organisation,
    numbers::claims_beyond_the_quota_are_refused_whichever_process_made_the_others,
    objects::what_has_a_finalizer_is_not_deleted,
    objects::a_holding_is_created_with_its_metadata_at_once,
    objects::holdings_have_positions_metadata_and_tombstones,
    objects::objects_that_name_owners_or_wait_are_found_without_the_others,
    registry::names_are_found_by_the_prefix_they_point_into,
    outbox::a_scan_with_events_is_routed_once_for_each_holder,
    outbox::a_deliverer_that_dies_delivers_again_under_the_same_key,
    outbox::failures_back_off_are_given_up_visibly_and_can_be_retried,
    outbox::what_is_not_sent_says_why,
    outbox::what_is_held_waits_together_and_is_released_early,
    prune::many_old_rows_go_in_short_statements_and_after_an_interruption,
    repeats::a_message_is_repeated_once_whoever_delivers_it,
    repeats::repeats_of_several_domains_stay_a_digest,
    repeats::a_message_may_be_repeated_in_parts,
    repeats::a_postponed_repeat_leaves_its_digest,
    repeats::the_row_that_names_a_digest_leaves_it_under_another_name,
    repeats::what_is_postponed_together_is_a_digest_again,
    repeats::a_row_of_a_digest_that_waits_keeps_no_other_back,
    repeats::a_mute_that_ends_early_releases_postponed_repeats,
    saved::a_database_of_schema_13_reads_as_it_did,
    saved::a_database_of_schema_2_reads_as_it_did,
    saved::todays_words_are_the_stored_words,
    services::a_look_is_recorded_once_with_its_event,
    services::links_of_customer_pages_end,
    states::states_are_differences_that_read_as_they_were,
    states::states_of_a_wrong_clock_stay_readable,
    states::a_name_keeps_a_bounded_number_of_states,
    transitions::a_transition_is_when_the_word_changes,
}
