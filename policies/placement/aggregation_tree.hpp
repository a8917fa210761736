// Which aggregators a job has, which ranks each sums, and where it hands the sums on.
//
// Sums follow one binary tree over ranks (runtime/kernels/update.hpp), and only the sum of an
// aligned block of ranks is a part of it. So aggregators hand on one sum per such block: fan_in
// makes aligned groups, level by level; the ranks of a host, or of a rack, are cut into as few
// blocks as can be. That gradients are summed on their host, then in their rack, is Parameter
// Hub's (Luo et al., SoCC 2018). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/model/spec.hpp"

namespace tidegate::policies {

// Ranks [first, end) of a job, an aligned block of its tree. Its sum is pushed under its first
// rank.
struct rank_node {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  friend bool operator==(const rank_node&, const rank_node&) = default;
};

inline constexpr std::uint32_t no_aggregator = 0xffff'ffff;

struct aggregator_place {
  std::uint32_t parent = no_aggregator;  // where it hands sums on; no_aggregator: to the shards
  std::uint32_t depth = 0;               // number of aggregators above it
  std::vector<std::uint32_t> members;    // ranks that push to it: of workers, of lower sums
  std::vector<rank_node> nodes;          // the sums that it hands on
};

struct aggregation {
  std::vector<aggregator_place> aggregators;  // parents after their children
  std::vector<std::uint32_t> of_worker;       // by rank: its aggregator, or no_aggregator
  std::vector<std::uint32_t> top;             // ranks that push to shards, ascending

  std::uint32_t depths() const noexcept;  // levels of aggregators
};

// Returns the aggregators of a job, for the workers that it begins with.
aggregation plan_aggregation(const cluster_spec& cluster, const job_spec& job);

// Returns the host of the aggregator's lowest member; null where the cluster names no hosts.
// Valid as long as `cluster`.
const host_spec* host_of_aggregator(const cluster_spec& cluster, const job_spec& job,
                                    const aggregator_place& place) noexcept;

}  // namespace tidegate::policies
