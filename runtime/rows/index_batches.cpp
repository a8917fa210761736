#include "runtime/rows/index_batches.hpp"

#include <algorithm>

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/rows/index_batches.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "runtime/rows/probe_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {
namespace {

// Ids whose cache lines are asked for before the first is looked at.
constexpr std::size_t block = 64;

// A directory that is written meanwhile leads to some bucket of the memory all the same.
HWY_INLINE const bucket& bucket_of(const index_view& index, std::uint64_t hash) {
  const auto& layout = index.layout();
  const auto number = index.directory()[hash >> (64 - layout.depth_max)];
  return index.bucket_at(number & (layout.buckets_max() - 1));
}

// The hashes of a block and the buckets that they led to when it began.
struct hashed_block {
  std::uint64_t hashes[block];
  const bucket* buckets[block];
};

HWY_INLINE void prefetch_tags(const index_view& index, const std::uint64_t* ids,
                              std::size_t count, hashed_block& into) {
  const auto key = index.header().key;
  for (std::size_t i = 0; i < count; ++i) {
    into.hashes[i] = hash_of(ids[i], key);
    into.buckets[i] = &bucket_of(index, into.hashes[i]);
    hwy::Prefetch(&into.buckets[i]->groups[home_of(into.hashes[i])]);
  }
}

// Where no tag matches, `adds` asks for the line that a new id would get.
template <bool adds>
HWY_INLINE void prefetch_ids(const hashed_block& from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto home = home_of(from.hashes[i]);
    const auto& group = from.buckets[i]->groups[home];
    const auto bits = match(group, tag_of(from.hashes[i]));
    if (bits != 0)
      hwy::Prefetch(
          &from.buckets[i]->id_at(home, static_cast<std::uint32_t>(std::countr_zero(bits))));
    else if (adds)
      hwy::Prefetch(&from.buckets[i]->id_at(home, free_slot(group) % group_slots));
  }
}

void find_here(const index_view& index, const std::uint64_t* ids, row_number* rows,
               std::size_t count) {
  hashed_block hashed;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const auto n = std::min(block, count - begin);
    prefetch_tags(index, ids + begin, n, hashed);
    prefetch_ids<false>(hashed, n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& bucket = *hashed.buckets[i];
      const auto at = probe(bucket, hashed.hashes[i], ids[begin + i]);
      const auto group = probed_group(home_of(hashed.hashes[i]), at.step);
      const auto row = at.found() ? bucket.row_at(group, at.slot) : no_row;
      rows[begin + i] = row < index.capacity() ? row : no_row;
    }
  }
}

std::size_t add_here(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                     std::uint8_t* added, std::size_t count) {
  const index_view view(index.memory, index.layout);
  hashed_block hashed;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const auto n = std::min(block, count - begin);
    prefetch_tags(view, ids + begin, n, hashed);
    prefetch_ids<true>(hashed, n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto hash = hashed.hashes[i];
      // Buckets may have been split since the block began.
      const auto& bucket = bucket_of(view, hash);
      const auto at = probe(bucket, hash, ids[begin + i]);
      added[begin + i] = at.found() ? 0 : 1;
      rows[begin + i] = at.found()
                            ? bucket.row_at(probed_group(home_of(hash), at.step), at.slot)
                            : add(index, hash, ids[begin + i]);
      if (rows[begin + i] == no_row) return begin + i;
    }
  }
  return count;
}

void erase_here(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                std::size_t count) {
  const index_view view(index.memory, index.layout);
  auto& header = index.header();
  hashed_block hashed;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const auto n = std::min(block, count - begin);
    prefetch_tags(view, ids + begin, n, hashed);
    prefetch_ids<false>(hashed, n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto hash = hashed.hashes[i];
      const auto number = index.bucket_of(hash);
      auto& bucket = index.bucket_at(number);
      const auto at = probe(bucket, hash, ids[begin + i]);
      rows[begin + i] = no_row;
      if (!at.found()) continue;
      rows[begin + i] = bucket.row_at(probed_group(home_of(hash), at.step), at.slot);
      take_out(bucket, home_of(hash), at);
      --index.state(number).ids;
      --header.ids;
      index.freed()[header.freed++] = rows[begin + i];
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::rows {

namespace {
HWY_EXPORT(find_here);
HWY_EXPORT(add_here);
HWY_EXPORT(erase_here);
}  // namespace

void find_batch(const index_view& index, const std::uint64_t* ids, row_number* rows,
                std::size_t count) {
  HWY_DYNAMIC_DISPATCH(find_here)(index, ids, rows, count);
}

std::size_t add_batch(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                      std::uint8_t* added, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(add_here)(index, ids, rows, added, count);
}

void erase_batch(const index_memory& index, const std::uint64_t* ids, row_number* rows,
                 std::size_t count) {
  HWY_DYNAMIC_DISPATCH(erase_here)(index, ids, rows, count);
}

}  // namespace tidegate::runtime::rows
#endif
