// The rows of simulated tables: a few ids in each part, so that a part is, for the checker, a
// chunk of all of them, whose gradients have gaps where a row is not pushed. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/batches/row_parts.hpp"

namespace tidegate::sim {

inline constexpr std::uint32_t rows_per_part = 4;
inline constexpr std::uint32_t row_dim = 9;  // a part's rows are longer than a lease on them
inline constexpr std::uint64_t floats_per_part = std::uint64_t{rows_per_part} * row_dim;

// Returns the ids of a part, ascending. `key`: that of the table.
inline std::vector<std::uint64_t> ids_of_part(std::uint64_t key, std::uint32_t parts,
                                              std::uint32_t part) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; ids.size() < rows_per_part; ++id)
    if (runtime::part_of_row(id, key, parts) == part) ids.push_back(id);
  return ids;
}

}  // namespace tidegate::sim
