// How workers are let in: when, and at which clock they go on. A part of coordinator_state; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class admission {
 public:
  explicit admission(coordinator_state& state) : state_(state) {}

  // coordinator_core::worker_joined(), moves_of().
  bool worker_joined(std::int64_t now, const worker_hello& hello, ticket requester,
                     coordinator_effects& out);
  void moves_of(const std::string& job, std::uint32_t rank, std::uint32_t incarnation,
                coordinator_effects& out);
  // Returns true if all processes are there that the worker's admission asks: all have joined,
  // no shard is between two primaries, shards have all that the job goes on with, and the
  // worker's aggregator, if it has one, is ready.
  bool may_admit(const worker_hello& hello) const;
  // Let in the workers that wait and may be let in now: early ones came before the processes
  // that their admission asks, late ones had their admission cut short by a death.
  void admit_early(coordinator_effects& out);
  void admit_late(coordinator_effects& out);
  // Takes in that all calls of an admission are answered. If a shard cannot let the worker in,
  // the worker's process is refused, and not the job failed: the launcher starts it again, up
  // to its limit. Under worker_loss_rule::fail the job fails.
  void admitted(std::int64_t now, const call_group& done, const worker_hello& hello,
                coordinator_effects& out);
  // Makes a worker wait until it may be let in. `late` is the group of an admission that was
  // cut short; it is begun again at once if the worker may be let in.
  void wait_early(const worker_hello& hello, ticket requester);
  void admit_or_wait(call_group late, coordinator_effects& out);
  // Refuse workers that wait early: processes of this rank, ranks that are absent from the job,
  // all of a job. cancel_late() refuses all of a job that wait late.
  void refuse_early(const std::string& job, std::uint32_t rank, const std::string& why,
                    coordinator_effects& out);
  void refuse_absent(const job_record& job, const std::string& why, coordinator_effects& out);
  void cancel_early(const std::string& job, const std::string& why, coordinator_effects& out);
  void cancel_late(std::size_t job, const std::string& why, coordinator_effects& out);

 private:
  template <class Predicate>
  void refuse_early_if(const Predicate& is_it, const std::string& why,
                       coordinator_effects& out);
  runtime::status check_worker(const worker_hello& hello) const;
  void admit(const worker_hello& hello, ticket requester, coordinator_effects& out);
  void call_for(group_id group, const worker_hello& hello, coordinator_effects& out);
  void admit_again(const call_group& before, coordinator_effects& out);
  void admit_to_job(std::int64_t now, const call_group& done, const worker_hello& hello,
                    coordinator_effects& out);
  static std::uint32_t tables_of(const job_record& job);
  worker_welcome welcome(const job_record& job, std::uint32_t rank,
                         std::uint64_t first_clock) const;

  coordinator_state& state_;
  std::vector<std::pair<worker_hello, ticket>> early_;
  std::vector<call_group> late_;
};

}  // namespace tidegate::policies::coordination
