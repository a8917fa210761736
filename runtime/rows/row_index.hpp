// Which row an id has: 64-bit ids to 32-bit row numbers, in batches, within memory of the
// caller (index_layout.hpp says how it lies there). All 2^64 ids are keys.
//
// Numbers are handed out in the order of first appearance: the number that was freed last, or
// the lowest that was never used. They follow from the sequence of calls alone, and not from
// the key of the hash.
//
// Growth: a bucket of 5,120 slots splits in two, some 30 microseconds; the directory has its
// full size from the start, and the first split writes half of it (1 MiB of 2^30 rows). Nothing
// else moves, and memory that was never needed is never touched.
//
// Erasing leaves nothing behind. Where an id was put behind a full line, that line counts it
// until it goes, so a probe ends at the first line that counts none, and after 64 lines in any
// case. Buckets are not merged again: an index that was full keeps its buckets.
//
// Views and indexes own nothing; the memory outlives them. One thread writes. Others, and other
// processes, may look up while nobody writes. Looking up while somebody does is harmless: the
// answer may be wrong, but nothing outside the memory is read and every call ends, so a reader
// that can tell afterwards that somebody wrote (row_reader.hpp) may throw it away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime {

class index_view {
 public:
  // `memory` is that of a row_index of this layout, aligned to 64 bytes.
  index_view(const std::byte* memory, const index_layout& layout) noexcept
      : memory_(memory), layout_(layout) {}

  // rows[i] is the number of ids[i], or no_row; as many as ids. Allocates nothing.
  void find(std::span<const std::uint64_t> ids, std::span<row_number> rows) const;

  std::uint64_t size() const noexcept { return header().ids; }
  std::uint64_t capacity() const noexcept { return layout_.capacity; }
  // All numbers handed out so far are below.
  row_number numbers_used() const noexcept { return header().next; }
  std::uint32_t buckets_used() const noexcept { return header().last + 1; }
  // Lines that the longest probe for an id that is here looks at; walks over all.
  std::uint32_t longest_probe() const;

  // Calls visit(id, row) for each id, in no order that means anything.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t number = 0; number < buckets_used(); ++number)
      for (const auto& line : bucket_at(number).lines)
        for (std::uint32_t slot = 0; slot < rows::line_slots; ++slot)
          if ((line.used >> slot & 1U) != 0) visit(line.ids[slot], line.rows[slot]);
  }

  const std::byte* memory() const noexcept { return memory_; }
  const index_layout& layout() const noexcept { return layout_; }
  const rows::index_header& header() const noexcept {
    return *reinterpret_cast<const rows::index_header*>(memory_);
  }
  const std::uint32_t* directory() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(memory_ + layout_.directory);
  }
  const rows::bucket& bucket_at(std::uint32_t number) const noexcept {
    return reinterpret_cast<const rows::bucket*>(memory_ + layout_.buckets)[number];
  }
  // A directory that is written meanwhile leads to some bucket of the memory all the same.
  const rows::bucket& bucket_of(std::uint64_t hash) const noexcept {
    return bucket_at(directory()[hash >> (64 - layout_.depth_max)] &
                     (layout_.buckets_max() - 1));
  }

 private:
  const std::byte* memory_;
  index_layout layout_;
};

class row_index {
 public:
  // Makes an empty index of memory that is all zero, has layout.bytes and is aligned to 64
  // bytes. `seed` gives the key of the hash.
  row_index(std::byte* memory, const index_layout& layout, std::uint64_t seed) noexcept;

  const index_view& view() const noexcept { return view_; }

  // rows[i] is the number of ids[i], which has been added if it was not there; added[i] is 1
  // then, and else 0. All three have one size; ids may repeat. Returns how many were added.
  // Errors: over_limit (more than the capacity, or more ids than its share in one bucket); then
  // nothing has been added, and numbers come as if the call had not been. Allocates nothing.
  expected<std::size_t> find_or_add(std::span<const std::uint64_t> ids,
                                    std::span<row_number> rows, std::span<std::uint8_t> added);

  // Takes out what calls of find_or_add() since have added, in their order: numbers come as if
  // these calls had not been. Nothing else was called since.
  void take_back(std::span<const std::uint64_t> ids, std::span<const std::uint8_t> added);

  // Takes ids out and frees their numbers, in this order; rows[i] is the number that ids[i]
  // had, or no_row if it was not there. Allocates nothing.
  void erase(std::span<const std::uint64_t> ids, std::span<row_number> rows);

 private:
  index_view view_;
  std::byte* memory_;
};

}  // namespace tidegate::runtime
