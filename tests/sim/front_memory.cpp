#include "tests/sim/front_memory.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

void spoil(const memory_view& what) {
  const auto values = what.values();
  std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
}

void front_memory::add_table(std::uint32_t table,
                             const std::vector<policies::owned_chunk>& chunks,
                             std::uint32_t members) {
  for (const auto& one : chunks) {
    TIDEGATE_ASSERT(one.slot == chunks_.size(), "slots are dense");
    chunks_.push_back({table,
                       one.chunk,
                       one.first,
                       one.elements,
                       std::make_shared<std::vector<region>>(),
                       {}});
    tables_[table].push_back(one.slot);
  }
  room_ += chunks.size() * members * runtime::limits::clocks_in_flight_max;
}

memory_view front_memory::parameters(std::uint32_t slot, std::uint32_t plane) {
  auto& chunk = chunks_.at(slot);
  while (chunk.planes->size() <= plane)
    chunk.planes->push_back(std::make_shared<std::vector<float>>(chunk.elements));
  chunk.spoiled.resize(chunk.planes->size());
  return {(*chunk.planes)[plane], 0, chunk.elements};
}

memory_view front_memory::room(std::uint32_t slot, std::uint32_t plane, bool steps) {
  const auto made = parameters(slot, plane);
  chunks_[slot].spoiled[plane] = false;
  if (steps) chunks_[slot].newest = plane;
  return made;
}

memory_view front_memory::lease(std::uint64_t bytes) {
  if (leased_ >= room_) return {};
  ++leased_;
  return {std::make_shared<std::vector<float>>(bytes / 4), 0, bytes / 4};
}

void front_memory::give_back(const memory_view& lease) {
  spoil(lease);
  TIDEGATE_ASSERT(leased_ > 0, "a lease is given back once");
  --leased_;
}

policies::payload_handle front_memory::keep(payload what, bool leased) {
  kept_[++last_] = {std::move(what), leased};
  return last_;
}

void front_memory::release(policies::payload_handle handle) {
  const auto at = kept_.find(handle);
  TIDEGATE_ASSERT(at != kept_.end(), "a payload is released once");
  if (at->second.leased) give_back(at->second.what.values);
  kept_.erase(at);
}

}  // namespace tidegate::sim
