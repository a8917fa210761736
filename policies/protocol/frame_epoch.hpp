// The epoch that frames carry: the epoch of the run, which rises when everything goes back, and
// below it the view of a shard's group, which rises when another process becomes its primary.
// Later epochs are larger: each part has all of its 32 bits, so that no view reaches into the
// run's.
#pragma once

#include <cstdint>

#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

inline constexpr unsigned view_bits = 32;
inline constexpr std::uint32_t views_max = 0xffff'ffff;  // no run comes so far

constexpr std::uint64_t frame_epoch(std::uint32_t run, std::uint32_t view) noexcept {
  return std::uint64_t{run} << view_bits | view;
}
constexpr std::uint32_t run_of(std::uint64_t frame_epoch) noexcept {
  return static_cast<std::uint32_t>(frame_epoch >> view_bits);
}

static_assert(sizeof(runtime::frame_header::epoch) == sizeof(std::uint64_t),
              "frames carry run and view whole");

}  // namespace tidegate::policies
