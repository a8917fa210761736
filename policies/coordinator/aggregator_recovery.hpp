// Aggregators: how they are opened with their job, and how a successor is set up: an aggregator
// that takes the place of another, or that has come to the next coordinator and may be such a
// process. The processes that it pushes to hear of it first, and say which clocks of its sums
// they have (first_clocks); then it is told of its job, its tables and where it goes on; then
// its members are told where it is. Each step may come twice, and then changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/protocol/control_calls.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class aggregator_recovery {
 public:
  explicit aggregator_recovery(coordinator_state& state) : state_(state) {}

  // coordinator_core::aggregator_joined(), aggregator_lost().
  bool joined(std::int64_t now, const std::string& job, std::uint32_t index,
              std::string address, ticket requester, coordinator_effects& out,
              std::uint32_t incarnation);
  void lost(std::int64_t now, const std::string& job, std::uint32_t index,
            const std::string& why, coordinator_effects& out);
  // Adds calls to the group that open the job at all of its aggregators, which have just begun.
  void open(group_id group, std::size_t job, coordinator_effects& out);
  // Sets up the aggregators that wait and whose upstream can tell where they go on.
  void set_up(std::size_t job, coordinator_effects& out);
  // Takes in that all calls of a step of a set-up are answered.
  void told(std::int64_t now, const call_group& done, const aggregator_set_up& step,
            coordinator_effects& out);
  // Tells the aggregator of a worker that the worker has finished: it said farewell to an
  // aggregator that may have died since, and may be gone before it hears of another.
  void tell_finished(const job_record& job, std::uint32_t rank, coordinator_effects& out);

  static bool all_ready(const job_record& job);
  // Returns true if the process that this call lets in has been replaced by another. Such a
  // call, repeated over a new connection, may come after the call that lets in the successor,
  // and is refused then.
  static bool is_replaced(const job_record& job, const shard_call& content);
  std::uint64_t epoch_of(const aggregator_state& aggregator) const;
  // Returns the processes that a sum, or a worker's own pushes, go to: this aggregator, or all
  // processes of shards for no_aggregator.
  std::vector<callee> upstream_of(std::uint32_t aggregator) const;
  // Return the addresses of that aggregator, or of the primaries of all shards, and the epochs
  // that frames to them carry.
  std::vector<std::string> addresses_of(const job_record& job, std::uint32_t aggregator) const;
  std::vector<std::uint64_t> epochs_of(const job_record& job, std::uint32_t aggregator) const;

 private:
  open_job_call call_of(const job_record& job, std::uint32_t aggregator) const;
  void admit_nodes(group_id group, callee above, std::uint32_t aggregator,
                   coordinator_effects& out);
  void make_known_upstream(std::size_t job, std::uint32_t at, coordinator_effects& out);
  void tell(const call_group& known, std::uint32_t at, coordinator_effects& out);
  void admit_members(group_id group, std::uint32_t at, coordinator_effects& out);
  void tell_members(const job_record& job, std::uint32_t at, coordinator_effects& out) const;

  coordinator_state& state_;
};

}  // namespace tidegate::policies::coordination
