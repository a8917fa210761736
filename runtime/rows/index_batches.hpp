// The batch loops of row_index: internal to this folder. Each hashes a block of ids, asks for
// the cache lines of their tags, compares tags, asks for the lines of the ids that they lead
// to, and then goes through the block in order. They run the widest version that the machine
// has. One thread; allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/rows/index_memory.hpp"
#include "runtime/rows/row_index.hpp"

namespace tidegate::runtime::rows {

void find_batch(const index_view& index, const std::uint64_t* ids, row_number* rows,
                std::size_t count);

// Returns how many ids it went through: fewer than `count` if the next one found the index
// full. added[i] and rows[i] are set for these.
std::size_t add_batch(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                      std::uint8_t* added, std::size_t count);

void erase_batch(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                 std::size_t count);

}  // namespace tidegate::runtime::rows
