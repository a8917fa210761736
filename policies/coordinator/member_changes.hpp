// Workers that join a job while it runs, and workers that leave it for good while the others go
// on (worker_loss_rule::shrink, tidegate scale).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class member_changes {
 public:
  explicit member_changes(coordinator_state& state) : state_(state) {}

  // coordinator_core::scale(), worker_leaves().
  runtime::status scale(std::int64_t now, const std::string& job, std::uint32_t workers,
                        coordinator_effects& out);
  void worker_leaves(std::int64_t now, const std::string& job, std::uint32_t rank,
                     ticket requester, coordinator_effects& out);
  // Begins to let waiting workers leave, where all processes that must be asked are there.
  void let_leave(coordinator_effects& out);
  // Take in that all calls of a step of leaving are answered: first the processes that the rank
  // pushed to refuse its frames and say how far it has come, then all have been told.
  void shut_out(std::int64_t now, const call_group& done, std::uint32_t rank,
                coordinator_effects& out);
  void left_told(std::int64_t now, const call_group& done, coordinator_effects& out);
  // Begins to look for the first clock of a worker that is not of the job yet: a clock that no
  // chunk has come to.
  void begin_joining(const worker_hello& hello, ticket requester, coordinator_effects& out);
  // Take in that all calls of a step of joining are answered: first shards hold a clock, or are
  // beyond it, then all have been told, or have let go of it.
  void held(std::int64_t now, const call_group& done, coordinator_effects& out);
  void joined(const call_group& done, coordinator_effects& out);
  void let_go(const call_group& done, coordinator_effects& out);
  // Returns true while the news that this rank has left is on its way to the shards.
  bool shards_hear_of(std::size_t job, std::uint32_t rank) const;
  // Refuses all requests to leave that wait, of a job that has failed.
  void cancel(std::size_t job, const std::string& why, coordinator_effects& out);

 private:
  bool wait_for_leaving(std::size_t job, std::uint32_t rank, ticket requester);
  void ask_of_sums(const job_record& job, std::uint32_t rank,
                   std::vector<std::vector<staged_call>>& later) const;
  void tell_left(std::size_t job, std::uint32_t rank, std::vector<ticket> waiting,
                 coordinator_effects& out);
  void ask_to_hold(std::size_t job, joining join, std::vector<ticket> waiting,
                   coordinator_effects& out);
  void give_up_joining(const call_group& done, const joining& join, bool stands,
                       coordinator_effects& out);
  void change_membership(std::int64_t now, job_record& job, std::uint32_t rank,
                         std::uint64_t clock, bool joins, coordinator_effects& out);

  coordinator_state& state_;
  std::vector<call_group> leaving_;  // workers that wait for others
};

}  // namespace tidegate::policies::coordination
