// Known mistakes that a simulation can make on purpose: a checker that finds none of them
// proves nothing. Builds with tests have them (TIDEGATE_PLANTED_BUGS), and make none before
// `planted` is set; in others is_planted() is false and the compiler drops what it guards.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

enum class planted_bug : std::uint16_t {
  none,
  sum_in_order_of_arrival,
  ssp_off_by_one,
  bsp_waits_only_for_its_own_push,  // as in ps-lite issue 143
  parked_pull_forgotten,
  credit_leaked,
  stale_epoch_accepted,
  duplicate_applied,
  payload_given_back_early,
  lease_ignored,
  aggregator_counts_a_rank_twice,
  late_worker_dropped,
  acknowledged_before_applied,
  half_written_while_read,
  everything_is_not_waited_for,
  resent_pull_answered_twice,
  resumes_where_the_furthest_chunk_is,
  previous_version_not_kept,
  held_push_forgotten_at_replacement,
  lease_ended_by_an_old_push,
  waiting_frames_forgotten,
  cut_at_any_version,
  cut_forgets_who_has_pushed,
  told_before_recorded,
  created_table_not_recorded,
  finished_worker_forgotten_at_restart,
  opened_tables_forgotten_at_restart,
  acknowledged_before_replicated,
  farewell_not_replicated,
  replica_one_version_ahead,
  dedupe_forgotten_at_promotion,
  old_primary_still_serves,
  group_not_recorded,
  older_version_not_kept,
  aggregator_begins_anew,
  farewell_forgotten_by_the_next_aggregator,
  older_version_not_asked_for,
  mean_over_those_who_left,
  leaves_where_the_last_chunk_is,
  who_left_forgotten_by_the_next_primary,
  joins_without_a_hold,
  copy_acknowledged_before_replicated,
  followed_before_the_tail,
  tail_not_seeded_anew,
  moved_chunk_lost,
  nothing_resent_after_reconnect,
  cut_off_push_not_asked_for,
  replica_not_connected_again,
  sums_not_resent_after_reconnect,
  late_answer_ends_a_reconnect,
  refused_member_not_asked_again,
  nobody_is_condemned,
  broken_control_connection_is_a_death,
  former_connection_still_a_member,
  calls_over_the_former_connection,
  returned_aggregator_not_told_of_moves,
  lost_coordinator_not_joined_again,
  join_not_repeated_when_lost,
  question_not_asked_again,
  poll_not_repeated_when_lost,
  question_of_the_launcher_dropped,
  launcher_keeps_to_the_former_coordinator,
  process_spawned_twice,
  pids_written_a_turn_late,
  epoch_not_on_record,
  stopped_launcher_judges_by_old_news,
  absent_member_not_condemned,
  told_though_not_recorded,
  pids_not_written_again,
  replica_steps_at_its_own_rate,

  // Mistakes of size: only clusters with a thousand tables find them.
  calls_beyond_a_bound_dropped,

  // Mistakes of what workers keep: clusters whose workers keep state find them.
  state_one_version_late,
  state_counts_before_it_is_written,
  state_committed_after_the_push,
  state_written_over_what_is_needed,
  last_push_not_held_back,
  only_last_push_held_after_a_resume,

  // Mistakes of warm spares: clusters that keep some find them.
  spare_taken_twice,
  spare_outlives_its_job,

  // Mistakes of steps that wait for the norm: clusters that clip by it find them.
  norm_not_told_again,
  norm_not_handed_with_steps,
  norm_not_handed_with_seeds,

  // Mistakes of checkpoints: a simulation of disks that fail finds them
  // (sim_checkpoint_planted_test).
  checkpoint_renamed_before_synced = 128,
  checkpoint_folder_not_synced,
  checkpoint_hash_not_checked,
  checkpoint_pruned_too_early,
  checkpoint_believed_before_synced,

  // Mistakes of work on devices: an emulated device finds them (runtime_device_planted_test).
  device_copy_not_waited_for = 160,
  device_copy_on_another_stream,
  device_gradient_given_back_early,
  device_read_before_the_step,
  device_waits_on_the_reactor,
  device_loss_ignored,
  device_result_told_before_it_is_there,
  device_page_taken_while_used,
  device_page_not_moved_out,
  device_page_not_waited_for,

