#include "tests/sim/shard.hpp"

#include <utility>

#include "actors/kernel_optimizer.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/shard_host.hpp"

namespace tidegate::sim {

namespace kernels = runtime::kernels;

void shard_process::ask_to_join(process_id coordinator, answer_to back) {
  process::ask<coordinator_process>(
      coordinator,
      [index = index_, member = member_, me = id(), address = address()](
          coordinator_process& to, answer_to reply) {
        to.shard_joined(index, member, address, me, std::move(reply));
      },
      std::move(back));
}

void shard_process::retire(const answer_to& reply) {
  reply({});
  if (auto* whole = world_.find_as<shard_host>(part_of())) whole->retire(id());
}

runtime::status shard_process::open_job(const policies::open_job_call& call) {
  if (jobs_.contains(call.token)) return {};
  core_.open_job(call.token,
                 {call.epoch, call.workers, call.consistency, call.workers_come_back,
                  call.members, call.replicated, call.team});
  replication_.job_opened(call.token);
  world_.check.open_job(call.token, call.name);
  if (call.epoch != 0) serves_since(call.epoch);
  note("opens job " + std::to_string(call.token) + " workers " + std::to_string(call.team));
  auto& options = jobs_[call.token];
  options.name = call.name;
  if (!options.folder) options.folder = world_.folder(call.name);  // a file may be open there
  options.members =
      (static_cast<std::uint32_t>(call.members.size()) + call.workers - call.team) *
      (world_.plan.scalings.empty() ? 1 : 2);
  options.reduce = call.reduce;
  options.is_bsp = call.consistency.kind == policies::consistency_kind::bsp;
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
    made.reduce = job->second.reduce;
    made.job = call.token;
    made.state1.resize(one.elements);
    made.state2.resize(one.elements);
    const auto values = memory_.parameters(one.slot, 0).values();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = call.init.kind == policies::init_kind::uniform
                      ? call.init.value * runtime::uniform_signed(call.init_key, one.first + i)
                      : call.init.value;
    made.about = {call.name,      call.shape, one.chunk, one.first, one.elements,
                  call.optimizer, 0,          1,         1,         {}};
    if (call.restore.number > 0 || follows_) continue;
    if (world_.check.is_out(id()))
      world_.check.promoted_late(id(), call.token, call.table, one.chunk,
                                 core_.progress(one.slot), values);
    else
      world_.check.open_chunk(call.token, call.table, call.name, one.chunk, call.optimizer,
                              values);
  }
  replication_.table_opened(call.token, call.table);
  if (call.restore.number > 0)
    if (auto restored = restore(call, chunks); !restored.ok()) return restored;
  front_.table_opened(call.token);
  return {};
}

runtime::status shard_process::restore(const policies::open_table_call& call,
                                       const std::vector<policies::owned_chunk>& chunks) {
  auto& folder = *jobs_.at(call.token).folder;
  const auto reader = policies::open_checkpoint(folder, call.restore);
  if (!reader) return reader.error();
  const auto& tables = reader->manifest().tables;
  std::size_t table = 0;
  while (table < tables.size() && tables[table].name != call.name) ++table;
  if (table == tables.size()) return {runtime::errc::not_found, "no such table"};
  for (const auto& one : chunks) {
    auto& made = chunks_.at(one.slot);
    const auto& stored = reader->chunks(table)[one.chunk].stored.about;
    std::vector<float>* const states[] = {&made.state1, &made.state2};
    const auto values = memory_.parameters(one.slot, 0).values();
    for (std::size_t array = 0; array < policies::chunk_arrays(stored); ++array) {
      const auto into = array == 0 ? values : std::span(*states[array - 1]);
      if (auto read = reader->read(folder, table, array, one.first, into); !read.ok())
        return read;
    }
    made.powers = {stored.beta1_power, stored.beta2_power};
    core_.restore(one.slot, stored.version, stored.ranks);
    if (follows_) continue;
    if (world_.check.is_out(id()))
      world_.check.promoted_late(id(), call.token, call.table, one.chunk,
                                 core_.progress(one.slot), values);
    else
      world_.check.restore_chunk(call.token, call.table, call.name, one.chunk, stored.ranks,
                                 values);
  }
  return {};
}

