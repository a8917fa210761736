// All that a coordinator knows, divided along who owns it. Each part is a class with private
// state; the parts ask each other through this struct. coordinator_core.hpp says what all of it
// does.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "policies/checkpoint/resume.hpp"
#include "policies/coordinator/admission.hpp"
#include "policies/coordinator/aggregator_recovery.hpp"
#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/checkpointing.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/event_log.hpp"
#include "policies/coordinator/job_lifecycle.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/coordinator/member_changes.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/coordinator/replica_manager.hpp"
#include "policies/coordinator/shard_mover.hpp"
#include "policies/coordinator/table_catalog.hpp"
#include "policies/coordinator/wait_watch.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies::coordination {

// What an incarnation of a process has told that follows another in the chain of a shard.
struct follower_times {
  std::uint32_t incarnation = 0;
  shard_times times;
};

struct coordinator_state {
  coordinator_state(cluster_spec spec, std::uint64_t token, const restored_cluster& from,
                    const recorded_cluster& before, std::uint32_t incarnation);
  coordinator_state(const coordinator_state&) = delete;
  coordinator_state& operator=(const coordinator_state&) = delete;

  // Hands a group, all of whose calls are answered, to the part that made it.
  void close(std::int64_t now, call_group& done, coordinator_effects& out);
  // Goes on with the workers that wait for the present change to end: with those that leave,
  // then with those that are to be let in.
  void let_go_on(coordinator_effects& out);
  // Returns the call that opens a job at a shard.
  open_job_call job_call(const job_record& job) const;

  const cluster_spec cluster;
  const std::uint32_t epoch;        // of the run
  const std::uint32_t incarnation;  // of the coordinator, from 1
  const bool goes_on;               // with what is in the journal
  event_log events;
  job_table jobs;
  call_tracker calls;
  table_catalog tables;
  replica_manager replicas;
  std::vector<shard_times> shards;  // of the process that serves each, as it told last
  // Of the other processes of its chain, by shard and number of the member.
  std::map<std::pair<std::uint32_t, std::uint32_t>, follower_times> followers;
  shard_mover mover;
  aggregator_recovery aggregators;
  admission admissions;
  member_changes changes;
  checkpointing checkpoints;
  wait_watch waits;
  job_lifecycle lifecycle;
};

}  // namespace tidegate::policies::coordination
