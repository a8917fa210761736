// The control connections by which the coordinator reaches shards and aggregators, for its
// calls, and workers, for word of shards that have moved: the latest of each place, whether it
// still holds or not. The shell keeps them as processes join. One thread, the port's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/coordinator/control_port.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::actors {

// The place of a shard or aggregator: its job (empty: a shard), index, number in the shard's
// group.
using callee_place = std::tuple<std::string, std::uint32_t, std::uint32_t>;

class call_receivers {
 public:
  void keep_callee(const callee_place& place, const control_peer& peer);
  // The worker of this rank hears of moves from now on. Returns false if a later incarnation
  // does already.
  bool listen(const std::string& job, std::uint32_t rank, std::uint32_t incarnation,
              const control_peer& peer);

  // The process has joined.
  const control_peer& callee(const callee_place& place) const { return callees_.at(place); }
  // Returns null if nobody has joined in this place.
  const control_peer* find_callee(const callee_place& place) const;
  // Returns who is to hear of the move: null for a worker that does not listen yet.
  const control_peer* listener_of(const policies::coordinator_effects::tell_moved& move) const;
  std::vector<control_peer> callees() const;
  // Returns true if this is the connection of any of them.
  bool contains(std::uint64_t handle) const;

 private:
  struct listener {
    std::uint32_t incarnation = 0;
    control_peer peer;
  };

  std::map<callee_place, control_peer> callees_;
  std::map<std::pair<std::string, std::uint32_t>, listener> listeners_;  // by job and rank
};

}  // namespace tidegate::actors
