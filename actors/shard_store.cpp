#include "actors/shard_store.hpp"

#include <cstring>
#include <unistd.h>

#include "actors/optimizers.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::actors {

namespace kernels = runtime::kernels;

namespace {

void fill(float* out, const policies::owned_chunk& chunk, const policies::init_spec& init,
          std::uint64_t key) {
  const bool uniform = init.kind == policies::init_kind::uniform;
  for (std::uint64_t i = 0; i < chunk.elements; ++i)
    out[i] = uniform ? init.value * runtime::uniform_signed(key, chunk.first + i) : init.value;
}

// Two per worker: the next pull may come before the last reply is known to be sent.
std::size_t replies_in_flight_max(std::uint32_t workers) {
  return 2 * std::size_t{workers};
}

std::uint64_t machine_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

runtime::status shard_store::add_chunk(const policies::owned_chunk& owned,
                                       const policies::optimizer_spec& optimizer,
                                       const policies::init_spec& init, std::uint64_t init_key,
                                       float scale, std::uint32_t workers) {
  TIDEGATE_ASSERT(owned.slot == chunks_.size(), "slots are dense");
  const auto bytes = owned.elements * sizeof(float);
  const auto arrays = kernels::state_arrays(to_kernel(optimizer).kind);
  // Of the parameters: the current version, the one being written, and those being sent.
  gradients_pool_.allow(bytes, std::size_t{workers} * runtime::limits::clocks_in_flight_max);
  versions_pool_.allow(bytes, replies_in_flight_max(workers) + 2 + arrays);
  auto& made = chunks_.emplace_back();  // also on failure: slots are those of the core
  made.elements = owned.elements;
  made.workers = workers;
  made.optimizer = to_kernel(optimizer);
  made.scale = scale;
  bytes_kept_ += bytes * (1 + arrays);
  if (bytes_kept_ > machine_bytes())
    return {runtime::errc::over_limit, "the shard would keep " + std::to_string(bytes_kept_) +
                                           " bytes; the machine has " +
                                           std::to_string(machine_bytes())};
  made.parameters = versions_pool_.lease(bytes);
  if (arrays >= 1) made.state1 = versions_pool_.lease(bytes);
  if (arrays >= 2) made.state2 = versions_pool_.lease(bytes);
  if (!made.parameters || (arrays >= 1 && !made.state1) || (arrays >= 2 && !made.state2))
    return {runtime::errc::over_limit,
            "no memory for a chunk of " + std::to_string(bytes) + " bytes on this shard"};
  if (made.state1) std::memset(made.state1.data(), 0, bytes);
  if (made.state2) std::memset(made.state2.data(), 0, bytes);
  fill(made.parameters.floats(), owned, init, init_key);
  return {};
}

bool shard_store::may_send(std::uint32_t slot) const noexcept {
  const auto& chunk = chunks_[slot];
  return chunk.parameters && chunk.sends_under_way < replies_in_flight_max(chunk.workers);
}

runtime::buffer shard_store::begin_send(std::uint32_t slot) {
  ++chunks_[slot].sends_under_way;
  return chunks_[slot].parameters;
}

void shard_store::end_send(std::uint32_t slot) noexcept {
  --chunks_[slot].sends_under_way;
}

policies::payload_handle shard_store::keep(runtime::buffer gradient) {
  if (payloads_free_.empty()) {
    payloads_.emplace_back();
    payloads_free_.reserve(payloads_.size());
    payloads_free_.push_back(static_cast<policies::payload_handle>(payloads_.size()));
  }
  const auto handle = payloads_free_.back();
  payloads_free_.pop_back();
  payloads_[handle - 1] = std::move(gradient);
  return handle;
}

void shard_store::release(policies::payload_handle payload) {
  TIDEGATE_ASSERT(payload >= 1 && payload <= payloads_.size() && payloads_[payload - 1],
                  "a payload is released once");
  payloads_[payload - 1] = {};
  payloads_free_.push_back(payload);
}

void shard_store::apply(std::uint32_t slot,
                        std::span<const policies::shard_effects::input> inputs) {
  auto& chunk = chunks_[slot];
  gradients_.clear();
  for (const auto& input : inputs)
    gradients_.push_back({payloads_[input.payload - 1].floats(), input.rank});
  runtime::buffer after = chunk.parameters;
  const bool being_read = after.use_count() > 2;  // more than the chunk and this handle
  if (being_read) after = versions_pool_.lease(chunk.elements * sizeof(float));
  TIDEGATE_ASSERT(after, "may_send bounds the versions alive");
  kernels::chunk_arrays arrays;
  arrays.before = chunk.parameters.floats();
  arrays.after = after.floats();
  arrays.state1 = chunk.state1.floats();
  arrays.state2 = chunk.state2.floats();
  arrays.n = chunk.elements;
  kernels::apply_update(chunk.optimizer, chunk.powers, gradients_, chunk.scale, arrays);
  chunk.parameters = std::move(after);
}

}  // namespace tidegate::actors
