#include "actors/aggregator_store.hpp"

namespace tidegate::actors {

using runtime::status;

status aggregator_store::add_table(std::uint32_t table,
                                   std::span<const policies::owned_chunk> chunks,
                                   front_memory::sizes how, std::size_t nodes) {
  const auto planes = static_cast<std::uint32_t>(nodes * window);
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    chunks_.push_back({table, bytes, chunk.elements});
    bytes += chunk.elements * sizeof(float);
  }
  how.copies += planes;
  if (auto room = memory_.add_table(table, chunks, how); !room.ok()) return room;
  if (!sums_) sums_ = std::make_unique<runtime::arena>("tidegate-sums", planes);
  auto place = sums_->allocate(bytes);
  if (!place) {
    memory_.forget_table(table);
    return place.error();
  }
  tables_[table] = *place;
  for (std::uint32_t plane = 1; plane < planes; ++plane) sums_->prepare(*place, plane);
  return {};
}

std::span<const std::byte> aggregator_store::sum(
    std::uint32_t slot, std::uint32_t node, std::uint64_t clock,
    std::span<const policies::shard_effects::input> inputs) {
  const auto& chunk = chunks_[slot];
  if (inputs.size() == 1)
    return std::as_bytes(std::span(memory_.gradient(inputs[0].payload), chunk.elements));
  gradients_.clear();
  for (const auto& input : inputs)
    gradients_.push_back({memory_.gradient(input.payload), input.rank});
  auto* out = reinterpret_cast<float*>(sum_at(slot, node, clock));
  runtime::kernels::tree_sum(gradients_, out, chunk.elements);
  return std::as_bytes(std::span(out, chunk.elements));
}

std::byte* aggregator_store::sum_at(std::uint32_t slot, std::uint32_t node,
                                    std::uint64_t clock) const {
  const auto& chunk = chunks_[slot];
  const auto plane = static_cast<std::uint32_t>(node * window + clock % window);
  return sums_->at(tables_.at(chunk.table), plane) + chunk.offset;
}

std::span<const std::byte> aggregator_store::sum_again(
    const policies::upstream_frame& push) const {
  const auto bytes = chunks_[push.slot].elements * sizeof(float);
  if (push.single == policies::no_payload)
    return {sum_at(push.slot, push.node, push.tag.clock), bytes};
  return {reinterpret_cast<const std::byte*>(memory_.gradient(push.single)), bytes};
}

}  // namespace tidegate::actors
