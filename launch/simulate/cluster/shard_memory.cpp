#include "launch/simulate/cluster/shard_memory.hpp"

#include <algorithm>
#include <utility>

#include "actors/shard/new_chunk.hpp"
#include "launch/simulate/cluster/shard.hpp"
#include "launch/simulate/cluster/slowness.hpp"
#include "policies/shard/chunk_seed.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

namespace kernels = runtime::kernels;
using policies::shard_core;

shard_memory::shard_memory(world& where, endpoint_process& owner, endpoint_memory& endpoint,
                           const actors::shard_shell& shell)
    : world_(where), owner_(owner), endpoint_(endpoint), shell_(shell) {
  if (!where.plan.on_devices) return;
  device_.emplace(where.chance, endpoint.work());
  endpoint.use_device();
  endpoint.rows().set_engines(&row_engines_.emplace(*device_));
  if (where.plan.devices_lost > 0 && where.chance.chance(where.plan.devices_lost))
    looks_left_ = where.chance.between<std::uint64_t>(1, 300);
}

void shard_memory::expect_cut(std::uint64_t job, std::uint64_t number, std::uint64_t clock) {
  if (const auto at = jobs_.find(job); at != jobs_.end()) at->second.cut_clocks[number] = clock;
}

runtime::buffer shard_memory::lease_seed(std::size_t bytes) {
  return owner_.is_short_of_memory() ? runtime::buffer() : endpoint_.lease_any(bytes);
}

runtime::status shard_memory::add_table(const policies::open_table_call& table,
                                        std::span<const policies::owned_chunk> chunks,
                                        const actors::store_options& options) {
  const bool has_rows = table.rows.dim > 0;
  if (has_rows) {
    if (auto added = endpoint_.add_rows(table, chunks, options); !added.ok()) return added;
  } else {
    endpoint_.add_table(table.table, chunks, options.members);
  }
  if (options.replicated || options.clip_norm > 0) endpoint_.read_on_host(table.table);
  for (const auto& chunk : chunks) {
    auto& state = chunks_.emplace_back();
    state.optimizer = table.optimizer;
    state.optimizer.lazy |= has_rows;  // a row that is not pushed makes no step
    state.reduce = options.reduce;
    state.clip_norm = policies::clip_norm_of(options.clip_norm, table.optimizer.kind);
    state.job = table.token;
    state.about = actors::describe_new(table, chunk);
    if (has_rows) continue;
    state.state1.resize(chunk.elements);
    state.state2.resize(chunk.elements);
  }
  return {};
}

void shard_memory::tell_promoted(bool is_late, const std::set<process_id>& before) {
  auto& check = world_.check;
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    if (discarded_.contains(endpoint_.table_of(slot))) continue;
    const auto& chunk = chunks_[slot];
    const auto table = endpoint_.table_of(slot);
    const auto number = endpoint_.chunk_of(slot);
    const auto has = shell_.core().snapshots().progress(slot);
    const auto version_buffer = shell_.core().registry().version_buffer_of(slot);
    const bool has_rows = endpoint_.has_rows(slot);
    const auto rows = has_rows ? endpoint_.parameters(slot, version_buffer) : memory_view();
    const auto values = has_rows ? rows.values() : parameters(slot, version_buffer);
    if (is_late)
      check.promoted_late(owner_.id(), chunk.job, table, number, has,
                          endpoint_.served_of(slot, values));
    else if (check.knows(chunk.job, table, number))
      check.promoted(chunk.job, table, number, has, endpoint_.served_of(slot, values), before);
    else if (has.version > 0)
      // Its primary never opened it.
      check.restore_chunk(chunk.job, table, chunk.about.table, number, has.ranks,
                          endpoint_.served_of(slot, values));
    else
      check.open_chunk(chunk.job, table, chunk.about.table, number, chunk.optimizer, values,
                       rows_of(slot, values));
  }
}

void shard_memory::tell_applied(const effects::apply& step, updates with,
                                std::span<const float> after) {
  const auto job = chunks_.at(step.slot).job;
  const auto table = endpoint_.table_of(step.slot);
  const auto chunk = endpoint_.chunk_of(step.slot);
  if (follows_ && world_.check.is_out(owner_.id())) return;
  if (follows_) return world_.check.followed(job, table, chunk, after);
  world_.check.applied(
      job, table, chunk, std::move(with), after, owner_.id(),
      {.contributors = step.contributors, .squares = step.squares.value_or(0.0)});
}

actors::shard_memory::description shard_memory::describe(std::uint32_t slot) const {
  const auto& chunk = chunks_.at(slot);
  const auto& job = jobs_.at(chunk.job);
  const auto clock = job.cut_clocks.at(shell_.checkpoint_under_way(chunk.job).number);
  const auto version = shell_.core().snapshots().cut_of(slot).version;
  if (job.is_bsp && clock != policies::clock_vector::infinity && version != clock)
    owner_.check_fails("checkpoints", "copies version " + std::to_string(version) +
                                          " for a cut at clock " + std::to_string(clock));
  description result{.table = endpoint_.table_of(slot), .about = chunk.about};
  result.about.beta1_power = chunk.powers.beta1;
  result.about.beta2_power = chunk.powers.beta2;
  if (endpoint_.has_rows(slot)) endpoint_.rows().describe(slot, result.about);
  return result;
}

