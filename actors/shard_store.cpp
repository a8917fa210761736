#include "actors/shard_store.hpp"

#include <algorithm>
#include <unistd.h>

#include "actors/optimizers.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::actors {

namespace kernels = runtime::kernels;
using policies::payload_handle;
using runtime::errc;
using runtime::status;

namespace {

void fill(float* out, const policies::owned_chunk& chunk, const policies::init_spec& init,
          std::uint64_t key) {
  const bool uniform = init.kind == policies::init_kind::uniform;
  for (std::uint64_t i = 0; i < chunk.elements; ++i)
    out[i] = uniform ? init.value * runtime::uniform_signed(key, chunk.first + i) : init.value;
}

std::uint64_t machine_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

status shard_store::add_table(const policies::open_table_call& table,
                              std::span<const policies::owned_chunk> chunks,
                              const store_options& options) {
  TIDEGATE_ASSERT(!tables_.contains(table.table), "a table is made once");
  const auto how = to_kernel(table.optimizer);
  const auto arrays = kernels::state_arrays(how.kind);
  auto& made = tables_[table.table];
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    TIDEGATE_ASSERT(chunk.slot == chunks_.size(), "slots are dense");
    const auto size = chunk.elements * sizeof(float);
    gradients_pool_.allow(size,
                          std::size_t{options.workers} * runtime::limits::clocks_in_flight_max);
    auto& memory = chunks_.emplace_back();  // also on failure: slots are those of the core
    memory.table = table.table;
    memory.first = chunk.first;
    memory.offset = bytes;
    memory.elements = chunk.elements;
    memory.optimizer = how;
    memory.scale = options.scale;
    bytes += size;
    made.reach = std::max(made.reach, chunk.first * sizeof(float) + size);
  }
  bytes_kept_ += bytes * (1 + arrays);
  if (bytes_kept_ > machine_bytes())
    return {errc::over_limit, "the shard would keep " + std::to_string(bytes_kept_) +
                                  " bytes; the machine has " + std::to_string(machine_bytes())};
  made.planes = policies::planes_max(options.workers);
  auto& parameters =
      parameters_.try_emplace(made.planes, runtime::arena("tidegate-parameters", made.planes))
          .first->second;
  auto place = parameters.allocate(bytes);
  if (!place) return place.error();
  made.place = *place;
  made.prepared.assign(made.planes, false);
  made.prepared[0] = true;
  for (const auto& chunk : chunks) {
    auto& memory = chunks_[chunk.slot];
    const auto size = memory.elements * sizeof(float);
    for (auto* state : {&memory.state1, &memory.state2}) {
      if (state == &memory.state2 ? arrays < 2 : arrays < 1) continue;
      auto room = add_state(size);
      if (!room) return room.error();
      *state = reinterpret_cast<float*>(*room);
    }
    fill(at(memory, 0), chunk, table.init, table.init_key);
  }
  return {};
}

runtime::expected<std::byte*> shard_store::add_state(std::uint64_t bytes) {
  auto place = states_.allocate(bytes);
  if (!place) return runtime::fail(place.error());
  return states_.at(*place, 0);
}

shard_store::table_place shard_store::place_of(std::uint32_t table) const {
  const auto& memory = tables_.at(table);
  return {parameters_.at(memory.planes).name(memory.place), memory.place.bytes};
}

float* shard_store::at(const chunk_memory& chunk, std::uint32_t plane) const {
  const auto& table = tables_.at(chunk.table);
  auto* begin = parameters_.at(table.planes).at(table.place, plane);
  return reinterpret_cast<float*>(begin + chunk.offset);
}

std::span<const std::byte> shard_store::parameters(std::uint32_t slot,
                                                   std::uint32_t plane) const {
  const auto& chunk = chunks_[slot];
  return std::as_bytes(std::span(at(chunk, plane), chunk.elements));
}

payload_handle shard_store::keep(payload what) {
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

payload_handle shard_store::keep(runtime::buffer gradient) {
  const auto* data = gradient.floats();
  return keep(payload{std::move(gradient), data});
}

payload_handle shard_store::keep(const std::byte* in_place, std::uint32_t slot) {
  return keep(payload{{}, reinterpret_cast<const float*>(in_place) + chunks_[slot].first});
}

void shard_store::release(payload_handle handle) {
  TIDEGATE_ASSERT(handle >= 1 && handle <= payloads_.size() && payloads_[handle - 1].data,
                  "a payload is released once");
  payloads_[handle - 1] = {};
  payloads_free_.push_back(handle);
}

void shard_store::apply(const policies::shard_effects::apply& what,
                        std::span<const policies::shard_effects::input> inputs) {
  auto& chunk = chunks_[what.slot];
  auto& table = tables_.at(chunk.table);
  if (!table.prepared[what.to]) {
    parameters_.at(table.planes).prepare(table.place, what.to);
    table.prepared[what.to] = true;
  }
  gradients_.clear();
  for (const auto& input : inputs)
    gradients_.push_back({payloads_[input.payload - 1].data, input.rank});
  kernels::chunk_arrays arrays;
  arrays.before = at(chunk, what.from);
  arrays.after = at(chunk, what.to);
  arrays.state1 = chunk.state1;
  arrays.state2 = chunk.state2;
  arrays.n = chunk.elements;
  kernels::apply_update(chunk.optimizer, chunk.powers, gradients_, chunk.scale, arrays);
}

}  // namespace tidegate::actors
