// How workers are let in: when, and at which clock they go on.
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
  // Returns true if all are there whom a worker's admission asks: its aggregator is ready, or
  // no shard is between two primaries, and shards have all that the job goes on with.
  bool may_admit(const worker_hello& hello) const;
  // Lets in who waits and may be let in now: workers that came before the rest, and those whose
  // admission was cut short by a death.
  void admit_early(coordinator_effects& out);
  void admit_late(coordinator_effects& out);
  // All calls of an admission are answered. A shard that cannot let a worker in fails that
  // process, which may be dying, and not the job: the launcher starts it again, up to its
  // limit.
  void admitted(std::int64_t now, const call_group& done, const worker_hello& hello,
                coordinator_effects& out);
  // Makes a worker wait until it may be let in; `late`: with what its group knows.
  void wait_early(const worker_hello& hello, ticket requester);
  void admit_or_wait(call_group late, coordinator_effects& out);
  // Refuse those who wait: processes of this rank, ranks that are not of the job, all of a job.
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
  worker_welcome welcome(const job_record& job, std::uint32_t rank,
                         std::uint64_t first_clock) const;

  coordinator_state& state_;
  std::vector<std::pair<worker_hello, ticket>> early_;
  std::vector<call_group> late_;
};

}  // namespace tidegate::policies::coordination
