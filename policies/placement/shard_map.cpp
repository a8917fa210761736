#include "policies/placement/shard_map.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

shard_map::shard_map(std::uint32_t shards, std::uint32_t replicas, std::uint32_t slots)
    : slot_of_(shards), each_(1 + replicas), wanted_(slots) {
  TIDEGATE_ASSERT(slots >= 1 && slots <= shards, "a slot has at least one shard");
  for (std::uint32_t shard = 0; shard < shards; ++shard) slot_of_[shard] = shard % slots;
}

bool shard_map::go_on(std::uint32_t slots, const std::vector<std::uint32_t>& slot_of) {
  const bool can_be =
      slots >= 1 && slots <= shards() && slot_of.size() == slot_of_.size() &&
      std::all_of(slot_of.begin(), slot_of.end(), [&](auto slot) { return slot < slots; });
  if (!can_be) return false;
  wanted_ = slots;
  slot_of_ = slot_of;
  return true;
}

// Slots that have most keep one more, where not all can have the same.
std::vector<std::uint32_t> shard_map::scale(std::uint32_t slots) {
  TIDEGATE_ASSERT(slots >= 1 && slots <= shards(), "a slot has at least one shard");
  std::vector<std::uint32_t> load(shards());
  for (const auto slot : slot_of_) ++load[slot];
  std::vector<std::uint32_t> order(slots);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return load[a] > load[b]; });
  std::vector<std::uint32_t> quota(shards(), 0);  // of slots that are not wanted: none
  for (std::uint32_t at = 0; at < slots; ++at)
    quota[order[at]] = shards() / slots + (at < shards() % slots ? 1 : 0);
  std::vector<std::uint32_t> moved;
  for (auto shard = shards(); shard-- > 0;) {
    auto& slot = slot_of_[shard];
    if (load[slot] <= quota[slot]) continue;
    --load[slot];
    slot = 0;
    while (load[slot] >= quota[slot]) ++slot;
    ++load[slot];
    moved.push_back(shard);
  }
  std::reverse(moved.begin(), moved.end());
  wanted_ = slots;
  return moved;
}

replica_chain::range shard_map::wanted_of(std::uint32_t shard) const {
  return {member_of(shard, {slot_of_[shard], 0}), each_};
}

shard_map::process shard_map::process_of(std::uint32_t shard, std::uint32_t member) const {
  return {(shard + member / each_) % shards(), member % each_};
}

std::uint32_t shard_map::member_of(std::uint32_t shard, process hosted) const {
  return (hosted.slot + shards() - shard) % shards() * each_ + hosted.place;
}

process_name name_of(shard_map::process process, std::uint32_t shards) {
  if (process.place == 0)
    return {.role = process_role::shard, .job = "", .index = process.slot};
  return {.role = process_role::replica,
          .job = "",
          .index = replica_index(shards, process.slot, process.place)};
}

shard_map::process slot_process_of(const process_name& name, std::uint32_t shards) {
  if (name.role == process_role::shard) return {name.index, 0};
  return {shard_of_replica(shards, name.index), number_of_replica(shards, name.index)};
}

std::vector<process_name> processes_of(std::uint32_t slots, std::uint32_t shards,
                                       std::uint32_t replicas) {
  std::vector<process_name> all;
  for (std::uint32_t place = 0; place <= replicas; ++place)
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      all.push_back(name_of({slot, place}, shards));
  return all;
}

}  // namespace tidegate::policies
