#include "actors/chunks/host_engine.hpp"

#include <algorithm>

namespace tidegate::actors {

namespace kernels = runtime::kernels;
using runtime::status;

status host_engine::add_table(std::uint32_t table,
                              std::span<const policies::owned_chunk> chunks,
                              const table_shape& shape) {
  for (const auto& chunk : chunks) {
    if (chunks_.size() <= chunk.slot) chunks_.resize(chunk.slot + std::size_t{1});
    auto& state = chunks_[chunk.slot];
    state.table = table;
    state.elements = chunk.elements;
    state.states = shape.states;
  }
  return {};
}

status host_engine::make_chunk(std::uint32_t slot) {
  auto& state = chunks_[slot];
  for (std::uint32_t i = 0; i < state.states; ++i) {
    auto room = add_state(state);
    if (!room) return room.error();
    (i == 0 ? state.state1 : state.state2) = *room;
  }
  return {};
}

void host_engine::discard(std::uint32_t table) {
  for (const auto& chunk : chunks_)
    if (chunk.table == table)
      for (const auto& place : chunk.places) states_.discard(place);
}

runtime::expected<float*> host_engine::add_state(chunk_state& chunk) {
  auto place = states_.allocate(chunk.elements * sizeof(float));
  if (!place) return runtime::fail(place.error());
  chunk.places.push_back(*place);
  return reinterpret_cast<float*>(states_.at(*place, 0));
}

float* host_engine::at(const array_name& array) const {
  const auto& chunk = chunks_[array.slot];
  switch (array.of) {
    case array_name::kind::parameters:
      return endpoint_.at(array.slot, array.version_buffer);
    case array_name::kind::state1:
      return chunk.state1;
    case array_name::kind::state2:
      return chunk.state2;
  }
  return nullptr;
}

void host_engine::apply(const step& next,
                        std::span<const policies::shard_effects::input> from) {
  auto& chunk = chunks_[next.slot];
  endpoint_.prepare(next.slot, next.to);
  gradients_.clear();
  for (const auto& input : from)
    gradients_.push_back({endpoint_.gradient(input.payload), input.rank});
  const kernels::chunk_arrays arrays{.before = endpoint_.at(next.slot, next.from),
                                     .after = endpoint_.at(next.slot, next.to),
                                     .state1 = chunk.state1,
                                     .state2 = chunk.state2,
                                     .n = chunk.elements,
                                     .sum = next.sum};
  if (next.assigns)
    kernels::assign_sum(gradients_, arrays, kernels::combination_of(next.options));
  else
    kernels::apply_update(next.options, chunk.powers, gradients_, next.scale, arrays);
}

void host_engine::write(const array_name& array, std::span<const float> values) {
  if (array.of == array_name::kind::parameters)
    endpoint_.prepare(array.slot, array.version_buffer);
  std::copy(values.begin(), values.end(), at(array));
}

void host_engine::read(const array_name& array, std::span<float> to,
                       std::shared_ptr<const void>) {
  std::copy_n(at(array), to.size(), to.begin());
}

}  // namespace tidegate::actors
