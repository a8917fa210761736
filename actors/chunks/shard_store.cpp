#include "actors/chunks/shard_store.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/chunks/device_engine.hpp"
#include "actors/chunks/host_engine.hpp"
#include "actors/chunks/registered_source.hpp"
#include "actors/shard/new_chunk.hpp"
#include "runtime/base/log.hpp"
#include "runtime/functions/plugin_rules.hpp"

namespace tidegate::actors {

namespace kernels = runtime::kernels;
using runtime::status;

shard_store::shard_store(std::shared_ptr<runtime::memory_source> source)
    : memory_(std::move(source)), engine_(std::make_unique<host_engine>(memory_)) {}

shard_store::shard_store(std::shared_ptr<runtime::memory_source> source,
                         std::unique_ptr<runtime::devices::device> on)
    : device_(std::move(on)),
      memory_(std::make_shared<registered_source>(std::move(source), *device_)) {}

runtime::expected<std::unique_ptr<shard_store>> shard_store::on_device(
    std::shared_ptr<runtime::memory_source> source,
    std::unique_ptr<runtime::devices::device> on,
    const runtime::devices::queue_options& options) {
  std::unique_ptr<shard_store> store(new shard_store(std::move(source), std::move(on)));
  auto engine = device_engine::make(*store->device_, store->memory_, store->work_, options);
  if (!engine) return runtime::fail(engine.error());
  store->engine_ = std::move(*engine);
  store->bytes_for_rows_ = options.cache_bytes;
  return store;
}

shard_store::~shard_store() {
  if (device_rows_) device_rows_->stop();
}

status shard_store::poll() {
  if (auto polled = engine_->poll(); !polled.ok() || !device_rows_) return polled;
  return device_rows_->poll();
}

shard_memory::array_name shard_store::state_name(std::uint32_t slot, std::uint32_t index) {
  using kind = array_name::kind;
  return {.slot = slot, .of = index == 0 ? kind::state1 : kind::state2, .version_buffer = 0};
}

status shard_store::add_table(const policies::open_table_call& table,
                              std::span<const policies::owned_chunk> chunks,
                              const store_options& options) {
  if (table.rows.dim > 0) return add_rows(table, chunks, options);
  const auto optimizer = table.optimizer;
  const auto arrays = policies::state_arrays(optimizer);
  for (const auto& chunk : chunks) {
    auto& state = chunks_.emplace_back();  // also on failure: slots are those of the core
    state.elements = chunk.elements;
    state.optimizer = optimizer;
    state.states = arrays;
    state.starts_pushed = table.init.kind == policies::init_kind::pushed;
    state.reduce = options.reduce;
    state.clip_norm = policies::clip_norm_of(options.clip_norm, table.optimizer.kind);
    state.table = table.table;
    state.keeps = options.keeps;
    state.about = describe_new(table, chunk);
  }
  if (auto known =
          runtime::rules_of_process().check(optimizer, runtime::plugin_rules::steps::elements);
      !known.ok()) {
    memory_.use_up(table.table, chunks);
    return known;
  }
  const table_sizes sizes{.workers = options.workers,
                          .members = options.members,
                          .copies = 1 + arrays + options.keeps};
  if (auto room = memory_.add_table(table.table, chunks, sizes); !room.ok()) return room;
  auto added = check_inputs(options.inputs);
  if (added.ok() && options.replicated) added = add_sums(table.table, chunks);
  if (added.ok())
    added = engine_->add_table(table.table, chunks,
                               {.states = arrays,
                                .workers = options.workers,
                                .keeps_sums = options.replicated,
                                .reads_on_host = options.replicated || options.clip_norm > 0,
                                .optimizer = table.optimizer});
  if (!added.ok()) forget_table(table.table);
  return added;
}

status shard_store::make_chunk(const policies::open_table_call& table,
                               const policies::owned_chunk& chunk) {
  if (has_rows(chunk.slot)) return {};  // made with their rows
  const auto& state = chunks_[chunk.slot];
  for (std::uint32_t i = 0; i <= state.keeps; ++i) memory_.prepare(chunk.slot, i);
  write_initial(table, chunk, {memory_.at(chunk.slot, 0), chunk.elements});
  if (const auto sums = sum_places_.find(state.table); sums != sum_places_.end())
    for (std::uint32_t i = 0; i < sum_buffers; ++i)
      sums_.prepare_piece(sums->second, i, state.sum_offset, chunk.elements * sizeof(float));
  return engine_->make_chunk(chunk.slot);
}

void shard_store::forget_table(std::uint32_t table) {
  discard(table);
  memory_.forget_table(table);
}

void shard_store::discard(std::uint32_t table) {
  memory_.discard(table);
  engine_->discard(table);
  if (sum_places_.contains(table)) sums_.discard(sum_places_.at(table));
}

status shard_store::check_inputs(std::uint32_t inputs) const {
  constexpr auto most = runtime::devices::launch_inputs_max;
  if (!device_ || inputs <= most) return {};
  return {runtime::errc::over_limit, "a device sums the pushes of " + std::to_string(most) +
                                         " members at most, not " + std::to_string(inputs) +
                                         "; let aggregators push for them"};
}

status shard_store::add_sums(std::uint32_t table,
                             std::span<const policies::owned_chunk> chunks) {
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    chunks_[chunk.slot].sum_offset = bytes;
    bytes += chunk.elements * sizeof(float);
  }
  auto place = sums_.reserve(bytes);
  if (!place) return place.error();
  sum_places_[table] = *place;
  return {};
}

