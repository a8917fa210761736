#include "launch/simulate/cluster/endpoint_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/row_ids.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

void spoil(std::span<float> values) {
  std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
}

void endpoint_memory::add_table(std::uint32_t table,
                                std::span<const policies::owned_chunk> chunks,
                                std::uint32_t members) {
  for (const auto& chunk : chunks) {
    TIDEGATE_ASSERT(chunk.slot == chunks_.size(), "slots are dense");
    chunks_.push_back({table,
                       chunk.chunk,
                       chunk.first,
                       chunk.elements,
                       std::make_shared<std::vector<region>>(),
                       std::make_shared<std::vector<region>>(),
                       {}});
    tables_[table].push_back(chunk.slot);
  }
  for (const auto& chunk : chunks)
    gradients_.allow(chunk.elements * sizeof(float),
                     std::size_t{members} * runtime::limits::clocks_in_flight_max);
  names_.allow(runtime::place_wire_bytes, members);
  names_.allow(actors::device_gradients_bytes, members);
  names_.allow(runtime::call_payload_bytes, 2 * members * chunks.size());
}

runtime::status endpoint_memory::add_rows(const policies::open_table_call& table,
                                          std::span<const policies::owned_chunk> chunks,
                                          const actors::store_options& options) {
  const auto parts = static_cast<std::uint32_t>(table.shape.front());
  for (const auto& chunk : chunks) {
    TIDEGATE_ASSERT(chunk.slot == chunks_.size(), "slots are dense");
    auto& state = chunks_.emplace_back();
    state.table = table.table;
    state.chunk = chunk.chunk;
    state.first = chunk.first;
    state.elements = floats_per_part;
    state.version_buffers = std::make_shared<std::vector<region>>();
    state.device_buffers = std::make_shared<std::vector<region>>();
    state.ids = ids_of_part(table.init_key, parts, chunk.chunk);
    tables_[table.table].push_back(chunk.slot);
  }
  return rows_.add_table(table, chunks, options.reduce,
                         policies::clip_norm_of(options.clip_norm, table.optimizer.kind),
                         options.keeps);
}

void endpoint_memory::discard(std::uint32_t table) {
  for (const auto slot : tables_[table]) {
    for (const auto& region : *chunks_.at(slot).version_buffers)
      std::fill(region->begin(), region->end(), std::numeric_limits<float>::quiet_NaN());
  }
}

served_values endpoint_memory::served_of(std::uint32_t slot,
                                         std::span<const float> values) const {
  served_values served(values);
  if (!has_rows(slot)) return served;
  const auto& all = chunks_.at(slot).ids;
  const auto& part = rows_.part(slot);
  auto& uses = served.uses.emplace();
  const auto note = [&](row_uses::all_rows& of, std::uint64_t id, const runtime::row_use& use) {
    const auto at = std::lower_bound(all.begin(), all.end(), id);
    TIDEGATE_ASSERT(at != all.end() && *at == id, "an id of the part");
    of[static_cast<std::size_t>(at - all.begin())] = {
        .exists = true, .clock = use.clock, .pushes = use.pushes};
  };
  part.visit_uses(
      [&](std::uint64_t id, const runtime::row_use& use) { note(uses.rows, id, use); });
  std::vector<std::uint64_t> ids;
  std::vector<runtime::row_use> counted;
  part.copy_candidates(ids, counted);
  for (std::size_t i = 0; i < ids.size(); ++i) note(uses.candidates, ids[i], counted[i]);
  return served;
}

memory_view endpoint_memory::parameters(std::uint32_t slot, std::uint32_t version_buffer) {
  auto& chunk = chunks_.at(slot);
  if (has_rows(slot)) {
    const auto values = std::make_shared<std::vector<float>>(chunk.elements);
    rows_.part(slot).gather(version_buffer, chunk.ids, *values);
    return {.where = values, .first = 0, .count = chunk.elements};
  }
  while (chunk.version_buffers->size() <= version_buffer)
    chunk.version_buffers->push_back(std::make_shared<std::vector<float>>(chunk.elements));
  chunk.spoiled.resize(chunk.version_buffers->size());
  return {
      .where = (*chunk.version_buffers)[version_buffer], .first = 0, .count = chunk.elements};
}

region endpoint_memory::on_device(std::uint32_t slot, std::uint32_t version_buffer) {
  auto& chunk = chunks_.at(slot);
  while (chunk.device_buffers->size() <= version_buffer)
    chunk.device_buffers->push_back(std::make_shared<std::vector<float>>(chunk.elements));
  return (*chunk.device_buffers)[version_buffer];
}

memory_view endpoint_memory::room(std::uint32_t slot, std::uint32_t version_buffer,
                                  bool steps) {
  const auto view = parameters(slot, version_buffer);
  chunks_[slot].spoiled[version_buffer] = false;
  if (steps) chunks_[slot].newest = version_buffer;
  return view;
}

runtime::place_wire wire_of(process_id owner) {
  runtime::place_wire wire{};
  std::memcpy(wire.data(), &owner, sizeof owner);
  return wire;
}

process_id owner_in(std::span<const std::byte> place) {
  process_id owner = 0;
  std::memcpy(&owner, place.data(), sizeof owner);
  return owner;
}

