// Which half of a worker's double buffer a clock's gradients are written to.
//
// The half of the clock before, unless shards may still read it: what was written last is still
// in the caches of those who sum it and of those who write it again. On arrays of 4 MiB an
// exchange that changes halves every clock took a third longer. Two halves suffice because
// a clock's gradients are not written, nor pushed, before all pushes of the clock before the
// last are acknowledged. Of the session's thread.
#pragma once

#include <cstdint>

#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

inline constexpr std::uint32_t gradient_halves = 2;
static_assert(runtime::limits::clocks_in_flight_max == gradient_halves);

class double_buffer {
 public:
  // Returns true if at() has decided on the half of this clock.
  bool is_decided(std::uint64_t clock) const noexcept { return clock < undecided_; }
  // Returns the half, 0 or 1, of `clock`, which never falls. The first call in a clock decides.
  // `under_way`: some push of an earlier clock is not acknowledged yet.
  std::uint32_t at(std::uint64_t clock, bool under_way) noexcept {
    if (clock < undecided_) return half_;
    undecided_ = clock + 1;
    if (under_way && !runtime::is_planted(runtime::planted_bug::half_written_while_read))
      half_ = 1 - half_;
    return half_;
  }

 private:
  std::uint32_t half_ = 0;
  std::uint64_t undecided_ = 0;  // the first clock without a half
};

}  // namespace tidegate::policies