shard_memory::lent_place shard_store::place_of_sums(std::uint32_t table) const {
  const auto& place = sum_places_.at(table);
  return {runtime::encode(sums_.name(place)), place.bytes};
}

status shard_store::map_sums(std::uint32_t table, std::uint64_t bytes,
                             std::span<const std::byte> place) {
  const auto name = runtime::decode_place(place);
  if (!name) return name.error();
  const auto opened = primary_->open(*name, bytes, sum_buffers, sum_buffers);
  if (!opened) return opened.error();
  lent_[table] = *opened;
  return {};
}

void shard_store::forget_sums() {
  lent_.clear();
  engine_->keep(std::exchange(primary_, std::make_shared<runtime::window_map>()));
}

policies::payload_handle shard_store::sum_in_place(std::uint32_t slot,
                                                   std::uint32_t version_buffer) {
  const auto& chunk = chunks_[slot];
  const auto window = lent_.find(chunk.table);
  const auto end = chunk.sum_offset + memory_.bytes_of(slot);
  if (window == lent_.end() || end > window->second.bytes || version_buffer >= sum_buffers)
    return policies::no_payload;
  const auto* at = window->second.at(version_buffer) + chunk.sum_offset;
  return memory_.keep(reinterpret_cast<const float*>(at));
}

runtime::buffer shard_store::lease_seed(std::size_t bytes) {
  seed_pool_.allow(bytes, 1);
  return seed_pool_.lease(bytes);
}

std::span<float> shard_store::sum_at(std::uint32_t slot, std::uint64_t clock) const {
  const auto& chunk = chunks_[slot];
  auto* version_buffer = sums_.at(sum_places_.at(chunk.table), clock % sum_buffers);
  return {reinterpret_cast<float*>(version_buffer + chunk.sum_offset), chunk.elements};
}

void shard_store::keep_sum(std::uint32_t slot, std::uint64_t clock,
                           policies::payload_handle gradient) {
  if (has_rows(slot)) return rows().keep_sum(slot, clock, memory_.payload_bytes(gradient));
  const auto sum = sum_at(slot, clock);
  std::copy_n(memory_.gradient(gradient), sum.size(), sum.begin());
}