runtime::place_wire endpoint_memory::place_of_parameters(std::uint32_t) const {
  return wire_of(owner_.id());
}

std::span<const std::byte> endpoint_memory::payload_of(const runtime::frame_header& reply,
                                                       std::uint32_t slot,
                                                       std::uint32_t version_buffer) {
  owner_.check_answer(reply, version_buffer);
  return parameters(slot, version_buffer).bytes();
}

runtime::buffer endpoint_memory::lease_rows(const runtime::frame_header& header,
                                            std::uint32_t slot) {
  return owner_.is_short_of_memory() ? runtime::buffer() : rows_.lease(header, slot);
}

runtime::buffer endpoint_memory::lease_answer(std::uint32_t slot,
                                              std::span<const std::byte> request) {
  return owner_.is_short_of_memory() ? runtime::buffer() : rows_.lease_answer(slot, request);
}

actors::row_answer endpoint_memory::answer_rows(const runtime::frame_header& reply,
                                                std::uint32_t slot,
                                                std::uint32_t version_buffer,
                                                std::span<const std::byte> request,
                                                const runtime::buffer& into) {
  owner_.check_answer(reply, version_buffer);
  return rows_.answer(slot, version_buffer, request, into);
}

runtime::buffer endpoint_memory::lease(std::size_t bytes) {
  if (owner_.is_short_of_memory()) return {};
  auto room = gradients_.lease(bytes);
  if (!room) owner_.check_fails("bounded", "has no room for a push within the credits");
  return room;
}

runtime::buffer endpoint_memory::lease_any(std::size_t bytes) {
  received_.allow(bytes, 1);
  return received_.lease(bytes);
}

policies::payload_handle endpoint_memory::keep(payload kept) {
  kept_[++last_] = std::move(kept);
  return last_;
}

policies::payload_handle endpoint_memory::keep(runtime::buffer gradient) {
  const std::span values(gradient.floats(), gradient.size() / sizeof(float));
  return keep(payload{.values = values,
                      .of = owner_.updates_of_current(),
                      .received = std::move(gradient),
                      .mapped = {}});
}

policies::payload_handle endpoint_memory::keep_call(runtime::buffer call) {
  return keep(payload{.values = {}, .of = {}, .received = std::move(call), .mapped = {}});
}

runtime::status endpoint_memory::map_gradients(const policies::member_key& member,
                                               std::uint32_t table,
                                               std::span<const std::byte> place) {
  auto halves = owner_.gradients_at(place, table, false);
  if (halves.empty()) return {runtime::errc::unavailable, "no window"};
  members_[member][table] = std::move(halves);
  return {};
}

policies::payload_handle endpoint_memory::keep_in_place(const policies::member_key& member,
                                                        std::uint32_t table, std::uint32_t half,
                                                        std::uint32_t slot, bool on_device) {
  const auto& gradient = (on_device ? on_device_ : members_).at(member).at(table).at(half);
  const memory_view part{
      .where = gradient, .first = first_of(slot), .count = chunks_.at(slot).elements};
  return keep(payload{.values = part.values(),
                      .of = owner_.updates_in_place(table, chunk_of(slot)),
                      .received = {},
                      .mapped = gradient});
}

runtime::status endpoint_memory::map_on_device(const policies::member_key& member,
                                               std::uint32_t table,
                                               std::span<const std::byte> places) {
  if (!has_device_ || tables_on_host_.contains(table))
    return {runtime::errc::unavailable, "gradients are read on the host"};
  auto halves = owner_.gradients_at(places, table, true);
  if (halves.empty()) return {runtime::errc::unavailable, "no window"};
  on_device_[member][table] = std::move(halves);
  return {};
}

// Of version buffers that the table has by now.
std::vector<runtime::device_place> endpoint_memory::device_parameters(std::uint32_t table,
                                                                      std::uint64_t known) {
  std::vector<runtime::device_place> places;
  if (!has_device_) return places;
  std::size_t buffers = 0;
  for (const auto slot : slots_of(table))
    buffers = std::max(buffers, chunks_[slot].device_buffers->size());
  const auto wire = wire_of(owner_.id());
  for (std::uint32_t i = 0; i < std::min<std::size_t>(buffers, runtime::device_buffers_max);
       ++i) {
    if ((known >> i & 1) != 0 || places.size() == runtime::device_places_max) continue;
    auto& place = places.emplace_back();
    place.copy = i;
    std::copy(wire.begin(), wire.end(), place.window.begin());
  }
  return places;
}

// What is kept of it stays mapped.
void endpoint_memory::forget(const policies::member_key& member) {
  members_.erase(member);
  on_device_.erase(member);
}

void endpoint_memory::release(policies::payload_handle handle) {
  const auto at = kept_.find(handle);
  TIDEGATE_ASSERT(at != kept_.end() && !at->second.is_released, "a payload is released once");
  at->second.is_released = true;
  if (at->second.readers == 0) free(at);
}

void endpoint_memory::end_reading(policies::payload_handle handle) {
  const auto at = kept_.find(handle);
  if (--at->second.readers == 0 && at->second.is_released) free(at);
}

void endpoint_memory::free(std::map<policies::payload_handle, payload>::iterator at) {
  if (at->second.received) spoil(at->second.values);
  kept_.erase(at);
}

}  // namespace tidegate::sim
