// By how much ranks came last, of each clock that has closed; where there are many, in sum over
// spans of clocks that grow by powers of two, so that what several shards say of a job can be
// compared. Constant memory: allocates when it is made. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "policies/model/arrivals.hpp"

namespace tidegate::policies::sharding {

class late_spans {
 public:
  explicit late_spans(std::size_t ranks) : most_(std::max(entries_least, 2 * ranks)) {
    entries_.reserve(most_);
  }

  void add(const latest_arrival& late) {
    if (late.late_ns == 0) return;
    if (entries_.size() == most_) widen();
    entries_.push_back(late);
  }
  // Hands over what was added since the last call.
  void take(job_arrivals& into) {
    merge();
    into.span_log2 = span_log2_;
    into.late = entries_;
    entries_.clear();
    span_log2_ = 0;
  }

 private:
  static constexpr std::size_t entries_least = 128;

  // A span that holds all clocks has an entry for each rank at most.
  void widen() {
    for (merge(); 2 * entries_.size() > most_; merge()) ++span_log2_;
  }
  void merge() {
    for (auto& of : entries_) of.clock = of.clock >> span_log2_ << span_log2_;
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.clock, a.rank) < std::tie(b.clock, b.rank);
    });
    std::size_t kept = 0;
    for (const auto of : entries_) {
      const bool is_more = kept > 0 && entries_[kept - 1].clock == of.clock &&
                           entries_[kept - 1].rank == of.rank;
      if (is_more)
        entries_[kept - 1].late_ns += of.late_ns;
      else
        entries_[kept++] = of;
    }
    entries_.resize(kept);
  }

  std::size_t most_;
  std::uint32_t span_log2_ = 0;
  std::vector<latest_arrival> entries_;
};

}  // namespace tidegate::policies::sharding