runtime::expected<shard_memory::chunk_progress> shard_store::restore(
    const policies::checkpoint_reader& from, std::size_t table, runtime::storage& folder,
    const policies::owned_chunk& chunk) {
  const auto stored = from.chunks(table);
  const auto& state = chunks_[chunk.slot];
  if (chunk.chunk >= stored.size() || stored[chunk.chunk].stored.about.first != chunk.first ||
      stored[chunk.chunk].stored.about.elements != chunk.elements)
    return runtime::fail(runtime::errc::invalid_argument,
                         "the checkpoint has table '" + state.about.table +
                             "' in other chunks: cluster.chunk_bytes must be what it was");
  const auto& about = stored[chunk.chunk].stored.about;
  if (about.rows != state.about.rows)
    return runtime::fail(runtime::errc::invalid_argument,
                         "the checkpoint has table '" + state.about.table + "' of other rows");
  const chunk_progress progress{about.version, about.ranks};
  if (has_rows(chunk.slot)) {
    if (auto part = rows().restore(from, table, folder, chunk); !part.ok())
      return runtime::fail(std::move(part));
    if (device_rows_)
      if (auto bounded = device_rows_->keep_up(); !bounded.ok())
        return runtime::fail(std::move(bounded));
    return progress;
  }
  std::vector<float> values(chunk.elements);
  for (std::uint32_t i = 0; i < policies::chunk_arrays(about); ++i) {
    if (auto read = from.read(folder, table, i, chunk.first, values); !read.ok())
      return runtime::fail(std::move(read));
    engine_->write(i == 0 ? array_name{.slot = chunk.slot} : state_name(chunk.slot, i - 1),
                   values);
    if (auto bounded = engine_->keep_up(); !bounded.ok())
      return runtime::fail(std::move(bounded));
  }
  engine_->set_powers(chunk.slot, {about.beta1_power, about.beta2_power});
  return progress;
}

void shard_store::copy_out(const array_name& array, std::span<float> to,
                           std::shared_ptr<const void> keeps) {
  engine_->read(array, to, std::move(keeps));
}

std::span<const float> shard_store::gradient(std::uint32_t slot,
                                             policies::payload_handle handle) const {
  if (!has_rows(slot)) return {memory_.gradient(handle), chunks_[slot].elements};
  return {memory_.gradient(handle), memory_.payload_bytes(handle).size() / sizeof(float)};
}

shard_memory::description shard_store::describe(std::uint32_t slot) const {
  const auto& chunk = chunks_[slot];
  description result{.table = chunk.table, .about = chunk.about};
  if (has_rows(slot)) {
    rows().describe(slot, result.about);
    return result;
  }
  const auto& powers = engine_->powers(slot);
  result.about.beta1_power = powers.beta1;
  result.about.beta2_power = powers.beta2;
  return result;
}

status shard_store::apply(const effects::apply& apply, inputs from) {
  if (has_rows(apply.slot)) return apply_rows(apply, from);
  const auto& chunk = chunks_[apply.slot];
  chunk_engine::step step{.slot = apply.slot,
                          .from = apply.from,
                          .to = apply.to,
                          .assigns = chunk.starts_pushed && apply.clock == 0,
                          .options = {},
                          .scale = 1.0F,
                          .sum = nullptr};
  if (apply.keeps_sum && from.size() > 1)
    step.sum = sum_at(apply.slot, apply.clock).data();
  else if (apply.keeps_sum)
    keep_sum(apply.slot, apply.clock, from.front().payload);
  step.options.lazy = chunk.optimizer.lazy;
  step.options.reduce = chunk.optimizer.reduce;
  step.options.reduce_rule = chunk.optimizer.reduce_rule;
  if (chunk.optimizer.lazy)
    engine_->set_powers(apply.slot, runtime::powers_after(chunk.optimizer, apply.clock));
  if (!step.assigns) {
    step.options = runtime::options_at(chunk.optimizer, apply.clock, apply.rate);
    step.scale = policies::scale_of(chunk.optimizer, chunk.reduce, apply.contributors) *
                 policies::norm_factor(chunk.clip_norm, apply.squares.value_or(0.0));
  }
  engine_->apply(step, from);
  return {};
}

