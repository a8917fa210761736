// How much of a flood is worth a line of the log each: the first ones, then ever fewer.
#pragma once

#include <bit>
#include <cstdint>

namespace tidegate::actors {

// `count`: how often it has happened so far, this time included.
constexpr bool is_worth_a_line(std::uint64_t count) noexcept {
  constexpr std::uint64_t lines_max = 16;
  return count <= lines_max || std::has_single_bit(count);
}

}  // namespace tidegate::actors
