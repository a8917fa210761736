// Where the parts of a row_index lie in its memory: plain data at offsets, so that another
// process that maps the memory elsewhere finds them, too. Pure functions, any thread.
//
// The index is extendible hashing (Fagin, Nievergelt, Pippenger and Strong, TODS 1979): the
// upper bits of an id's hash choose an entry of a directory, which names a bucket of 1,024
// cache lines; a bucket that is loaded splits in two. The lower bits choose a line of the
// bucket, which has five ids with their row numbers: most lookups touch one line of memory. An
// id whose line is full lies in one of the next, and each full line that its probe went past
// counts it (as groups of F14 do: Bronson and Shi, 2019).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

// The number of a row. Values, state and the rest of a row are found by it.
using row_number = std::uint32_t;
inline constexpr row_number no_row = ~row_number{0};
namespace rows {

inline constexpr std::uint32_t line_slots = 5;
inline constexpr std::uint32_t bucket_lines = 1024;
inline constexpr std::uint32_t bucket_slots = bucket_lines * line_slots;
// Lines that a probe looks at. An id that finds all of them full splits its bucket.
inline constexpr std::uint32_t probe_lines_max = 64;
// A bucket splits when it has so many ids: one limit for each bucket, between these. Buckets
// fill up at the same pace, and with limits that span a factor of two there are splits at the
// same rate at any size; with one limit for all, most would split in the same few batches.
inline constexpr std::uint32_t split_slots_min = bucket_slots * 13 / 32;
inline constexpr std::uint32_t split_slots_max = bucket_slots * 26 / 32;
// Ids in a bucket of the greatest depth, on average, when the index has as many as it may. It
// lies 10 standard deviations below split_slots_min, and further below what makes a probe fail.
inline constexpr std::uint32_t deepest_slots = 1640;

struct alignas(64) slot_line {
  std::uint64_t ids[line_slots];
  row_number rows[line_slots];
  std::uint16_t used;  // bit i: slot i has an id
  // Ids in the index whose probe went past this line. They lie in the 63 other lines of their
  // probes, so they are at most 315.
  std::uint16_t passed;
};

struct bucket {
  slot_line lines[bucket_lines];
};
static_assert(sizeof(slot_line) == 64 && sizeof(bucket) == 65'536);

struct bucket_state {
  std::uint32_t ids;
  std::uint32_t depth;  // bits of the hash that all its ids have in common
};

// At the begin of the memory. All zero is an empty index, but for the key.
struct index_header {
  std::uint64_t key;  // of the hash
  std::uint64_t ids;
  row_number next;      // the lowest number that was never handed out
  std::uint32_t freed;  // entries of the stack of freed numbers
  std::uint32_t last;   // bucket
};

// A mixer that maps ids to hashes one to one, so that ids can always be told apart. Whoever
// does not know the key cannot choose ids that fall into one bucket.
constexpr std::uint64_t hash_of(std::uint64_t id, std::uint64_t key) noexcept {
  return mix64(id ^ key);
}
constexpr std::uint32_t home_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>(hash % bucket_lines);
}
// The line that a probe looks at after `step` others: the other one of its pair, which many
// processors fetch with it, then pair by pair.
constexpr std::uint32_t probed_line(std::uint32_t home, std::uint32_t step) noexcept {
  return (((home & ~1U) + (step & ~1U)) % bucket_lines) | ((home + step) & 1U);
}
// Multiples of the golden ratio, modulo 1, lie evenly (Knuth, volume 3, section 6.4).
constexpr std::uint32_t split_limit(std::uint32_t number) noexcept {
  const std::uint32_t share = (number * 0x9e37'79b9U) >> 16U;
  return split_slots_min + ((share * (split_slots_max - split_slots_min)) >> 16U);
}

}  // namespace rows

// Offsets in bytes from the begin of the memory, which is aligned to 64 bytes.
struct index_layout {
  std::uint64_t capacity = 0;   // ids at most
  std::uint32_t depth_max = 1;  // bits that choose an entry of the directory
  std::uint64_t directory = 0;  // std::uint32_t each: the number of a bucket
  std::uint64_t states = 0;     // rows::bucket_state of each bucket
  std::uint64_t freed = 0;      // row_number each: a stack of numbers to be handed out again
  std::uint64_t buckets = 0;    // rows::bucket each, at a multiple of 4 KiB
  std::uint64_t bytes = 0;

  std::uint32_t buckets_max() const noexcept { return 1U << depth_max; }
};

// The layout for `capacity` ids, 1 to limits::part_rows_max.
index_layout index_layout_for(std::uint64_t capacity);

}  // namespace tidegate::runtime
