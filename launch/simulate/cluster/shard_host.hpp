// A simulated process of a slot, where shards move: it has a member of the group of each shard
// of its slot, which are processes of their own to the network and end with it. One thread.
#pragma once

#include <map>
#include <vector>

#include "launch/simulate/cluster/cluster_member.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/control_calls.hpp"

namespace tidegate::sim {

class shard_host final : public frameless_process, private cluster_member {
 public:
  shard_host(world& where, process_id id, std::uint32_t host,
             policies::shard_map::process hosted, std::uint32_t incarnation);

  void start() override { enter_cluster(); }

  // The coordinator's word.
  void take(const policies::host_call& call);
  void stop(bool rests);
  // This member is to end, in order.
  void retire(process_id part);

 private:
  void peer_lost(process_id peer) override { lost(peer); }
  void ask_to_join(process_id coordinator, answer_to back) override;
  void gave_up(const runtime::status& why) override;
  void begin(const policies::hosted_member& hosted);

  policies::shard_map::process process_;
  std::uint32_t incarnation_;
  std::map<policies::hosted_member, process_id> parts_;  // 0: begins
};

}  // namespace tidegate::sim
