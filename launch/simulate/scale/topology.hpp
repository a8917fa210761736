// Who pushes to whom, and on which host everybody is: the plan that a real cluster would have
// (policies/placement/aggregation_tree.hpp, policies/placement/hosts.hpp), by indices. Pure,
// any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/simulate/scale/setting.hpp"

namespace tidegate::sim::scale {

inline constexpr std::uint32_t the_shards = 0xffff'ffff;  // in place of an aggregator

// Where somebody pushes to: an aggregator, and which of its members he is there.
struct uplink {
  std::uint32_t aggregator = the_shards;
  std::uint32_t member = 0;
};

// Who pushes: a worker, or one of the sums that an aggregator hands on.
struct source {
  bool is_worker = true;
  std::uint32_t index = 0;  // rank, or aggregator
  std::uint32_t node = 0;   // of the aggregator
};

struct topology {
  struct relay {
    std::uint32_t host = 0;
    std::vector<source> members;
    std::vector<uplink> nodes;  // what it hands on
  };
  std::uint32_t hosts = 1;                  // of workers; shards have their own
  std::vector<std::uint32_t> host_of_rank;  // by rank
  std::vector<uplink> of_rank;
  std::vector<relay> relays;  // lower ones first
  std::vector<source> top;    // members of the shards
};

topology plan_topology(const setting& combination);

}  // namespace tidegate::sim::scale
