// Which aggregators a job has, whom each sums, and where it hands the sums on.
//
// Sums follow one binary tree over ranks (runtime/kernels/update.hpp), and only the sum of an
// aligned block of ranks is a part of it. So aggregators hand on one sum per such block: fan_in
// makes aligned groups, level by level; the ranks of a host are cut into as few blocks as they
// have. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/model/spec.hpp"

namespace tidegate::policies {

// Ranks [first, end) of a job, an aligned block of its tree. Known upstream by its first rank.
struct rank_node {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  friend bool operator==(const rank_node&, const rank_node&) = default;
};

inline constexpr std::uint32_t no_aggregator = 0xffff'ffff;

struct aggregator_place {
  std::uint32_t parent = no_aggregator;  // hands on to this one, else to the shards
  std::uint32_t depth = 0;               // aggregators above it
  std::vector<std::uint32_t> members;    // ranks that push to it: workers, nodes of lower ones
  std::vector<rank_node> nodes;          // what it hands on
};

struct aggregation {
  std::vector<aggregator_place> aggregators;  // lower ones first
  std::vector<std::uint32_t> of_worker;       // by rank: its aggregator, or none
  std::vector<std::uint32_t> top;             // ranks that push to shards, ascending

  std::uint32_t depths() const noexcept;  // levels of aggregators
};

aggregation plan_aggregation(const cluster_spec& cluster, const job_spec& job);

// The host of its lowest member; null where the cluster names no hosts.
const host_spec* host_of_aggregator(const cluster_spec& cluster, const job_spec& job,
                                    const aggregator_place& place) noexcept;

}  // namespace tidegate::policies
