#include "policies/model/clock_vector.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

clock_vector::clock_vector(std::uint32_t workers) : through_(workers, 0), at_min_(workers) {
  TIDEGATE_ASSERT(workers >= 1, "a job has a worker");
}

void clock_vector::advance(std::uint32_t rank, std::uint64_t through) {
  TIDEGATE_ASSERT(rank < through_.size(), "a rank of the job");
  auto& mine = through_[rank];
  TIDEGATE_ASSERT(through >= mine, "clocks only rise");
  if (through == mine) return;
  const bool was_min = mine == min_;
  mine = through;
  if (!was_min || --at_min_ > 0) return;
  min_ = *std::min_element(through_.begin(), through_.end());
  at_min_ = static_cast<std::uint32_t>(std::count(through_.begin(), through_.end(), min_));
}

void clock_vector::begin(std::uint32_t rank, std::uint64_t through) {
  TIDEGATE_ASSERT(rank < through_.size() && through_[rank] == infinity, "a rank that is out");
  through_[rank] = through;
  min_ = *std::min_element(through_.begin(), through_.end());
  at_min_ = static_cast<std::uint32_t>(std::count(through_.begin(), through_.end(), min_));
}

}  // namespace tidegate::policies