const payload* shard_memory::summed(const effects::input& input, updates& with) const {
  const auto* found = endpoint_.find(input.payload);
  if (found)
    with.insert(with.end(), found->of.begin(), found->of.end());
  else
    owner_.check_fails("given back", "sums a payload that was given back");
  return found;
}

runtime::status shard_memory::apply_rows(const effects::apply& step, inputs from) {
  std::vector<actors::row_store::input> batches;
  updates with;
  for (const auto& input : from) {
    const auto* payload = summed(input, with);
    if (!payload) return {};
    batches.push_back({input.rank, std::as_bytes(payload->values)});
  }
  if (endpoint_.rows().has_engine(step.slot)) read_later(from);
  if (auto applied = endpoint_.rows().apply(step, batches); !applied.ok()) return applied;
  const auto after = endpoint_.parameters(step.slot, step.to);
  tell_applied(step, std::move(with), after.values());
  return {};
}

runtime::status shard_memory::apply(const effects::apply& step, inputs from) {
  // A step that was on its way to a replica when its job was deserted: of zeros, in a dense
  // table.
  if (discarded_.contains(endpoint_.table_of(step.slot))) return {};
  if (world_.slow) owner_.spend(world_.slow->steps(owner_.id(), step.clock));
  if (endpoint_.has_rows(step.slot)) return apply_rows(step, from);
  auto& chunk = chunks_.at(step.slot);
  std::vector<kernels::gradient> gradients;
  updates with;
  for (const auto& input : from) {
    const auto* payload = summed(input, with);
    if (!payload) return {};
    gradients.push_back({payload->values.data(), input.rank});
  }
  const auto before = parameters(step.slot, step.from);
  const auto after = room(step.slot, step.to, true);
  if (device_) read_later(from);
  region sum;
  kernels::chunk_arrays arrays;
  arrays.before = before.data();
  arrays.after = after.data();
  arrays.state1 = chunk.state1.data();
  arrays.state2 = chunk.state2.data();
  arrays.n = after.size();
  if (step.keeps_sum) {
    sum = std::make_shared<std::vector<float>>(after.size());
    kernels::tree_reduce(gradients, sum->data(), sum->size(),
                         kernels::combination_of(chunk.optimizer));
    gradients.assign(1, {sum->data(), gradients.front().rank});
    leave_sum(step, sum);
  }
  chunk.powers = runtime::powers_before(chunk.optimizer, chunk.powers, step.clock);
  kernels::apply_update(runtime::options_at(chunk.optimizer, step.clock, step.rate),
                        chunk.powers, gradients,
                        policies::scale_of(chunk.optimizer, chunk.reduce, step.contributors) *
                            policies::norm_factor(chunk.clip_norm, step.squares.value_or(0.0)),
                        arrays);
  land(step.slot, step.to);
  tell_applied(step, std::move(with), after);
  return {};
}

// Of payloads that are there.
double shard_memory::measure_rows(const effects::measure& step, inputs from) {
  std::vector<actors::row_store::input> batches;
  for (const auto& input : from)
    batches.push_back({input.rank, std::as_bytes(endpoint_.find(input.payload)->values)});
  return endpoint_.rows().measure(step, batches);
}

double shard_memory::measure(const effects::measure& step, inputs from) {
  const auto& chunk = chunks_.at(step.slot);
  if (chunk.clip_norm == 0) return 0;
  std::vector<kernels::gradient> gradients;
  for (const auto& input : from) {
    const auto* payload = endpoint_.find(input.payload);
    if (!payload) {
      owner_.check_fails("given back", "measures a payload that was given back");
      return 0;
    }
    gradients.push_back({payload->values.data(), input.rank});
  }
  if (endpoint_.has_rows(step.slot)) return measure_rows(step, from);
  return kernels::squares_of_sum(
      gradients, policies::scale_of(chunk.optimizer, chunk.reduce, step.contributors),
      endpoint_.bytes_of(step.slot) / sizeof(float), kernels::gaps_of(chunk.optimizer));
}

std::span<const std::byte> shard_memory::payload_bytes(policies::payload_handle handle) const {
  return std::as_bytes(endpoint_.find(handle)->values);
}

std::span<const float> shard_memory::gradient(std::uint32_t slot,
                                              policies::payload_handle handle) const {
  if (const auto* payload = endpoint_.find(handle)) return payload->values;
  owner_.check_fails("given back", "replicates what was given back");
  missing_.resize(endpoint_.bytes_of(slot) / sizeof(float));
  return missing_;
}

std::span<float> shard_memory::sum_room(std::uint32_t slot, std::uint64_t clock) const {
  constexpr auto window = runtime::limits::clocks_in_flight_max;
  auto& out = (*sums_)[{endpoint_.table_of(slot), endpoint_.chunk_of(slot), clock % window}];
  if (!out)
    out = std::make_shared<std::vector<float>>(endpoint_.bytes_of(slot) / sizeof(float));
  return *out;
}

