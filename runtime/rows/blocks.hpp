// Batches of ids in blocks, each of which has been hashed, and its cache lines asked for, while
// the block before it was looked at. Internal to this folder. One thread; no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/rows/index_memory.hpp"
#include "runtime/rows/row_index.hpp"

namespace tidegate::runtime::rows {

// Ids of a block. 16 to 128 measured alike.
inline constexpr std::size_t block_ids = 32;

// The block ids[begin, begin + count) and where its hashes led when it was hashed.
struct hashed_block {
  std::size_t begin = 0;
  std::size_t count = 0;
  std::uint64_t hashes[block_ids];
  const bucket* buckets[block_ids];
};

inline void hash_block(const index_view& index, const std::uint64_t* ids, std::size_t begin,
                       std::size_t end, hashed_block& into) {
  const auto key = index.header().key;
  into.begin = begin;
  into.count = std::min(block_ids, end - begin);
  for (std::size_t i = 0; i < into.count; ++i) {
    into.hashes[i] = hash_of(ids[begin + i], key);
    into.buckets[i] = &index.bucket_of(into.hashes[i]);
    __builtin_prefetch(&into.buckets[i]->lines[home_of(into.hashes[i])]);
  }
}

// The row of id i of a block. A row that is no row of the table, as it may be where somebody
// writes, is not there.
inline row_number row_of(const index_view& index, const hashed_block& in, std::size_t i,
                         std::uint64_t id) {
  const auto home = home_of(in.hashes[i]);
  const auto at = probe(*in.buckets[i], home, id);
  if (!at.found()) return no_row;
  const auto row = in.buckets[i]->lines[probed_line(home, at.step)].rows[at.slot];
  return row < index.capacity() ? row : no_row;
}

// Calls visit(block) for each block, in order, until it returns false.
template <class Visit>
void for_blocks(const index_view& index, const std::uint64_t* ids, std::size_t count,
                const Visit& visit) {
  hashed_block pair[2];
  if (count > 0) hash_block(index, ids, 0, count, pair[0]);
  for (std::size_t begin = 0, k = 0; begin < count; begin += block_ids, ++k) {
    const auto next = begin + block_ids;
    if (next < count) hash_block(index, ids, next, count, pair[(k + 1) % 2]);
    if (!visit(pair[k % 2])) return;
  }
}

}  // namespace tidegate::runtime::rows
