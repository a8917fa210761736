#include "actors/shard_store.hpp"

#include <cstring>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::actors {

namespace kernels = runtime::kernels;

namespace {

kernels::optimizer to_kernel(const policies::optimizer_spec& spec) {
  kernels::optimizer made;
  switch (spec.kind) {
    case policies::optimizer_kind::sgd:
      made.kind = kernels::optimizer_kind::sgd;
      break;
    case policies::optimizer_kind::momentum:
      made.kind = kernels::optimizer_kind::momentum;
      break;
    case policies::optimizer_kind::adam:
      made.kind = kernels::optimizer_kind::adam;
      break;
  }
  made.learning_rate = spec.learning_rate;
  made.momentum = spec.momentum;
  made.beta1 = spec.beta1;
  made.beta2 = spec.beta2;
  made.epsilon = spec.epsilon;
  return made;
}

void fill(float* out, const policies::owned_chunk& chunk, const policies::init_spec& init,
          std::uint64_t key) {
  const bool uniform = init.kind == policies::init_kind::uniform;
  for (std::uint64_t i = 0; i < chunk.elements; ++i)
    out[i] = uniform ? init.value * runtime::uniform_signed(key, chunk.first + i) : init.value;
}

}  // namespace

runtime::status shard_store::add_chunk(const policies::owned_chunk& owned,
                                       const policies::optimizer_spec& optimizer,
                                       const policies::init_spec& init, std::uint64_t init_key,
                                       float scale, std::uint32_t workers) {
  TIDEGATE_ASSERT(owned.slot == chunks_.size(), "slots are dense");
  const auto bytes = owned.elements * sizeof(float);
  // Gradients in the credit window, one version of the parameters per pull under way (at most
  // one per worker) plus the current one and the one being written, and the optimizer's state.
  const std::size_t gradients = std::size_t{workers} * runtime::limits::clocks_in_flight_max;
  pools_.allow(bytes, gradients + workers + 2 + 2);
  chunk_memory made;
  made.elements = owned.elements;
  made.optimizer = to_kernel(optimizer);
  made.scale = scale;
  made.parameters = pools_.lease(bytes);
  const auto arrays = kernels::state_arrays(made.optimizer.kind);
  if (arrays >= 1) made.state1 = pools_.lease(bytes);
  if (arrays >= 2) made.state2 = pools_.lease(bytes);
  if (!made.parameters || (arrays >= 1 && !made.state1) || (arrays >= 2 && !made.state2))
    return {runtime::errc::over_limit,
            "no memory for a chunk of " + std::to_string(bytes) + " bytes on this shard"};
  if (made.state1) std::memset(made.state1.data(), 0, bytes);
  if (made.state2) std::memset(made.state2.data(), 0, bytes);
  fill(made.parameters.floats(), owned, init, init_key);
  chunks_.push_back(std::move(made));
  return {};
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
  if (being_read) after = pools_.lease(chunk.elements * sizeof(float));
  TIDEGATE_ASSERT(after, "versions are bounded by one pull per worker");
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
