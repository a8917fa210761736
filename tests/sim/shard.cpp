#include "tests/sim/shard.hpp"

#include <utility>

#include "actors/kernel_optimizer.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"
#include "tests/sim/coordinator.hpp"

namespace tidegate::sim {

namespace kernels = runtime::kernels;

void shard_process::start() {
  process::ask<coordinator_process>(
      world_.coordinator,
      [index = index_, me = id(), address = address()](coordinator_process& to,
                                                       answer_to reply) {
        to.shard_joined(index, address, me, std::move(reply));
      },
      [this](const answer& got) {
        if (!got.result.ok()) note("could not join: " + got.result.to_string());
      });
}

runtime::status shard_process::open_job(const policies::open_job_call& call) {
  core_.open_job(call.token, {call.epoch, call.workers, call.consistency,
                              call.workers_come_back, call.members});
  world_.check.open_job(call.token, call.name);
  note("opens job " + std::to_string(call.token) + " workers " + std::to_string(call.workers));
  auto& options = jobs_[call.token];
  options.members =
      call.members.empty() ? call.workers : static_cast<std::uint32_t>(call.members.size());
  options.scale = call.reduce == policies::reduce_kind::mean
                      ? 1.0F / static_cast<float>(call.workers)
                      : 1.0F;
  return {};
}

runtime::status shard_process::open_table(const policies::open_table_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end()) return {runtime::errc::not_found, "no such job here"};
  if (!core_.slots_of(call.table).empty()) return {};
  const auto chunks = core_.open_table(call.token, call.table, call.places);
  memory_.add_table(call.table, chunks, job->second.members);
  for (const auto& one : chunks) {
    auto& made = chunks_.emplace_back();
    made.how = actors::to_kernel(call.optimizer);
    made.scale = job->second.scale;
    made.job = call.token;
    made.state1.resize(one.elements);
    made.state2.resize(one.elements);
    const auto values = memory_.parameters(one.slot, 0).values();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = call.init.kind == policies::init_kind::uniform
                      ? call.init.value * runtime::uniform_signed(call.init_key, one.first + i)
                      : call.init.value;
    world_.check.open_chunk(call.token, call.table, one.chunk, call.optimizer, made.scale,
                            values);
  }
  return {};
}

void shard_process::close_job(std::uint64_t token) {
  front_.about_job(token, [&](auto& out) { core_.close_job(token, out); });
}

void shard_process::apply(const effects::apply& what, inputs from) {
  auto& chunk = chunks_.at(what.slot);
  std::vector<kernels::gradient> gradients;
  updates with;
  for (const auto& one : from) {
    const auto* payload = memory_.find(one.payload);
    if (!payload)
      return world_.check.fail("given back", name() + " sums a payload that was given back");
    gradients.push_back({payload->values.values().data(), one.rank});
    with.insert(with.end(), payload->of.begin(), payload->of.end());
  }
  const auto before = memory_.parameters(what.slot, what.from).values();
  const auto after = memory_.room(what.slot, what.to, true).values();
  kernels::chunk_arrays arrays;
  arrays.before = before.data();
  arrays.after = after.data();
  arrays.state1 = chunk.state1.data();
  arrays.state2 = chunk.state2.data();
  arrays.n = after.size();
  kernels::apply_update(chunk.how, chunk.powers, gradients, chunk.scale, arrays);
  world_.check.applied(chunk.job, memory_.table_of(what.slot), memory_.chunk_of(what.slot),
                       std::move(with), after);
}

void shard_process::hand_on(const effects::hand_on&, inputs) {
  TIDEGATE_ASSERT(false, "a shard applies what is pushed");
}

void shard_process::ask(const effects::ask&) {
  TIDEGATE_ASSERT(false, "a shard has the parameters");
}

}  // namespace tidegate::sim
