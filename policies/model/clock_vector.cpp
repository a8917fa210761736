#include "policies/model/clock_vector.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

clock_vector::clock_vector(std::uint32_t workers) : through_(workers), at_min_(workers) {
  TIDEGATE_ASSERT(workers >= 1, "a job has a worker");
}

void clock_vector::advance(std::uint32_t rank, std::uint64_t through) {
  TIDEGATE_ASSERT(rank < through_.size(), "a rank of the job");
  const auto before = through_.at(rank);
  TIDEGATE_ASSERT(through >= before, "clocks only rise");
  if (through == before) return;
  const bool was_min = before == min_;
  through_.change(rank) = through;
  if (!was_min || --at_min_ > 0) return;
  find_min();
}

void clock_vector::begin(std::uint32_t rank, std::uint64_t through) {
  TIDEGATE_ASSERT(rank < through_.size() && through_.at(rank) == infinity,
                  "a rank that is out");
  through_.change(rank) = through;
  find_min();
}

void clock_vector::find_min() {
  const auto all = through_.all();
  min_ = *std::min_element(all.begin(), all.end());
  at_min_ = static_cast<std::uint32_t>(std::count(all.begin(), all.end(), min_));
}

}  // namespace tidegate::policies
