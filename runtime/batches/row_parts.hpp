// The parts of a table of rows, which lie on shards and move between them: a row is in the part
// that the hash of its id says. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

// Returns the part of an id among `parts`, 1 to limits::row_parts_max. `key`: the table's, so
// that ids that fall into one part of one table are spread in another.
constexpr std::uint32_t part_of_row(std::uint64_t id, std::uint64_t key,
                                    std::uint32_t parts) noexcept {
  return static_cast<std::uint32_t>((static_cast<unsigned __int128>(mix64(id ^ key)) * parts) >>
                                    64U);
}

}  // namespace tidegate::runtime