  // Mistakes of shards whose memory works by itself: simulated devices find them.
  frame_ahead_of_its_work = 176,
  device_payload_not_kept,
  part_written_before_it_is_there,
  device_named_unknown_to_the_worker,
  device_named_for_a_late_pull,

  // Mistakes with ranges of tables: simulated workers that push and pull some find them.
  aggregator_sums_gaps = 192,
  untouched_chunk_pushed_again,
  doorbell_run_from_the_begin,
  chunk_found_that_was_not_asked_for,
  untouched_chunks_not_skipped,

  // Mistakes with calls of functions: simulated workers that call some find them.
  call_ends_the_lease = 208,
  call_of_the_current_version,
  call_takes_the_place_of_the_pull,
  // Mistakes with tables of rows: simulated jobs that have some find them.
  row_changes_not_noted = 211,
  row_sum_of_another_clock,
  row_state_not_handed_over,
  row_kept_versions_swapped,
  row_answer_of_the_current_version,
  row_oldest_change_forgotten,
  row_duplicates_take_the_last,
  row_first_values_by_order,
  row_batch_of_the_other_half,
  row_state_not_in_checkpoints,
  row_lease_not_checked,
  row_lease_of_another_version,
  // Mistakes with rows that come and go.
  row_evicted_on_the_primary_only,
  row_evicted_not_noted,
  row_evicted_by_number,
  row_admitted_keeps_its_count,
  row_candidates_not_handed_over,
  row_candidates_not_in_checkpoints,
  row_clock_not_handed_over,
  // Mistakes with checkpoints that have only what has changed.
  checkpoint_base_removed,
  checkpoint_delta_to_another_base,
  checkpoint_delta_from_too_late,
  // Mistakes with rows that are pulled ahead of their use.
  row_erased_not_a_change,
  row_change_of_the_same_clock_missed,
  row_change_of_another_history,
  // Mistakes with reductions of tables.
  aggregator_adds_what_is_reduced,
  // Mistakes with lists of ids that frames name.
  row_list_taken_for_any_name,
  row_list_named_after_a_refusal,
  // Mistakes with rows on devices: an emulated device finds them (runtime_device_rows_test).
  row_slot_taken_while_it_is_read,
  row_read_told_before_it_is_there,
  row_gradient_not_kept,
  row_moved_out_without_its_state,
  row_moved_twice_in_a_step,
  // Likewise where a part has its rows on one (runtime_parts_test).
  row_noted_after_its_step,
  // Mistakes with agents of hosts.
  agent_forgets_reports_when_cut_off,
  orders_not_sent_again,
  agent_outlives_its_launcher,
  agent_of_another_start_admitted,
  host_lost_without_its_processes,
  host_used_again_uncleared,
  // Likewise of the launcher, which simulated hosts find.
  process_stays_on_lost_host,
  // Mistakes with state that is copied to the launcher.
  state_of_an_earlier_stay,
  sent_before_the_state_is_mirrored,
  first_version_not_mirrored,
  mirror_has_room_for_one_version,
  mirror_keeps_versions_of_an_earlier_epoch,
  // Of jobs that end before the run does.
  ended_job_not_told_in_the_next_epoch,
  memory_given_back_under_workers,
  // Mistakes with functions of rows.
  row_made_since_is_there,
  row_erased_since_is_not_there,
  // Mistakes with surveys of hosts: simulated hosts that do not reach each other find them.
  hosts_surveyed_one_way,
  unneeded_pair_ends_the_run,
  lost_host_counts_as_unreached,
  // Mistakes with tables that are opened in many turns.
  table_told_before_made,
};
inline constexpr auto planted_bug_last = planted_bug::replica_steps_at_its_own_rate;
inline constexpr auto planted_size_bug_first = planted_bug::calls_beyond_a_bound_dropped;
inline constexpr auto planted_size_bug_last = planted_bug::calls_beyond_a_bound_dropped;
inline constexpr auto planted_state_bug_first = planted_bug::state_one_version_late;
inline constexpr auto planted_state_bug_last = planted_bug::only_last_push_held_after_a_resume;
inline constexpr auto planted_spare_bug_first = planted_bug::spare_taken_twice;
inline constexpr auto planted_spare_bug_last = planted_bug::spare_outlives_its_job;
inline constexpr auto planted_norm_bug_first = planted_bug::norm_not_told_again;
inline constexpr auto planted_norm_bug_last = planted_bug::norm_not_handed_with_seeds;
inline constexpr auto planted_checkpoint_bug_first =
    planted_bug::checkpoint_renamed_before_synced;
