#include "runtime/rows/index_memory.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::rows {

namespace {

// Slots of a bucket, each as its line times 8 and its place there.
struct slot_list {
  std::array<std::uint16_t, bucket_slots> names;
  std::uint32_t count = 0;

  void add(std::uint32_t line, std::uint32_t slot) noexcept {
    names[count++] = static_cast<std::uint16_t>(line * 8 + slot);
  }
};

// Moves the ids whose hash has the bit at `depth` set, each to the same slot of the other
// bucket, which is empty: so there is always room. Returns how many. `displaced` gets the slots
// of those that lie behind a line that was full, in either bucket.
std::uint32_t move_upper(bucket& from, bucket& to, std::uint64_t key, std::uint32_t depth,
                         slot_list& displaced) {
  std::uint32_t moved = 0;
  for (std::uint32_t number = 0; number < bucket_lines; ++number) {
    auto& line = from.lines[number];
    for (std::uint32_t slot = 0; slot < line_slots; ++slot) {
      if ((line.used >> slot & 1U) == 0) continue;
      const auto hash = hash_of(line.ids[slot], key);
      const auto home = home_of(hash);
      const place at{.step = step_of(home, number), .slot = slot};
      if (at.step > 0) displaced.add(number, slot);
      if (((hash >> (63U - depth)) & 1U) == 0) continue;
      to.lines[number].ids[slot] = line.ids[slot];
      to.lines[number].rows[slot] = line.rows[slot];
      fill(to, home, at);
      take_out(from, home, at);
      ++moved;
    }
  }
  return moved;
}

// Brings ids that lie behind a line that was full nearer to their homes.
void settle(bucket& all, std::uint64_t key, const slot_list& displaced) {
  for (std::uint32_t i = 0; i < displaced.count; ++i) {
    const std::uint32_t number = displaced.names[i] / 8U, slot = displaced.names[i] % 8U;
    const auto& line = all.lines[number];
    if ((line.used >> slot & 1U) == 0) continue;  // it is in the other bucket
    const auto id = line.ids[slot];
    const auto row = line.rows[slot];
    const auto home = home_of(hash_of(id, key));
    take_out(all, home, {.step = step_of(home, number), .slot = slot});
    const bool placed = put(all, home, id, row);
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
  while (!put(index.bucket_at(number), home_of(hash), id, row)) {
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

row_number remove(const index_memory& index, std::uint64_t hash, std::uint64_t id) {
  const auto number = index.bucket_of(hash);
  auto& bucket = index.bucket_at(number);
  const auto home = home_of(hash);
  const auto at = probe(bucket, home, id);
  if (!at.found()) return no_row;
  const auto row = bucket.lines[probed_line(home, at.step)].rows[at.slot];
  take_out(bucket, home, at);
  --index.state(number).ids;
  --index.header().ids;
  return row;
}

void undo(const index_memory& index, const std::uint64_t* ids, const std::uint8_t* added,
          std::size_t count) {
  auto& header = index.header();
  for (auto i = count; i-- > 0;) {
    if (added[i] == 0) continue;
    const auto row = remove(index, hash_of(ids[i], header.key), ids[i]);
    // New numbers were handed out last, when the stack was empty, so they come back first.
    if (header.freed == 0 && row + 1 == header.next)
      --header.next;
    else
      index.freed()[header.freed++] = row;
  }
}

}  // namespace tidegate::runtime::rows
