// A worker that is to compute longer than it does, as `faults.slow` asks for it: how long it
// pauses before it pushes. Pure; one thread.
#pragma once

#include <cstdint>

#include "policies/model/clock_vector.hpp"

namespace tidegate::policies {

class slow_compute {
 public:
  // `factor` >= 1: how many times as long, in clocks from `from` on and before `until`.
  explicit slow_compute(double factor = 1, std::uint64_t from = 0,
                        std::uint64_t until = clock_vector::infinity)
      : factor_(factor), from_(from), until_(until) {}

  bool is_on() const noexcept { return factor_ > 1; }
  // Returns the pause, in ns, of a worker at this clock that has computed for so long since it
  // began, in ns, pauses included.
  std::uint64_t pause_ns(std::uint64_t clock, std::uint64_t computed_ns) const noexcept {
    if (clock < from_ || clock >= until_ || computed_ns <= seen_ns_) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(computed_ns - seen_ns_) *
                                      (factor_ - 1));
  }
  // Takes in what it has computed after the pause, which is slowed down no more.
  void went_on(std::uint64_t computed_ns) noexcept { seen_ns_ = computed_ns; }

 private:
  double factor_;
  std::uint64_t from_;
  std::uint64_t until_;
  std::uint64_t seen_ns_ = 0;
};

}  // namespace tidegate::policies