answer shard_process::checkpoint(const policies::checkpoint_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end()) return {{runtime::errc::not_found, "no such job here"}, {}};
  std::size_t chunks = 0;
  for (const auto table : call.tables) chunks += core_.slots_of(table).size();
  std::uint64_t gone_by = 0;
  bool begun = false;
  // What waits may end the part before, which then is written first.
  front_.about_job(call.token, [&](auto& out) {
    begun = job->second.part.begin({job->second.name, call.id, index_}, call.token, chunks);
    job->second.cut_clock = call.clock;
    if (begun) gone_by = core_.cut(call.token, call.clock, call.tables, out);
  });
  if (!begun) return {{runtime::errc::unavailable, "the last part is being written"}, {}};
  return {{}, gone_by};
}

void shard_process::snapshot(const effects::snapshot& what,
                             const policies::shard_core::cut_state& state) {
  auto& chunk = chunks_.at(what.slot);
  auto about = chunk.about;
  about.version = state.version;
  about.ranks = state.ranks;
  about.beta1_power = chunk.powers.beta1;
  about.beta2_power = chunk.powers.beta2;
  const std::span<const float> arrays[] = {memory_.parameters(what.slot, what.plane).values(),
                                           chunk.state1, chunk.state2};
  auto& job = jobs_.at(chunk.job);
  if (job.is_bsp && job.cut_clock != policies::clock_vector::infinity &&
      state.version != job.cut_clock)
    world_.check.fail("checkpoints",
                      name() + " copies version " + std::to_string(state.version) +
                          " for a cut at clock " + std::to_string(job.cut_clock));
  auto& part = job.part;
  const auto count = policies::chunk_arrays(about);
  if (part.add(memory_.table_of(what.slot), std::move(about), std::span(arrays).first(count)))
    write_part(chunk.job);
}

void shard_process::write_part(std::uint64_t token) {
  auto writer = jobs_.at(token).part.write();
  if (!writer)
    return world_.check.fail("checkpoints", "no part: " + writer.error().to_string());
  step(token, std::make_shared<policies::file_writer>(std::move(*writer)));
}

void shard_process::step(std::uint64_t token,
                         const std::shared_ptr<policies::file_writer>& writer) {
  auto& job = jobs_.at(token);
  const auto progress = writer->step(*job.folder);
  if (progress == policies::file_writer::progress::working)
    return later(world_.chance.between<nanoseconds>(0, 2 * millisecond),
                 [this, token, writer] { step(token, writer); });
  job.part.ended();
  auto report = job.part.report();
  if (progress == policies::file_writer::progress::done)
    report.file = writer->written();
  else
    report.failure = writer->error().to_string();
  process::ask<coordinator_process>(
      world_.coordinator,
      [report](coordinator_process& to, const answer_to& reply) {
        to.part(report);
        reply({});
      },
      [](const answer&) {});
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
  const auto sum = what.keeps_sum ? keep_sum(what, gradients) : memory_view();
  if (sum) gradients.assign(1, {sum.values().data(), gradients.front().rank});
  kernels::apply_update(chunk.how, chunk.powers, gradients,
                        policies::scale_of(chunk.reduce, what.team), arrays);
  if (follows_ && world_.check.is_out(id())) return;
  if (follows_)
    return world_.check.followed(chunk.job, memory_.table_of(what.slot),
                                 memory_.chunk_of(what.slot), after);
  world_.check.applied(chunk.job, memory_.table_of(what.slot), memory_.chunk_of(what.slot),
                       std::move(with), after, id(), what.team);
}

void shard_process::hand_on(const effects::hand_on&, inputs) {
  TIDEGATE_ASSERT(false, "a shard applies what is pushed");
}

void shard_process::ask(const effects::ask&) {
  TIDEGATE_ASSERT(false, "a shard has the parameters");
}

}  // namespace tidegate::sim
