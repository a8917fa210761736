#include "actors/store/aggregator_store.hpp"

#include "runtime/functions/plugin_rules.hpp"

namespace tidegate::actors {

using runtime::status;

status aggregator_store::add_table(std::uint32_t table,
                                   std::span<const policies::owned_chunk> chunks,
                                   const table_sizes& sizes, std::size_t nodes) {
  const auto version_buffers = static_cast<std::uint32_t>(nodes * window);
  std::uint64_t bytes = 0;
  const runtime::kernels::combination rule{
      sizes.has_gaps ? runtime::kernels::gaps::possible : runtime::kernels::gaps::none,
      sizes.reduce, sizes.reduce_rule};
  const runtime::optimizer_options reduced{.reduce = rule.by, .reduce_rule = rule.rule};
  for (const auto& chunk : chunks) {
    chunks_.push_back({.table = table,
                       .offset = bytes,
                       .elements = chunk.elements,
                       .rule = rule,
                       .prepared = std::vector<bool>(version_buffers)});
    bytes += chunk.elements * sizeof(float);
  }
  if (auto known =
          runtime::rules_of_process().check(reduced, runtime::plugin_rules::steps::elements);
      !known.ok()) {
    memory_.use_up(table, chunks);
    return known;
  }
  auto all = sizes;
  all.copies += version_buffers;
  if (auto room = memory_.add_table(table, chunks, all); !room.ok()) return room;
  if (!sums_) sums_ = std::make_unique<runtime::arena>("tidegate-sums", version_buffers);
  auto place = sums_->reserve(bytes);
  if (!place) {
    memory_.forget_table(table);
    return place.error();
  }
  tables_[table] = *place;
  return {};
}

std::span<const std::byte> aggregator_store::sum(std::uint32_t slot,
                                                 const policies::upstream_frame& push,
                                                 inputs from) {
  const auto& chunk = chunks_[slot];
  if (from.size() == 1)
    return std::as_bytes(std::span(memory_.gradient(from[0].payload), chunk.elements));
  gradients_.clear();
  for (const auto& input : from)
    gradients_.push_back({memory_.gradient(input.payload), input.rank});
  auto* out =
      reinterpret_cast<float*>(room_of_sum(slot, version_buffer_of(push.node, push.tag.clock)));
  runtime::kernels::tree_reduce(gradients_, out, chunk.elements, chunk.rule);
  return std::as_bytes(std::span(out, chunk.elements));
}

std::byte* aggregator_store::sum_at(std::uint32_t slot, std::uint32_t version_buffer) const {
  const auto& chunk = chunks_[slot];
  return sums_->at(tables_.at(chunk.table), version_buffer) + chunk.offset;
}

// The first sum of a chunk makes its pages: those of a whole table would hold up all others.
std::byte* aggregator_store::room_of_sum(std::uint32_t slot, std::uint32_t version_buffer) {
  auto& chunk = chunks_[slot];
  if (!chunk.prepared[version_buffer]) {
    sums_->prepare_piece(tables_.at(chunk.table), version_buffer, chunk.offset,
                         chunk.elements * sizeof(float));
    chunk.prepared[version_buffer] = true;
  }
  return sum_at(slot, version_buffer);
}

std::span<const std::byte> aggregator_store::retransmit_sum(
    const policies::upstream_frame& push) {
  const auto bytes = chunks_[push.slot].elements * sizeof(float);
  if (push.single == policies::no_payload)
    return {sum_at(push.slot, version_buffer_of(push.node, push.tag.clock)), bytes};
  return {reinterpret_cast<const std::byte*>(memory_.gradient(push.single)), bytes};
}

std::span<std::byte> aggregator_store::room(std::uint32_t slot, std::uint32_t version_buffer) {
  memory_.prepare(slot, version_buffer);
  return {reinterpret_cast<std::byte*>(memory_.at(slot, version_buffer)),
          memory_.bytes_of(slot)};
}

}  // namespace tidegate::actors
