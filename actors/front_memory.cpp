#include "actors/front_memory.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::actors {

using policies::payload_handle;
using runtime::errc;
using runtime::status;

namespace {

std::uint64_t machine_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

status front_memory::add_table(std::uint32_t table,
                               std::span<const policies::owned_chunk> chunks,
                               const sizes& how) {
  TIDEGATE_ASSERT(!tables_.contains(table), "a table is made once");
  table_memory made;
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    TIDEGATE_ASSERT(chunk.slot == chunks_.size(), "slots are dense");
    const auto size = chunk.elements * sizeof(float);
    // Also on failure: slots are those of the core.
    chunks_.push_back({table, chunk.first, bytes, chunk.elements});
    bytes += size;
    made.reach = std::max(made.reach, chunk.first * sizeof(float) + size);
  }
  const auto kept = bytes_kept_ + bytes * how.copies;
  if (kept > machine_bytes())
    return {errc::over_limit, "the shard would keep " + std::to_string(kept) +
                                  " bytes; the machine has " + std::to_string(machine_bytes())};
  made.planes = policies::planes_max(how.workers);
  auto& parameters =
      parameters_.try_emplace(made.planes, runtime::arena("tidegate-parameters", made.planes))
          .first->second;
  auto place = parameters.allocate(bytes);
  if (!place) return place.error();
  made.place = *place;
  made.prepared.assign(made.planes, false);
  made.prepared[0] = true;
  tables_.emplace(table, std::move(made));
  bytes_kept_ = kept;
  for (const auto& chunk : chunks)
    gradients_pool_.allow(chunk.elements * sizeof(float),
                          std::size_t{how.members} * runtime::limits::clocks_in_flight_max);
  return {};
}

front_memory::table_place front_memory::place_of(std::uint32_t table) const {
  const auto& memory = tables_.at(table);
  return {parameters_.at(memory.planes).name(memory.place), memory.place.bytes};
}

float* front_memory::at(std::uint32_t slot, std::uint32_t plane) const {
  const auto& chunk = chunks_[slot];
  const auto& table = tables_.at(chunk.table);
  auto* begin = parameters_.at(table.planes).at(table.place, plane);
  return reinterpret_cast<float*>(begin + chunk.offset);
}

void front_memory::prepare(std::uint32_t slot, std::uint32_t plane) {
  auto& table = tables_.at(chunks_[slot].table);
  if (table.prepared[plane]) return;
  parameters_.at(table.planes).prepare(table.place, plane);
  table.prepared[plane] = true;
}

std::span<const std::byte> front_memory::parameters(std::uint32_t slot,
                                                    std::uint32_t plane) const {
  return std::as_bytes(std::span(at(slot, plane), chunks_[slot].elements));
}

payload_handle front_memory::keep(payload what) {
  if (payloads_free_.empty()) {
    payloads_.emplace_back();
    payloads_free_.reserve(payloads_.size());
    payloads_free_.push_back(static_cast<payload_handle>(payloads_.size()));
  }
  const auto handle = payloads_free_.back();
  payloads_free_.pop_back();
  payloads_[handle - 1] = std::move(what);
  return handle;
}

payload_handle front_memory::keep(runtime::buffer gradient) {
  const auto* data = gradient.floats();
  return keep(payload{std::move(gradient), data});
}

payload_handle front_memory::keep(const std::byte* in_place, std::uint32_t slot) {
  return keep(payload{{}, reinterpret_cast<const float*>(in_place) + chunks_[slot].first});
}

void front_memory::release(payload_handle handle) {
  TIDEGATE_ASSERT(handle >= 1 && handle <= payloads_.size() && payloads_[handle - 1].data,
                  "a payload is released once");
  payloads_[handle - 1] = {};
  payloads_free_.push_back(handle);
}

std::size_t front_memory::kept_in(const runtime::window_map& where) const {
  return static_cast<std::size_t>(
      std::count_if(payloads_.begin(), payloads_.end(),
                    [&](const payload& one) { return where.holds(one.data); }));
}

}  // namespace tidegate::actors