// Initial parameters, and what is only summed, are no gradient of the model.
double shard_store::measure(const effects::measure& step, inputs from) {
  if (has_rows(step.slot)) return rows().measure(step, batches_of(from));
  const auto& chunk = chunks_[step.slot];
  if (chunk.clip_norm == 0 || (chunk.starts_pushed && step.clock == 0)) return 0;
  gradients_.clear();
  for (const auto& input : from)
    gradients_.push_back({memory_.gradient(input.payload), input.rank});
  return kernels::squares_of_sum(
      gradients_, policies::scale_of(chunk.optimizer, chunk.reduce, step.contributors),
      chunk.elements, kernels::gaps_of(chunk.optimizer));
}

std::span<const float> shard_store::sum_of(std::uint32_t slot, std::uint64_t clock) const {
  if (has_rows(slot)) {
    const auto batch = rows().sum_of(slot, clock);
    return {reinterpret_cast<const float*>(batch.data()), batch.size() / sizeof(float)};
  }
  return sum_at(slot, clock);
}

std::shared_ptr<const std::vector<float>> shard_store::seed_of(
    const effects::seed& item, const policies::shard_core::seed_state& state) {
  if (has_rows(item.slot)) return rows().seed_of(item, state);
  const auto& chunk = chunks_[item.slot];
  const auto& powers = engine_->powers(item.slot);
  policies::chunk_seed seed;
  seed.state = state;
  seed.beta1_power = powers.beta1;
  seed.beta2_power = powers.beta2;
  seed.states = chunk.states;
  seed.elements = chunk.elements;
  const auto values = std::make_shared<std::vector<float>>(seed_bytes(seed) / sizeof(float));
  const auto bytes = std::as_writable_bytes(std::span(*values));
  encode_seed(seed, bytes);
  const auto put = [&](std::size_t i, const array_name& array) {
    engine_->read(array, seed_array(seed, bytes, i), values);
  };
  put(0, {.slot = item.slot, .version_buffer = item.version_buffer});
  for (std::uint32_t i = 0; i < chunk.states; ++i) put(1 + i, state_name(item.slot, i));
  for (std::size_t i = 0; i < state.kept.size(); ++i)
    put(seed.kept_array(i), {.slot = item.slot, .version_buffer = item.kept[i]});
  return values;
}

std::uint64_t shard_store::seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const {
  if (has_rows(slot)) return rows().seed_bytes_max(slot, workers);
  policies::chunk_seed seed;
  seed.state.now.ranks.resize(workers);
  seed.states = 2;
  seed.state.kept.resize(policies::versions_kept_max);
  seed.elements = chunks_[slot].elements;
  return seed_bytes(seed);
}

runtime::expected<policies::chunk_seed> shard_store::take_seed(
    std::uint32_t slot, std::span<const std::byte> bytes) {
  if (has_rows(slot)) return rows().take_seed(slot, bytes);
  const auto& chunk = chunks_[slot];
  auto seed = policies::decode_seed(bytes);
  if (!seed) return seed;
  if (seed->elements != chunk.elements || seed->states != chunk.states)
    return runtime::fail(runtime::errc::corrupt, "a chunk of another size was handed over");
  const auto take = [&](std::size_t i, const array_name& array) {
    engine_->write(array, seed_array(*seed, bytes, i));
  };
  take(0, {.slot = slot, .version_buffer = policies::sharding::seed_buffer});
  for (std::uint32_t i = 0; i < chunk.states; ++i) take(1 + i, state_name(slot, i));
  for (std::size_t i = 0; i < seed->state.kept.size(); ++i)
    take(seed->kept_array(i),
         {.slot = slot, .version_buffer = policies::sharding::kept_buffer(i)});
  engine_->set_powers(slot, {seed->beta1_power, seed->beta2_power});
  return seed;
}

}  // namespace tidegate::actors
