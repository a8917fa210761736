#include "actors/store/endpoint_memory.hpp"

#include <algorithm>
#include <functional>
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

endpoint_memory::endpoint_memory(std::shared_ptr<runtime::memory_source> source)
    : rows_(source),
      gradients_pool_(std::move(source)),
      names_pool_(std::make_shared<runtime::heap_source>()) {
  names_pool_.allow(runtime::place_wire_bytes, runtime::limits::tables_max);
  names_pool_.allow(device_gradients_bytes, runtime::limits::tables_max);
}

status endpoint_memory::add_table(std::uint32_t table,
                                  std::span<const policies::owned_chunk> chunks,
                                  const table_sizes& sizes) {
  TIDEGATE_ASSERT(!tables_.contains(table), "a table is made once");
  table_memory memory;
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    TIDEGATE_ASSERT(chunk.slot == chunks_.size(), "slots are dense");
    const auto size = chunk.elements * sizeof(float);
    // Also on failure: slots are those of the core.
    chunks_.push_back({table, chunk.first, bytes, chunk.elements});
    bytes += size;
    memory.reach = std::max(memory.reach, chunk.first * sizeof(float) + size);
  }
  const auto kept = bytes_kept_ + bytes * sizes.copies;
  if (kept > machine_bytes())
    return {errc::over_limit, "the shard would keep " + std::to_string(kept) +
                                  " bytes; the machine has " + std::to_string(machine_bytes())};
  memory.version_buffers = policies::version_buffers_max(sizes.workers);
  memory.first_slot = chunks.front().slot;
  // After a fail-over every member names its memory for every table at once, and not again.
  names_pool_.allow(runtime::place_wire_bytes, sizes.workers);
  names_pool_.allow(device_gradients_bytes, sizes.workers);
  // One that is answered may not be released yet when the next one comes.
  names_pool_.allow(runtime::call_payload_bytes, 2 * sizes.members * chunks.size());
  auto& parameters =
      parameters_
          .try_emplace(memory.version_buffers,
                       runtime::arena("tidegate-parameters", memory.version_buffers))
          .first->second;
  auto place = parameters.reserve(bytes);
  if (!place) return place.error();
  memory.place = *place;
  memory.prepared.assign(chunks.size() * memory.version_buffers, false);
  memory.kept = kept - bytes_kept_;
  tables_.emplace(table, std::move(memory));
  bytes_kept_ = kept;
  for (const auto& chunk : chunks)
    gradients_pool_.allow(chunk.elements * sizeof(float),
                          std::size_t{sizes.members} * runtime::limits::clocks_in_flight_max);
  return {};
}

void endpoint_memory::use_up(std::uint32_t table,
                             std::span<const policies::owned_chunk> chunks) {
  for (const auto& chunk : chunks)
    chunks_.push_back({.table = table, .first = chunk.first, .offset = 0, .elements = 0});
}

void endpoint_memory::discard(std::uint32_t table) {
  const auto at = tables_.find(table);
  if (at == tables_.end()) return;
  auto& memory = at->second;
  parameters_.at(memory.version_buffers).discard(memory.place);
  bytes_kept_ -= std::exchange(memory.kept, 0);
}

status endpoint_memory::add_rows(const policies::open_table_call& table,
                                 std::span<const policies::owned_chunk> chunks,
                                 policies::reduce_kind reduce, float clip_norm,
                                 std::uint32_t keeps) {
  TIDEGATE_ASSERT(chunks.empty() || chunks.front().slot == chunks_.size(), "slots are dense");
  use_up(table.table, chunks);  // what is to be known of them the rows know
  return rows_.add_table(table, chunks, reduce, clip_norm, keeps);
}

endpoint_memory::table_place endpoint_memory::place_of(std::uint32_t table) const {
  const auto& memory = tables_.at(table);
  return {parameters_.at(memory.version_buffers).name(memory.place), memory.place.bytes};
}

float* endpoint_memory::at(std::uint32_t slot, std::uint32_t version_buffer) const {
  const auto& chunk = chunks_[slot];
  const auto& table = tables_.at(chunk.table);
  auto* begin = parameters_.at(table.version_buffers).at(table.place, version_buffer);
  return reinterpret_cast<float*>(begin + chunk.offset);
}

std::span<std::byte> endpoint_memory::bytes_of_table(std::uint32_t table,
                                                     std::uint32_t version_buffer) const {
  const auto& memory = tables_.at(table);
  return {parameters_.at(memory.version_buffers).at(memory.place, version_buffer),
          memory.place.bytes};
}

void endpoint_memory::prepare(std::uint32_t slot, std::uint32_t version_buffer) {
  const auto& chunk = chunks_[slot];
  auto& table = tables_.at(chunk.table);
  const auto entry =
      std::size_t{slot - table.first_slot} * table.version_buffers + version_buffer;
  if (table.prepared[entry]) return;
  parameters_.at(table.version_buffers)
      .prepare_piece(table.place, version_buffer, chunk.offset, chunk.elements * sizeof(float));
  table.prepared[entry] = true;
}

std::span<const std::byte> endpoint_memory::payload_of(const runtime::frame_header&,
                                                       std::uint32_t slot,
                                                       std::uint32_t version_buffer) {
  return std::as_bytes(std::span(at(slot, version_buffer), chunks_[slot].elements));
}

