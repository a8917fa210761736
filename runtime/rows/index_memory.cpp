#include "runtime/rows/index_memory.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::rows {

namespace {

// A slot of a bucket as a small number: its group times 16, and its place there.
using slot_name = std::uint16_t;

struct slot_list {
  std::array<slot_name, bucket_slots> names;
  std::uint32_t count = 0;

  void add(std::uint32_t group, std::uint32_t slot) noexcept {
    names[count++] = static_cast<slot_name>(group * 16 + slot);
  }
};

// Moves the ids whose hash has the bit at `depth` set, each to the same slot of the other
// bucket, which is empty: so there is always room. Returns how many. `displaced` gets the slots
// of those that lie behind a group that was full, in either bucket.
std::uint32_t move_upper(bucket& from, bucket& to, std::uint64_t key, std::uint32_t depth,
                         slot_list& displaced) {
  std::uint32_t moved = 0;
  for (std::uint32_t group = 0; group < bucket_groups; ++group) {
    auto& tags = from.groups[group].tags;
    for (std::uint32_t line = 0; line < group_slots / line_slots; ++line) {
      const auto& all = from.lines[group][line];
      for (std::uint32_t i = 0; i < line_slots; ++i) {
        const auto slot = line * line_slots + i;
        if (tags[slot] == 0) continue;
        const auto hash = hash_of(all.ids[i], key);
        const auto home = home_of(hash);
        const place at{.step = step_of(home, group), .slot = slot};
        if (at.step > 0) displaced.add(group, slot);
        if (((hash >> (63U - depth)) & 1U) == 0) continue;
        fill(to, home, at, tags[slot]);
        to.lines[group][line].ids[i] = all.ids[i];
        to.lines[group][line].rows[i] = all.rows[i];
        take_out(from, home, at);
        ++moved;
      }
    }
  }
  return moved;
}

// Brings ids that lie behind a group that was full nearer to their homes.
void settle(bucket& all, std::uint64_t key, const slot_list& displaced) {
  for (std::uint32_t i = 0; i < displaced.count; ++i) {
    const std::uint32_t group = displaced.names[i] / 16, slot = displaced.names[i] % 16;
    if (all.groups[group].tags[slot] == 0) continue;  // it is in the other bucket
    const auto id = all.id_at(group, slot);
    const auto row = all.row_at(group, slot);
    const auto hash = hash_of(id, key);
    take_out(all, home_of(hash), {.step = step_of(home_of(hash), group), .slot = slot});
    const bool placed = put(all, hash, id, row);
    TIDEGATE_ASSERT(placed, "the slot that was left is free");
  }
}

}  // namespace

bool split(const index_memory& index, std::uint64_t hash) {
  const auto lower = index.bucket_of(hash);
  auto& state = index.state(lower);
  if (state.depth == index.layout.depth_max) return false;
  const auto upper = ++index.header().last;
  TIDEGATE_ASSERT(upper < index.layout.buckets_max(), "a leaf for each bucket");
  const auto depth = state.depth;
  auto& moved = index.state(upper);
  const auto key = index.header().key;
  slot_list displaced;
  moved.ids = move_upper(index.bucket_at(lower), index.bucket_at(upper), key, depth, displaced);
  settle(index.bucket_at(lower), key, displaced);
  settle(index.bucket_at(upper), key, displaced);
  moved.depth = depth + 1;
  state = {.ids = state.ids - moved.ids, .depth = depth + 1};
  // The entries of a bucket are those whose upper `depth` bits are the same.
  const auto count = std::uint64_t{1} << (index.layout.depth_max - depth);
  const auto first = (hash >> (64 - index.layout.depth_max)) / count * count;
  std::fill_n(index.directory() + first + count / 2, count / 2, upper);
  return true;
}

row_number add(const index_memory& index, std::uint64_t hash, std::uint64_t id) {
  auto& header = index.header();
  if (header.ids == index.layout.capacity) return no_row;
  auto number = index.bucket_of(hash);
  while (index.state(number).ids >= split_limit(number) && split(index, hash))
    number = index.bucket_of(hash);
  const auto row = header.freed == 0 ? header.next : index.freed()[header.freed - 1];
  while (!put(index.bucket_at(number), hash, id, row)) {
    if (!split(index, hash)) return no_row;
    number = index.bucket_of(hash);
  }
  ++index.state(number).ids;
  ++header.ids;
  if (header.freed == 0)
    ++header.next;
  else
    --header.freed;
  return row;
}

void undo(const index_memory& index, const std::uint64_t* ids, const std::uint8_t* added,
          std::size_t count) {
  auto& header = index.header();
  for (auto i = count; i-- > 0;) {
    if (added[i] == 0) continue;
    const auto hash = hash_of(ids[i], header.key);
    const auto number = index.bucket_of(hash);
    auto& bucket = index.bucket_at(number);
    const auto home = home_of(hash);
    for (std::uint32_t step = 0; step < probe_groups_max; ++step) {
      const auto group = probed_group(home, step);
      const auto tags = bucket.groups[group].tags;
      std::uint32_t slot = 0;
      while (slot < group_slots && !(tags[slot] != 0 && bucket.id_at(group, slot) == ids[i]))
        ++slot;
      if (slot == group_slots) continue;
      const auto row = bucket.row_at(group, slot);
      take_out(bucket, home, {.step = step, .slot = slot});
      --index.state(number).ids;
      --header.ids;
      // New numbers were handed out last, when the stack was empty, so they come back first.
      if (header.freed == 0 && row + 1 == header.next)
        --header.next;
      else
        index.freed()[header.freed++] = row;
      break;
    }
  }
}

}  // namespace tidegate::runtime::rows
