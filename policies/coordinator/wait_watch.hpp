// Which parts of the cluster wait for which others, and which members are condemned because
// their peers, or the coordinator, cannot reach them (decision 15).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/supervision/reachability_judge.hpp"
#include "policies/supervision/wait_ledger.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class wait_watch {
 public:
  explicit wait_watch(coordinator_state& state);

  // coordinator_core::unreachable(), out_of_reach(), look_at_waits().
  void unreachable(std::int64_t now, const std::string& reporter,
                   std::span<const unreachable_peer> peers);
  void out_of_reach(std::int64_t now, const std::string& address);
  void out_of_reach(std::int64_t now, shard_map::process process, std::uint32_t incarnation);
  void look(std::int64_t now);

  auto reported(std::int64_t now) const { return ledger_.reported(now); }
  const std::vector<condemned_process>& condemned() const { return condemned_; }

 private:
  struct living_member {
    process_name name;  // as the launcher knows its process
    std::uint32_t incarnation = 0;
    loss_cost cost = loss_cost::worker;
  };

  std::optional<living_member> member_at(const std::string& address) const;
  living_member shard_member(std::uint32_t shard, std::uint32_t member) const;
  loss_cost cost_of_all() const;
  loss_cost cost_of_member(std::uint32_t shard, std::uint32_t member) const;
  void condemn(std::int64_t now, const process_name& name, std::uint32_t incarnation,
               const std::string& reason);
  void add_outages(std::int64_t now, std::vector<wait_ledger::wait>& found) const;
  void add_calls(std::vector<wait_ledger::wait>& found) const;
  void add_absences(std::vector<wait_ledger::wait>& found) const;
  static void add_slowest(const job_record& job, std::vector<wait_ledger::wait>& found);

  coordinator_state& state_;
  reachability_judge judge_;
  std::vector<condemned_process> condemned_;
  wait_ledger ledger_;
};

}  // namespace tidegate::policies::coordination
