// The memory of a row_index as its writer sees it: slots, counts, splits. Internal to this
// folder. One thread; the memory belongs to the caller.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime::rows {

// Where an id is: in the group after `step` others of its probe.
struct place {
  std::uint32_t step = probe_groups_max;
  std::uint32_t slot = 0;

  bool found() const noexcept { return step < probe_groups_max; }
};

struct index_memory {
  std::byte* memory;
  const index_layout& layout;

  index_header& header() const noexcept { return *reinterpret_cast<index_header*>(memory); }
  std::uint32_t* directory() const noexcept {
    return reinterpret_cast<std::uint32_t*>(memory + layout.directory);
  }
  bucket_state& state(std::uint32_t number) const noexcept {
    return reinterpret_cast<bucket_state*>(memory + layout.states)[number];
  }
  row_number* freed() const noexcept {
    return reinterpret_cast<row_number*>(memory + layout.freed);
  }
  bucket& bucket_at(std::uint32_t number) const noexcept {
    return reinterpret_cast<bucket*>(memory + layout.buckets)[number];
  }
  std::uint32_t bucket_of(std::uint64_t hash) const noexcept {
    return directory()[hash >> (64 - layout.depth_max)];
  }
};

// Returns the first free slot of a group, or group_slots.
inline std::uint32_t free_slot(const group_tags& group) noexcept {
  static_assert(std::endian::native == std::endian::little, "byte 0 is the lowest");
  std::uint64_t halves[2];
  std::memcpy(halves, &group, sizeof halves);
  halves[1] |= 0xffULL << 56U;  // the count is no tag
  for (std::uint32_t half = 0; half < 2; ++half) {
    // The lowest bit of these is that of the lowest byte which is zero.
    const auto zeros =
        (halves[half] - 0x0101'0101'0101'0101ULL) & ~halves[half] & 0x8080'8080'8080'8080ULL;
    if (zeros != 0) return half * 8 + static_cast<std::uint32_t>(std::countr_zero(zeros)) / 8;
  }
  return group_slots;
}

// Takes a free slot: an id of this tag lies there from now on.
inline void fill(bucket& into, std::uint32_t home, const place& at, std::uint8_t tag) noexcept {
  into.groups[probed_group(home, at.step)].tags[at.slot] = tag;
  for (std::uint32_t before = 0; before < at.step; ++before)
    ++into.groups[probed_group(home, before)].passed;
}

inline void take_out(bucket& from, std::uint32_t home, const place& at) noexcept {
  from.groups[probed_group(home, at.step)].tags[at.slot] = 0;
  for (std::uint32_t before = 0; before < at.step; ++before)
    --from.groups[probed_group(home, before)].passed;
}

// Puts an id that is not there into the first free slot of its probe. Returns false, and
// changes nothing, if all are taken.
inline bool put(bucket& into, std::uint64_t hash, std::uint64_t id, row_number row) noexcept {
  const auto home = home_of(hash);
  for (std::uint32_t step = 0; step < probe_groups_max; ++step) {
    const auto group = probed_group(home, step);
    const auto slot = free_slot(into.groups[group]);
    if (slot == group_slots) continue;
    into.id_at(group, slot) = id;
    into.row_at(group, slot) = row;
    fill(into, home, {.step = step, .slot = slot}, tag_of(hash));
    return true;
  }
  return false;
}

// Splits the bucket of this hash. Returns false, and changes nothing, if it is of the greatest
// depth. One of the two may be empty.
bool split(const index_memory& index, std::uint64_t hash);

// Puts an id that is not there. Returns its row, or no_row if the index is full: then nothing
// has changed but that buckets may have been split.
row_number add(const index_memory& index, std::uint64_t hash, std::uint64_t id);

// Takes out ids that were added last, in the order in which they were added; numbers come as
// before. `count` rows.
void undo(const index_memory& index, const std::uint64_t* ids, const std::uint8_t* added,
          std::size_t count);

// The step of a probe from `home` that looks at `group`.
constexpr std::uint32_t step_of(std::uint32_t home, std::uint32_t group) noexcept {
  const auto lines = (group / 4 + bucket_groups / 4 - home / 4) % (bucket_groups / 4);
  return lines * 4 + ((group - home) & 3U);
}

}  // namespace tidegate::runtime::rows
