// The epoch that frames carry: of the run, which rises when everything goes back, and within it
// the view of a shard's group, which rises when another process becomes its primary. Later ones
// are larger.
#pragma once

#include <cstdint>

namespace tidegate::policies {

inline constexpr std::uint32_t view_bits = 12;
inline constexpr std::uint32_t views_max = 1U << view_bits;

constexpr std::uint32_t frame_epoch(std::uint32_t run, std::uint32_t view) noexcept {
  return run << view_bits | view;
}
constexpr std::uint32_t run_of(std::uint32_t frame_epoch) noexcept {
  return frame_epoch >> view_bits;
}

}  // namespace tidegate::policies