inline constexpr auto planted_checkpoint_bug_last =
    planted_bug::checkpoint_believed_before_synced;
inline constexpr auto planted_device_bug_first = planted_bug::device_copy_not_waited_for;
inline constexpr auto planted_device_bug_last = planted_bug::device_page_not_waited_for;

inline constexpr auto planted_shard_device_bug_first = planted_bug::frame_ahead_of_its_work;
inline constexpr auto planted_shard_device_bug_last = planted_bug::device_named_for_a_late_pull;
inline constexpr auto planted_range_bug_first = planted_bug::aggregator_sums_gaps;
inline constexpr auto planted_range_bug_last = planted_bug::untouched_chunks_not_skipped;
inline constexpr auto planted_call_bug_first = planted_bug::call_ends_the_lease;
inline constexpr auto planted_call_bug_last = planted_bug::call_takes_the_place_of_the_pull;
inline constexpr auto planted_row_bug_first = planted_bug::row_changes_not_noted;
inline constexpr auto planted_lifetime_bug_first = planted_bug::row_evicted_on_the_primary_only;
inline constexpr auto planted_delta_bug_first = planted_bug::checkpoint_base_removed;
inline constexpr auto planted_ahead_bug_first = planted_bug::row_erased_not_a_change;
inline constexpr auto planted_ahead_bug_last = planted_bug::row_change_of_another_history;
inline constexpr auto planted_list_bug_first = planted_bug::row_list_taken_for_any_name;
inline constexpr auto planted_list_bug_last = planted_bug::row_list_named_after_a_refusal;
inline constexpr auto planted_device_row_bug_first =
    planted_bug::row_slot_taken_while_it_is_read;
inline constexpr auto planted_device_row_bug_last = planted_bug::row_moved_twice_in_a_step;
inline constexpr auto planted_agent_bug_first = planted_bug::agent_forgets_reports_when_cut_off;
inline constexpr auto planted_agent_bug_last = planted_bug::host_used_again_uncleared;
inline constexpr auto planted_host_bug_last = planted_bug::process_stays_on_lost_host;
constexpr bool is_bug_of_hosts(planted_bug bug) noexcept {
  return bug >= planted_agent_bug_first && bug <= planted_host_bug_last;
}
inline constexpr auto planted_survey_bug_first = planted_bug::hosts_surveyed_one_way;
inline constexpr auto planted_survey_bug_last = planted_bug::lost_host_counts_as_unreached;
constexpr bool is_bug_of_surveys(planted_bug bug) noexcept {
  return bug >= planted_survey_bug_first && bug <= planted_survey_bug_last;
}
inline constexpr auto planted_mirror_bug_first = planted_bug::state_of_an_earlier_stay;
inline constexpr auto planted_mirror_bug_last =
    planted_bug::mirror_keeps_versions_of_an_earlier_epoch;
constexpr bool is_bug_of_mirrors(planted_bug bug) noexcept {
  return bug >= planted_mirror_bug_first && bug <= planted_mirror_bug_last;
}
inline constexpr auto planted_ending_bug_first =
    planted_bug::ended_job_not_told_in_the_next_epoch;
inline constexpr auto planted_ending_bug_last = planted_bug::memory_given_back_under_workers;
constexpr bool is_bug_of_endings(planted_bug bug) noexcept {
  return bug >= planted_ending_bug_first && bug <= planted_ending_bug_last;
}
inline constexpr auto planted_row_call_bug_first = planted_bug::row_made_since_is_there;
inline constexpr auto planted_row_call_bug_last = planted_bug::row_erased_since_is_not_there;
inline constexpr auto planted_reduction_bug = planted_bug::aggregator_adds_what_is_reduced;
inline constexpr auto planted_opening_bug = planted_bug::table_told_before_made;
inline constexpr auto planted_row_bug_last = planted_bug::checkpoint_delta_from_too_late;

#ifdef TIDEGATE_PLANTED_BUGS
inline planted_bug planted = planted_bug::none;  // which one is there now
inline bool is_planted(planted_bug bug) noexcept {
  return planted == bug;
}
#else
constexpr bool is_planted(planted_bug) noexcept {
  return false;
}
#endif

}  // namespace tidegate::runtime
