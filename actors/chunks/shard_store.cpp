#include "actors/store/shard_store.hpp"

#include <algorithm>

#include "actors/shard/new_chunk.hpp"

namespace tidegate::actors {

namespace kernels = runtime::kernels;
using runtime::status;

status shard_store::add_table(const policies::open_table_call& table,
                              std::span<const policies::owned_chunk> chunks,
                              const store_options& options) {
  const auto optimizer = table.optimizer;
  const auto arrays = policies::state_arrays(optimizer.kind);
  for (const auto& chunk : chunks) {
    auto& state = chunks_.emplace_back();  // also on failure: slots are those of the core
    state.elements = chunk.elements;
    state.optimizer = optimizer;
    state.starts_pushed = table.init.kind == policies::init_kind::pushed;
    state.reduce = options.reduce;
    state.clip_norm = policies::clip_norm_of(options.clip_norm, table.optimizer.kind);
    state.table = table.table;
    state.about = describe_new(table, chunk);
  }
  if (auto room = memory_.add_table(table.table, chunks,
                                    {.workers = options.workers,
                                     .members = options.members,
                                     .copies = 1 + arrays + options.keeps});
      !room.ok())
    return room;
  if (options.replicated)
    if (auto room = add_sums(table.table, chunks); !room.ok()) {
      memory_.forget_table(table.table);
      return room;
    }
  for (const auto& chunk : chunks) {
    auto& result = chunks_[chunk.slot];
    for (auto* state : {&result.state1, &result.state2}) {
      if (state == &result.state2 ? arrays < 2 : arrays < 1) continue;
      auto room = add_state(result.elements * sizeof(float));
      if (!room) {
        memory_.forget_table(table.table);
        return room.error();
      }
      *state = *room;
    }
    write_initial(table, chunk, {memory_.at(chunk.slot, 0), chunk.elements});
    for (std::uint32_t i = 0; i < options.keeps; ++i) memory_.prepare(chunk.slot, 1 + i);
  }
  return {};
}

status shard_store::add_sums(std::uint32_t table,
                             std::span<const policies::owned_chunk> chunks) {
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    chunks_[chunk.slot].sum_offset = bytes;
    bytes += chunk.elements * sizeof(float);
  }
  auto place = sums_.allocate(bytes);
  if (!place) return place.error();
  sum_places_[table] = *place;
  for (std::uint32_t version_buffer = 1; version_buffer < sum_buffers; ++version_buffer)
    sums_.prepare(*place, version_buffer);
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
  const auto opened = primary_.open(*name, bytes, sum_buffers, sum_buffers);
  if (!opened) return opened.error();
  lent_[table] = *opened;
  return {};
}

void shard_store::forget_sums() {
  lent_.clear();
  primary_ = {};
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
  const auto sum = sum_at(slot, clock);
  std::copy_n(memory_.gradient(gradient), sum.size(), sum.begin());
}

runtime::expected<float*> shard_store::add_state(std::uint64_t bytes) {
  auto place = states_.allocate(bytes);
  if (!place) return runtime::fail(place.error());
  return reinterpret_cast<float*>(states_.at(*place, 0));
}

status shard_store::restore(const policies::checkpoint_reader& from, std::size_t table,
                            runtime::storage& folder,
                            std::span<const policies::owned_chunk> chunks,
                            policies::shard_core& core) {
  const auto stored = from.chunks(table);
  for (const auto& chunk : chunks) {
    auto& state = chunks_[chunk.slot];
    if (chunk.chunk >= stored.size() || stored[chunk.chunk].stored.about.first != chunk.first ||
        stored[chunk.chunk].stored.about.elements != chunk.elements)
      return {runtime::errc::invalid_argument,
              "the checkpoint has table '" + state.about.table +
                  "' in other chunks: cluster.chunk_bytes must be what it was"};
    const auto& about = stored[chunk.chunk].stored.about;
    float* const arrays[] = {memory_.at(chunk.slot, 0), state.state1, state.state2};
    for (std::size_t i = 0; i < policies::chunk_arrays(about); ++i)
      if (auto read = from.read(folder, table, i, chunk.first, {arrays[i], chunk.elements});
          !read.ok())
        return read;
    state.powers = {about.beta1_power, about.beta2_power};
    core.snapshots().restore(chunk.slot, about.version, about.ranks);
  }
  return {};
}

shard_store::image shard_store::image_of(std::uint32_t slot, std::uint32_t version_buffer) {
  const auto& chunk = chunks_[slot];
  image result{.table = chunk.table, .about = chunk.about, .arrays = {}};
  result.about.beta1_power = chunk.powers.beta1;
  result.about.beta2_power = chunk.powers.beta2;
  const float* const arrays[] = {memory_.at(slot, version_buffer), chunk.state1, chunk.state2};
  for (std::size_t i = 0; i < policies::chunk_arrays(result.about); ++i)
    result.arrays[i] = {arrays[i], chunk.elements};
  return result;
}

