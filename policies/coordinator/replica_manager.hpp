// The processes of each shard: which leads which in its chain of replicas, which is promoted
// when a primary is gone, which becomes the next replica, and which processes hear of it
// (decisions 9 and 13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/placement/replica_chain.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class replica_manager {
 public:
  explicit replica_manager(coordinator_state& state);

  void go_on(const recorded_cluster& before);
  // coordinator_core::shard_joined(), shard_lost().
  bool joined(std::int64_t now, std::uint32_t shard, std::string address, ticket requester,
              coordinator_effects& out, group_member member);
  bool lost(std::int64_t now, std::uint32_t shard, const std::string& why,
            coordinator_effects& out, std::uint32_t member);
  // Tells each pair of neighbours in all chains which of them leads, once all are in. Processes
  // may know it from the coordinator before this one. Relies on calls to one process being
  // carried out in their order.
  void pair_up(coordinator_effects& out);
  // Takes in that a member is gone, or has another process in its place. Before all are in no
  // process is called; pair_up() does that later.
  void member_left(std::int64_t now, callee member, const std::string& why,
                   coordinator_effects& out);
  // Take in that all calls of a group about a promotion, or about a pair of neighbours, are
  // answered.
  void promoted(std::int64_t now, const promotion& promoted, const runtime::status& result,
                coordinator_effects& out);
  void linked(std::int64_t now, const call_group& done, coordinator_effects& out);
  // Tells `listener`, which pushes to this aggregator or, for no_aggregator, to shards, of all
  // moves there so far.
  void tell_moves_above(const job_record& job, std::uint32_t aggregator,
                        coordinator_effects::tell_moved listener,
                        coordinator_effects& out) const;
  // Appends the state of a shard's chain to coordinator_effects::records.
  void record_group(std::uint32_t shard, coordinator_effects& out) const;

  // Returns the members of the chain that are here. A process that waits to be a replica is not
  // among them: it is told of everything when it becomes one.
  std::vector<callee> members_of(std::uint32_t shard) const;
  callee primary_of(std::uint32_t shard) const {
    return {.index = shard, .aggregator = false, .member = groups_[shard].primary()};
  }
  // Returns the name of a member in messages and events.
  std::string name_of(callee member) const;
  // Returns the name of the process that it is, or is on.
  std::string process_of(callee recipient) const;
  const replica_chain& operator[](std::uint32_t shard) const { return groups_[shard]; }
  replica_chain& group(std::uint32_t shard) { return groups_[shard]; }
  const std::vector<replica_chain>& groups() const { return groups_; }
  // Returns true while a replica is to become the primary of some shard, or of this one.
  bool is_promoting() const { return !promoting_.empty(); }
  bool is_promoting(std::uint32_t shard) const { return promoting_.contains(shard); }
  // Returns true while workers must wait for pairs of neighbours to be told of each other
  // (new_replica::holds_up).
  bool is_linking() const { return linking_ > 0; }

 private:
  void pair_up(std::uint32_t shard, coordinator_effects& out);
  void link(std::uint32_t shard, std::uint32_t at, bool holds_up, coordinator_effects& out);
  void lead_nobody(std::uint32_t shard, std::uint32_t at, coordinator_effects& out);
  void promote(std::uint32_t shard, coordinator_effects& out);
  void tell_moved(std::uint32_t shard, coordinator_effects& out) const;
  bool welcome_replica(std::uint32_t shard, coordinator_effects& out);
  void set_up_replica(std::uint32_t shard, coordinator_effects& out);
  void stage_for_replica(std::vector<staged_call>& calls, std::size_t job,
                         callee recipient) const;
  shard_moved move_of(std::uint32_t shard) const;
  callee in_chain(std::uint32_t shard, std::size_t at) const {
    return {.index = shard, .aggregator = false, .member = groups_[shard].chain()[at].member};
  }
  bool is_first(std::uint32_t shard, std::uint32_t member) const;

  coordinator_state& state_;
  std::vector<replica_chain> groups_;  // by shard
  std::set<std::uint32_t> promoting_;  // shards whose replica is being promoted
  std::uint32_t linking_ = 0;          // pairs of neighbours, new_replica::holds_up
};

}  // namespace tidegate::policies::coordination
