// How long each worker computes in each clock: a pure function of (seed, rank, clock), so that
// all policies and topologies of a comparison meet the same stragglers. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/simulate/scale/setting.hpp"

namespace tidegate::sim::scale {

class compute_time {
 public:
  compute_time(const compute_spec& spec, std::uint32_t workers, std::uint64_t seed);

  double seconds(std::uint32_t rank, std::uint64_t clock) const;

 private:
  compute_spec spec_;
  std::uint64_t seed_;
  std::vector<std::uint8_t> slow_;
};

}  // namespace tidegate::sim::scale