void shard_store::apply(const effects::apply& apply, inputs from) {
  auto& chunk = chunks_[apply.slot];
  memory_.prepare(apply.slot, apply.to);
  take_gradients(from);
  kernels::chunk_arrays arrays;
  if (apply.keeps_sum && from.size() > 1)
    arrays.sum = sum_at(apply.slot, apply.clock).data();
  else if (apply.keeps_sum)
    keep_sum(apply.slot, apply.clock, from.front().payload);
  arrays.before = memory_.at(apply.slot, apply.from);
  arrays.after = memory_.at(apply.slot, apply.to);
  arrays.state1 = chunk.state1;
  arrays.state2 = chunk.state2;
  arrays.n = chunk.elements;
  if (chunk.starts_pushed && apply.clock == 0)
    kernels::assign_sum(gradients_, arrays);
  else
    kernels::apply_update(
        runtime::options_at(chunk.optimizer, apply.clock, apply.rate), chunk.powers, gradients_,
        policies::scale_of(chunk.reduce, apply.contributors) *
            policies::norm_factor(chunk.clip_norm, apply.squares.value_or(0.0)),
        arrays);
}

// Initial parameters, and what is only summed, are no gradient of the model.
double shard_store::measure(const effects::measure& step, inputs from) {
  const auto& chunk = chunks_[step.slot];
  if (chunk.clip_norm == 0 || (chunk.starts_pushed && step.clock == 0)) return 0;
  take_gradients(from);
  return kernels::squares_of_sum(
      gradients_, policies::scale_of(chunk.reduce, step.contributors), chunk.elements);
}

void shard_store::take_gradients(inputs from) {
  gradients_.clear();
  for (const auto& input : from)
    gradients_.push_back({memory_.gradient(input.payload), input.rank});
}

std::span<const float> shard_store::sum_of(std::uint32_t slot, std::uint64_t clock) const {
  return sum_at(slot, clock);
}

std::vector<float> shard_store::seed_of(const effects::seed& item,
                                        const policies::shard_core::seed_state& state) {
  const auto& chunk = chunks_[item.slot];
  policies::chunk_seed seed;
  seed.state = state;
  seed.beta1_power = chunk.powers.beta1;
  seed.beta2_power = chunk.powers.beta2;
  seed.states = (chunk.state1 ? 1U : 0U) + (chunk.state2 ? 1U : 0U);
  seed.elements = chunk.elements;
  std::vector<float> values(seed_bytes(seed) / sizeof(float));
  const auto bytes = std::as_writable_bytes(std::span(values));
  encode_seed(seed, bytes);
  const auto put = [&](std::size_t i, const float* from) {
    std::copy_n(from, chunk.elements, seed_array(seed, bytes, i).begin());
  };
  put(0, memory_.at(item.slot, item.version_buffer));
  if (chunk.state1) put(1, chunk.state1);
  if (chunk.state2) put(2, chunk.state2);
  for (std::size_t i = 0; i < state.kept.size(); ++i)
    put(seed.kept_array(i), memory_.at(item.slot, item.kept[i]));
  return values;
}

std::uint64_t shard_store::seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const {
  policies::chunk_seed seed;
  seed.state.now.ranks.resize(workers);
  seed.states = 2;
  seed.state.kept.resize(policies::versions_kept_max);
  seed.elements = chunks_[slot].elements;
  return seed_bytes(seed);
}

runtime::expected<policies::chunk_seed> shard_store::take_seed(
    std::uint32_t slot, std::span<const std::byte> bytes) {
  auto& chunk = chunks_[slot];
  auto seed = policies::decode_seed(bytes);
  if (!seed) return seed;
  const auto states = (chunk.state1 ? 1U : 0U) + (chunk.state2 ? 1U : 0U);
  if (seed->elements != chunk.elements || seed->states != states)
    return runtime::fail(runtime::errc::corrupt, "a chunk of another size was handed over");
  const auto take = [&](std::size_t i, float* into) {
    const auto from = seed_array(*seed, bytes, i);
    std::copy(from.begin(), from.end(), into);
  };
  memory_.prepare(slot, policies::sharding::seed_buffer);
  take(0, memory_.at(slot, policies::sharding::seed_buffer));
  if (chunk.state1) take(1, chunk.state1);
  if (chunk.state2) take(2, chunk.state2);
  for (std::size_t i = 0; i < seed->state.kept.size(); ++i) {
    memory_.prepare(slot, policies::sharding::kept_buffer(i));
    take(seed->kept_array(i), memory_.at(slot, policies::sharding::kept_buffer(i)));
  }
  chunk.powers = {seed->beta1_power, seed->beta2_power};
  return seed;
}

}  // namespace tidegate::actors