std::span<const float> shard_memory::sum_of(std::uint32_t slot, std::uint64_t clock) const {
  if (endpoint_.has_rows(slot)) {
    const auto batch = endpoint_.rows().sum_of(slot, clock);
    return {reinterpret_cast<const float*>(batch.data()), batch.size() / sizeof(float)};
  }
  return sum_room(slot, clock);
}

void shard_memory::keep_sum(std::uint32_t slot, std::uint64_t clock,
                            policies::payload_handle gradient) {
  const auto from = shard_memory::gradient(slot, gradient);
  std::copy(from.begin(), from.end(), sum_room(slot, clock).begin());
}

actors::shard_memory::lent_place shard_memory::place_of_sums(std::uint32_t) const {
  return {wire_of(owner_.id()), 0};
}

runtime::status shard_memory::map_sums(std::uint32_t, std::uint64_t,
                                       std::span<const std::byte> place) {
  const auto* const primary = world_.find_as<shard_process>(owner_in(place));
  if (primary == nullptr || owner_.has_no_window())
    return {runtime::errc::unavailable, "no window"};
  lent_ = primary->store().sums_;
  return {};
}

policies::payload_handle shard_memory::sum_in_place(std::uint32_t slot,
                                                    std::uint32_t version_buffer) {
  if (!lent_) return policies::no_payload;
  const auto at =
      lent_->find({endpoint_.table_of(slot), endpoint_.chunk_of(slot), version_buffer});
  if (at == lent_->end()) return policies::no_payload;
  return endpoint_.keep(
      payload{.values = *at->second, .of = {}, .received = {}, .mapped = at->second});
}

std::shared_ptr<const std::vector<float>> shard_memory::seed_of(
    const effects::seed& item, const shard_core::seed_state& state) {
  if (endpoint_.has_rows(item.slot)) return endpoint_.rows().seed_of(item, state);
  const auto& chunk = chunks_.at(item.slot);
  policies::chunk_seed seed;
  seed.state = state;
  seed.beta1_power = chunk.powers.beta1;
  seed.beta2_power = chunk.powers.beta2;
  seed.states = states;
  seed.elements = endpoint_.bytes_of(item.slot) / sizeof(float);
  const auto result = std::make_shared<std::vector<float>>(seed_bytes(seed) / sizeof(float));
  const auto into = std::as_writable_bytes(std::span(*result));
  encode_seed(seed, into);
  using kind = array_name::kind;
  const auto put = [&](std::size_t i, kind of, std::uint32_t version_buffer) {
    copy_out({.slot = item.slot, .of = of, .version_buffer = version_buffer},
             seed_array(seed, into, i), result);
  };
  put(0, kind::parameters, item.version_buffer);
  put(1, kind::state1, 0);
  put(2, kind::state2, 0);
  for (std::size_t i = 0; i < state.kept.size(); ++i)
    put(seed.kept_array(i), kind::parameters, item.kept[i]);
  return result;
}

std::uint64_t shard_memory::seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const {
  if (endpoint_.has_rows(slot)) return endpoint_.rows().seed_bytes_max(slot, workers);
  policies::chunk_seed seed;
  seed.state.now.ranks.resize(workers);
  seed.states = states;
  seed.state.kept.resize(policies::versions_kept_max);
  seed.elements = endpoint_.bytes_of(slot) / sizeof(float);
  return seed_bytes(seed);
}

runtime::expected<policies::chunk_seed> shard_memory::take_seed(
    std::uint32_t slot, std::span<const std::byte> bytes) {
  auto& chunk = chunks_.at(slot);
  if (endpoint_.has_rows(slot)) {
    auto taken = endpoint_.rows().take_seed(slot, bytes);
    const auto rows = endpoint_.parameters(slot, policies::sharding::seed_buffer);
    if (taken && !world_.check.is_out(owner_.id()))
      world_.check.handed(chunk.job, endpoint_.table_of(slot), endpoint_.chunk_of(slot),
                          rows.values());
    return taken;
  }
  auto seed = policies::decode_seed(bytes);
  if (!seed) return seed;
  const auto take = [&](std::size_t i, std::span<float> into) {
    const auto from = seed_array(*seed, bytes, i);
    std::copy(from.begin(), from.end(), into.begin());
  };
  const auto now = room(slot, policies::sharding::seed_buffer, true);
  take(0, now);
  land(slot, policies::sharding::seed_buffer);
  take(1, chunk.state1);
  take(2, chunk.state2);
  for (std::size_t i = 0; i < seed->state.kept.size(); ++i) {
    take(seed->kept_array(i), room(slot, policies::sharding::kept_buffer(i), false));
    land(slot, policies::sharding::kept_buffer(i));
  }
  chunk.powers = {seed->beta1_power, seed->beta2_power};
  if (!world_.check.is_out(owner_.id()))
    world_.check.handed(chunk.job, endpoint_.table_of(slot), endpoint_.chunk_of(slot), now);
  return seed;
}

}  // namespace tidegate::sim
