// The memory of a row_index as its writer sees it: slots, counts, splits. Internal to this
// folder. One thread; the memory belongs to the caller.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime::rows {

// Where an id is: in the line after `step` others of its probe.
struct place {
  std::uint32_t step = probe_lines_max;
  std::uint32_t slot = 0;

  bool found() const noexcept { return step < probe_lines_max; }
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

// Where `id` is. It ends at a line that no id of the index went past.
inline place probe(const bucket& in, std::uint32_t home, std::uint64_t id) noexcept {
  for (std::uint32_t step = 0; step < probe_lines_max; ++step) {
    const auto& line = in.lines[probed_line(home, step)];
    std::uint32_t equal = 0;
    for (std::uint32_t i = 0; i < line_slots; ++i)
      equal |= static_cast<std::uint32_t>(line.ids[i] == id) << i;
    equal &= line.used;
    if (equal != 0) [[likely]]
      return {.step = step, .slot = static_cast<std::uint32_t>(std::countr_zero(equal))};
    if (line.passed == 0) break;
  }
  return {};
}

// Takes a free slot: an id lies there from now on.
inline void fill(bucket& into, std::uint32_t home, const place& at) noexcept {
  into.lines[probed_line(home, at.step)].used |= static_cast<std::uint16_t>(1U << at.slot);
  for (std::uint32_t before = 0; before < at.step; ++before)
    ++into.lines[probed_line(home, before)].passed;
}

inline void take_out(bucket& from, std::uint32_t home, const place& at) noexcept {
  from.lines[probed_line(home, at.step)].used &= static_cast<std::uint16_t>(~(1U << at.slot));
  for (std::uint32_t before = 0; before < at.step; ++before)
    --from.lines[probed_line(home, before)].passed;
}

// Puts an id that is not there into the first free slot of its probe. Returns false, and
// changes nothing, if all are taken.
inline bool put(bucket& into, std::uint32_t home, std::uint64_t id, row_number row) noexcept {
  for (std::uint32_t step = 0; step < probe_lines_max; ++step) {
    auto& line = into.lines[probed_line(home, step)];
    const auto slot = static_cast<std::uint32_t>(std::countr_one(line.used));
    if (slot >= line_slots) continue;
    line.ids[slot] = id;
    line.rows[slot] = row;
    fill(into, home, {.step = step, .slot = slot});
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

// Takes an id out. Returns its row, or no_row if it is not there; the number is not freed.
row_number remove(const index_memory& index, std::uint64_t hash, std::uint64_t id);

// Takes out ids that were added last, in the order in which they were added; numbers come as
// before. `count` rows.
void undo(const index_memory& index, const std::uint64_t* ids, const std::uint8_t* added,
          std::size_t count);

// The step of a probe from `home` that looks at `line`.
constexpr std::uint32_t step_of(std::uint32_t home, std::uint32_t line) noexcept {
  const auto pairs = (line / 2 + bucket_lines / 2 - home / 2) % (bucket_lines / 2);
  return pairs * 2 + ((line - home) & 1U);
}

}  // namespace tidegate::runtime::rows