status endpoint_memory::map_gradients(const policies::member_key& member, std::uint32_t table,
                                      std::span<const std::byte> place) {
  constexpr auto halves = policies::gradient_halves;
  const auto name = runtime::decode_place(place);
  if (!name) return name.error();
  auto& home = members_[member];
  auto opened = home.memory.open(*name, reach_of(table), halves, halves);
  if (!opened) return opened.error();
  home.gradients[table] = *opened;
  for (std::uint32_t half = 0; device_ && half < halves; ++half)
    if (auto pinned = device_->pin_memory({opened->at(half), opened->bytes}))
      home.pins.push_back(std::move(pinned));
  return {};
}

// One table's place may share its window with others.
runtime::expected<const std::byte*> endpoint_memory::open_on(stepping_device& device,
                                                             member_memory& home,
                                                             const runtime::device_place& place,
                                                             std::uint64_t bytes) {
  auto at = std::find_if(home.windows.begin(), home.windows.end(),
                         [&](const auto& known) { return known.name.window == place.window; });
  if (at == home.windows.end()) {
    auto opened = device.open(place);
    if (!opened) return runtime::fail(opened.error());
    at = home.windows.insert(home.windows.end(), {place, std::move(*opened)});
  }
  const auto size = at->window.bytes.size();
  if (place.offset > size || bytes > size - place.offset || place.offset % alignof(float) != 0)
    return runtime::fail(errc::corrupt, "a gradient beyond its window on a device");
  return at->window.bytes.data() + place.offset;
}

status endpoint_memory::map_on_device(const policies::member_key& member, std::uint32_t table,
                                      std::span<const std::byte> places) {
  if (!device_) return {errc::unavailable, "no device steps the table"};
  if (!device_->reads_on_device(table))
    return {errc::unavailable,
            "gradients of jobs with replicas, and of those that clip by the norm, are read on "
            "the host"};
  const auto named = runtime::decode_device_places(places);
  if (!named) return named.error();
  auto& home = members_[member];
  device_halves halves{};
  for (const auto& place : *named) {
    if (place.copy >= halves.size())
      return {errc::corrupt, "a gradient on a device in a half that there is not"};
    const auto at = open_on(*device_, home, place, reach_of(table));
    if (!at) return at.error();
    halves[place.copy] = *at;
  }
  if (std::any_of(halves.begin(), halves.end(), [](const auto* half) { return !half; }))
    return {errc::corrupt, "gradients on a device in one half"};
  home.on_device[table] = halves;
  return {};
}

std::vector<runtime::device_place> endpoint_memory::device_parameters(std::uint32_t table,
                                                                      std::uint64_t known) {
  if (!device_) return {};
  return device_->parameters_of(tables_.at(table).first_slot, known);
}

payload_handle endpoint_memory::keep(payload kept) {
  if (payloads_free_.empty()) {
    payloads_.emplace_back();
    payloads_free_.reserve(payloads_.size());
    payloads_free_.push_back(static_cast<payload_handle>(payloads_.size()));
  }
  const auto handle = payloads_free_.back();
  payloads_free_.pop_back();
  payloads_[handle - 1] = std::move(kept);
  return handle;
}

payload_handle endpoint_memory::keep(runtime::buffer gradient) {
  const auto* data = gradient.floats();
  return keep(payload{.kept = std::move(gradient), .data = data});
}

payload_handle endpoint_memory::keep_in_place(const policies::member_key& member,
                                              std::uint32_t table, std::uint32_t half,
                                              std::uint32_t slot, bool on_device) {
  const auto& home = members_.at(member);
  const auto* begin =
      on_device ? home.on_device.at(table)[half] : home.gradients.at(table).at(half);
  return keep(payload{.kept = {},
                      .data = reinterpret_cast<const float*>(begin) + chunks_[slot].first,
                      .on_device = on_device});
}

void endpoint_memory::release(payload_handle handle) {
  TIDEGATE_ASSERT(handle >= 1 && handle <= payloads_.size() && payloads_[handle - 1].data &&
                      !payloads_[handle - 1].is_released,
                  "a payload is released once");
  auto& payload = payloads_[handle - 1];
  payload.is_released = true;
  if (payload.readers == 0) free(handle);
}

void endpoint_memory::end_reading(payload_handle handle) {
  auto& payload = payloads_[handle - 1];
  if (--payload.readers == 0 && payload.is_released) free(handle);
}

void endpoint_memory::free(payload_handle handle) {
  if (!retired_.empty()) count_off(gradient(handle));
  payloads_[handle - 1] = {};
  payloads_free_.push_back(handle);
}

// The pushes of an earlier process count like any, and a step may yet read them in its memory.
void endpoint_memory::forget(const policies::member_key& member) {
  const auto at = members_.find(member);
  if (at == members_.end()) return;
  auto home = std::move(at->second);
  members_.erase(at);
  const auto pushes = kept_in(home);
  if (pushes > 0) retired_.push_back({pushes, std::move(home)});
}

void endpoint_memory::count_off(const float* gradient) {
  for (auto& process : retired_)
    if (process.of.holds(gradient)) --process.pushes;
  std::erase_if(retired_, [](const retired_memory& process) { return process.pushes == 0; });
}

bool endpoint_memory::member_memory::holds(const float* gradient) const {
  if (memory.holds(gradient)) return true;
  const auto* at = reinterpret_cast<const std::byte*>(gradient);
  return std::any_of(windows.begin(), windows.end(), [&](const opened_place& opened) {
    const auto bytes = opened.window.bytes;
    return std::less_equal<>()(bytes.data(), at) &&
           std::less<>()(at, bytes.data() + bytes.size());
  });
}

std::size_t endpoint_memory::kept_in(const member_memory& memory) const {
  return static_cast<std::size_t>(
      std::count_if(payloads_.begin(), payloads_.end(),
                    [&](const payload& kept) { return memory.holds(kept.data); }));
}

}  // namespace tidegate::actors
