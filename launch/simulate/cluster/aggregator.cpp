#include "launch/simulate/cluster/aggregator.hpp"

#include <utility>
#include <vector>

#include "launch/simulate/cluster/coordinator.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

namespace {

constexpr auto window = runtime::limits::clocks_in_flight_max;

}  // namespace

aggregator_process::aggregator_process(world& where, process_id id, std::uint32_t host,
                                       std::string job, std::uint32_t index,
                                       std::uint32_t incarnation)
    : shell_process(where, id, role::aggregator,
                    "aggregator-" + job + "-" + std::to_string(index), host),
      job_(std::move(job)),
      number_(index),
      incarnation_(incarnation) {
  serve(shell_);
}

void aggregator_process::ask_to_join(process_id coordinator, answer_to back) {
  process::ask<coordinator_process>(
      coordinator,
      [job = job_, index = number_, incarnation = incarnation_, me = id(), address = address()](
          coordinator_process& to, answer_to reply) {
        to.aggregator_joined(job, index, incarnation, address, me, std::move(reply));
      },
      std::move(back));
}

void aggregator_process::upstream_moved(const policies::shard_moved& move) {
  shell_.upstream_moved(move);
}

runtime::status aggregator_process::add_table(std::uint32_t table,
                                              std::span<const policies::owned_chunk> chunks,
                                              const actors::table_sizes& sizes, std::size_t) {
  rules_[table] = {
      sizes.has_gaps ? runtime::kernels::gaps::possible : runtime::kernels::gaps::none,
      sizes.reduce, sizes.reduce_rule};
  memory_.add_table(table, chunks, sizes.members);
  return {};
}

std::span<const std::byte> aggregator_process::sum(std::uint32_t slot,
                                                   const policies::upstream_frame& push,
                                                   inputs from) {
  updates of;
  std::vector<runtime::kernels::gradient> gradients;
  for (const auto& input : from) {
    const auto* const payload = memory_.find(input.payload);
    if (!payload) {
      check_fails("given back", "sums a payload that was given back");
      return {};
    }
    of.insert(of.end(), payload->of.begin(), payload->of.end());
    gradients.push_back({payload->values.data(), input.rank});
  }
  world_.check.sums().summed({.from = id(),
                              .rank = push.tag.rank,
                              .table = push.tag.table,
                              .chunk = push.tag.chunk,
                              .clock = push.tag.clock},
                             std::move(of));
  if (from.size() == 1) return std::as_bytes(memory_.find(from[0].payload)->values);
  auto& out = sums_[{slot, push.node, push.tag.clock % window}];
  if (!out) out = std::make_shared<std::vector<float>>(memory_.bytes_of(slot) / sizeof(float));
  runtime::kernels::tree_reduce(gradients, out->data(), out->size(), rules_.at(push.tag.table));
  return std::as_bytes(std::span(*out));
}

std::span<const std::byte> aggregator_process::retransmit_sum(
    const policies::upstream_frame& push) {
  if (push.single == policies::no_payload)
    return std::as_bytes(std::span(*sums_.at({push.slot, push.node, push.tag.clock % window})));
  const auto* const payload = memory_.find(push.single);
  if (payload) return std::as_bytes(payload->values);
  check_fails("given back", "sends a payload that was given back");
  return {};
}

std::span<std::byte> aggregator_process::room(std::uint32_t slot,
                                              std::uint32_t version_buffer) {
  return std::as_writable_bytes(memory_.room(slot, version_buffer, false).values());
}

}  // namespace tidegate::sim
