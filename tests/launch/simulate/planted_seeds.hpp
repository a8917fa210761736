// The first seed that finds each planted mistake. Where a seed no longer finds its mistake,
// sim_planted_test searches for another one and fails with the seed to put here.
#pragma once

#include <cstdint>
#include <map>

#include "runtime/base/planted.hpp"

namespace tidegate::sim {

inline const std::map<runtime::planted_bug, std::uint64_t>& planted_seeds() {
  using bug = runtime::planted_bug;
  static const std::map<bug, std::uint64_t> seeds = {
      {bug::sum_in_order_of_arrival, 14},
      {bug::ssp_off_by_one, 2},
      {bug::bsp_waits_only_for_its_own_push, 9},
      {bug::parked_pull_forgotten, 17},
      {bug::credit_leaked, 2},
      {bug::stale_epoch_accepted, 24},
      {bug::duplicate_applied, 5},
      {bug::payload_given_back_early, 1},
      {bug::lease_ignored, 2},
      {bug::aggregator_counts_a_rank_twice, 154},
      {bug::late_worker_dropped, 4},
      {bug::acknowledged_before_applied, 1},
      {bug::half_written_while_read, 2},
      {bug::everything_is_not_waited_for, 4},
      {bug::resent_pull_answered_twice, 28},
      {bug::resumes_where_the_furthest_chunk_is, 214},
      {bug::previous_version_not_kept, 23},
      {bug::held_push_forgotten_at_replacement, 18},
      {bug::lease_ended_by_an_old_push, 13},
      {bug::waiting_frames_forgotten, 22},
      {bug::cut_at_any_version, 4},
      {bug::cut_forgets_who_has_pushed, 1},
      {bug::told_before_recorded, 1},
      {bug::created_table_not_recorded, 3},
      {bug::finished_worker_forgotten_at_restart, 3},
      {bug::opened_tables_forgotten_at_restart, 71},
      {bug::acknowledged_before_replicated, 1},
      {bug::farewell_not_replicated, 67},
      {bug::replica_one_version_ahead, 10},
      {bug::dedupe_forgotten_at_promotion, 33},
      {bug::old_primary_still_serves, 5281},
      {bug::group_not_recorded, 33},
      {bug::older_version_not_kept, 214},
      {bug::aggregator_begins_anew, 20},
      {bug::farewell_forgotten_by_the_next_aggregator, 698},
      {bug::older_version_not_asked_for, 3060},
      {bug::mean_over_those_who_left, 71},
      {bug::leaves_where_the_last_chunk_is, 421},
      {bug::who_left_forgotten_by_the_next_primary, 33},
      {bug::joins_without_a_hold, 1080},
      {bug::copy_acknowledged_before_replicated, 1043},
      {bug::followed_before_the_tail, 22},
      {bug::tail_not_seeded_anew, 937},
      {bug::moved_chunk_lost, 10},
      {bug::nothing_resent_after_reconnect, 7},
      {bug::cut_off_push_not_asked_for, 672},
      {bug::replica_not_connected_again, 58},
      {bug::sums_not_resent_after_reconnect, 31},
      {bug::late_answer_ends_a_reconnect, 7},
      {bug::refused_member_not_asked_again, 119},
      {bug::nobody_is_condemned, 58},
      {bug::broken_control_connection_is_a_death, 82},
      {bug::former_connection_still_a_member, 73},
      {bug::calls_over_the_former_connection, 49},
      {bug::returned_aggregator_not_told_of_moves, 2191},
      {bug::lost_coordinator_not_joined_again, 3},
      {bug::join_not_repeated_when_lost, 97},
      {bug::question_not_asked_again, 3},
      {bug::poll_not_repeated_when_lost, 3},
      {bug::question_of_the_launcher_dropped, 228},
      {bug::launcher_keeps_to_the_former_coordinator, 3},
      {bug::process_spawned_twice, 1},
      {bug::pids_written_a_turn_late, 1},
      {bug::epoch_not_on_record, 107},
      {bug::stopped_launcher_judges_by_old_news, 1564},
      {bug::absent_member_not_condemned, 351},
      {bug::told_though_not_recorded, 3},
      {bug::pids_not_written_again, 3},
      {bug::replica_steps_at_its_own_rate, 1},
      {bug::calls_beyond_a_bound_dropped, 1},
      {bug::state_one_version_late, 1},
      {bug::state_counts_before_it_is_written, 115},
      {bug::state_committed_after_the_push, 1},
      {bug::state_written_over_what_is_needed, 648},
      {bug::last_push_not_held_back, 2},
  };
  return seeds;
}

}  // namespace tidegate::sim
