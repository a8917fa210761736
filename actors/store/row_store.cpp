#include "actors/store/row_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "policies/model/kept_versions.hpp"
#include "policies/model/row_payloads.hpp"
#include "policies/shard/chunk_versions.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

namespace {

// Optimizers of rows have the names of those of dense tables.
runtime::expected<runtime::row_optimizer_options> row_optimizer_of(
    const policies::optimizer_spec& spec) {
  const auto name = runtime::optimizer_name(spec.kind);
  const auto kind = runtime::find_row_optimizer(name);
  if (!kind)
    return runtime::fail(errc::invalid_argument,
                         "optimizer '" + std::string(name) + "' does not step rows");
  runtime::row_optimizer_options options;
  options.kind = *kind;
  options.learning_rate = spec.learning_rate;
  options.beta1 = spec.beta1;
  options.beta2 = spec.beta2;
  options.epsilon = spec.epsilon;
  return options;
}

// The versions that are kept have their own names from the start.
std::array<std::uint32_t, policies::versions_kept_max> kept_names() {
  std::array<std::uint32_t, policies::versions_kept_max> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = policies::sharding::kept_buffer(i);
  if (runtime::is_planted(runtime::planted_bug::row_kept_versions_swapped))
    std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace

status row_store::add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            policies::reduce_kind reduce, std::uint32_t keeps) {
  const auto parts = table.shape.empty() ? 1 : table.shape.front();
  const auto optimizer = row_optimizer_of(table.optimizer);
  if (!optimizer) return optimizer.error();
  const bool is_constant = table.rows.init.kind == policies::init_kind::constant;
  for (const auto& chunk : chunks) {
    runtime::row_part_options options;
    options.rows = {.name = table.name,
                    .seed = table.init_key,
                    .capacity = policies::part_capacity(table.rows.capacity, parts),
                    .dim = table.rows.dim,
                    .optimizer = *optimizer,
                    .initial = is_constant ? runtime::initial_kind::constant
                                           : runtime::initial_kind::uniform,
                    .initial_scale = table.rows.init.value};
    options.keeps = keeps;
    auto part = runtime::row_part::create(options);
    if (!part) return part.error();
    parts_.insert_or_assign(chunk.slot, part_state{.rows = std::move(*part),
                                                   .optimizer = table.optimizer,
                                                   .reduce = reduce,
                                                   .capacity = options.rows.capacity,
                                                   .batch_bytes = 0});
  }
  return {};
}

// Bounded by what the core admits, which has no sizes to begin with.
runtime::buffer row_store::lease(std::size_t bytes) {
  if (auto room = payloads_.lease(bytes)) return room;
  payloads_.allow(bytes, 1);
  return payloads_.lease(bytes);
}

status row_store::check_batch(std::uint32_t slot, std::span<const std::byte> batch) const {
  const auto read = runtime::read_row_batch(batch, parts_.at(slot).rows.dim());
  return read ? status() : read.error();
}

status row_store::check_request(std::uint32_t slot, std::span<const std::byte> request) const {
  const auto read = runtime::read_row_request(request);
  if (!read) return read.error();
  if (parts_.at(slot).rows.answer_bytes(*read) > runtime::limits::chunk_bytes_max)
    return {errc::corrupt, "a request of rows whose answer would be larger than a frame"};
  return {};
}

status row_store::apply(const effects::apply& step, std::span<const input> from) {
  auto& part = parts_.at(step.slot);
  const auto dim = part.rows.dim();
  inputs_.clear();
  part.batch_bytes = 0;
  for (const auto& pushed : from) {
    inputs_.push_back({pushed.rank, runtime::checked_row_batch(pushed.batch, dim)});
    part.batch_bytes = std::max<std::uint64_t>(part.batch_bytes, pushed.batch.size());
  }
  runtime::row_step options;
  options.clock = step.clock;
  options.scale = policies::scale_of(part.reduce, step.contributors);
  options.share = runtime::share_at(part.optimizer.schedule, step.clock);
  options.rate = step.rate;
  return part.rows.apply(
      {.options = options, .from = step.from, .to = step.to, .keeps_sum = step.keeps_sum},
      inputs_);
}

namespace {

// A frame with a payload has at least a line of it.
std::uint64_t room_for(std::uint64_t answer_bytes) {
  return std::max(answer_bytes, policies::row_line_bytes);
}

}  // namespace

runtime::buffer row_store::lease_answer(std::uint32_t slot,
                                        std::span<const std::byte> request) {
  const auto asked = runtime::checked_row_request(request);
  return lease(room_for(parts_.at(slot).rows.answer_bytes(asked)));
}

std::span<const std::byte> row_store::answer(std::uint32_t slot, std::uint32_t version_buffer,
                                             std::span<const std::byte> request,
                                             const runtime::buffer& into) const {
  const auto& part = parts_.at(slot).rows;
  const auto asked = runtime::checked_row_request(request);
  const auto bytes = part.answer_bytes(asked);
  TIDEGATE_ASSERT(into.size() == room_for(bytes), "a place for the answer");
  const auto written = part.answer(version_buffer, asked, into.bytes().first(bytes));
  if (written == 0) std::memset(into.data(), 0, policies::row_line_bytes);
  return into.bytes().first(room_for(written));
}

void row_store::describe(std::uint32_t slot, policies::chunk_description& about) const {
  const auto& part = parts_.at(slot).rows;
  about.row_count = part.rows();
  about.row_state = part.state_floats();
}

void row_store::copy_out(std::uint32_t slot, std::size_t i, std::span<float> to) const {
  const auto& part = parts_.at(slot).rows;
  const std::size_t of_row[] = {part.dim(), part.state_floats(), 2 * policies::row_numbers};
  TIDEGATE_ASSERT(to.size() == part.rows() * of_row[i], "as many as were described");
  part.visit_rows([&](std::size_t at, const runtime::row_part::row_values& row) {
    auto* const into = to.data() + at * of_row[i];
    if (i == 0) std::copy(row.values.begin(), row.values.end(), into);
    if (i == 1) std::copy(row.state.begin(), row.state.end(), into);
    const std::uint64_t numbers[policies::row_numbers] = {row.id, row.use.clock,
                                                          row.use.pushes};
    if (i == 2) std::memcpy(into, numbers, sizeof numbers);
  });
  if (i == 1 && runtime::is_planted(runtime::planted_bug::row_state_not_in_checkpoints))
    std::fill(to.begin(), to.end(), 0.0F);
}

status row_store::restore(const policies::checkpoint_reader& from, std::size_t table,
                          runtime::storage& folder, const policies::owned_chunk& chunk) {
  const auto& about = from.chunks(table)[chunk.chunk].stored.about;
  std::array<std::vector<float>, policies::chunk_arrays_max> arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].resize(policies::array_floats(about, i));
    if (auto read = from.read_part(folder, table, chunk.chunk, i, arrays[i]); !read.ok())
      return read;
  }
  runtime::row_image image;
  image.dim = about.rows.dim;
  image.state_floats = about.row_state;
  image.values = std::move(arrays[0]);
  image.states = std::move(arrays[1]);
  const auto* bytes = reinterpret_cast<const std::byte*>(arrays[2].data());
  for (std::size_t row = 0; row < about.row_count; ++row) {
    std::uint64_t numbers[policies::row_numbers];
    std::memcpy(numbers, bytes + row * sizeof numbers, sizeof numbers);
    image.ids.push_back(numbers[0]);
    image.uses.push_back({numbers[1], numbers[2]});
  }
  if (!runtime::ids_ascend(image.ids))
    return {errc::corrupt, "table '" + about.table + "', part " + std::to_string(about.chunk) +
                               ": the ids of its rows do not ascend"};
  return parts_.at(chunk.slot).rows.restore(image, policies::sharding::seed_buffer, {});
}

std::shared_ptr<const std::vector<float>> row_store::seed_of(
    const effects::seed& seed, const policies::shard_core::seed_state& state) const {
  const auto kept = std::span(seed.kept).first(state.kept.size());
  const auto image = parts_.at(seed.slot).rows.image(seed.version_buffer, kept);
  policies::chunk_seed head;
  head.state = state;
  head.tail_bytes = runtime::image_bytes(image);
  const auto values = std::make_shared<std::vector<float>>(seed_bytes(head) / sizeof(float));
  const auto bytes = std::as_writable_bytes(std::span(*values));
  encode_seed(head, bytes);
  runtime::encode_image(image, seed_tail(head, bytes));
  return values;
}

// Each version that is kept may have changed every row.
std::uint64_t row_store::seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const {
  const auto& part = parts_.at(slot);
  const std::uint64_t dim = part.rows.dim();
  const auto row = 64 + (dim + part.rows.state_floats()) * sizeof(float) +
                   policies::versions_kept_max * (16 + dim * sizeof(float));
  policies::chunk_seed head;
  head.state.now.ranks.resize(workers);
  head.state.kept.resize(policies::versions_kept_max);
  head.tail_bytes = 4096 + part.capacity * row;
  return seed_bytes(head);
}

runtime::expected<policies::chunk_seed> row_store::take_seed(std::uint32_t slot,
                                                             std::span<const std::byte> bytes) {
  auto head = policies::decode_seed(bytes);
  if (!head) return head;
  const auto image = runtime::decode_image(seed_tail(*head, bytes));
  if (!image) return runtime::fail(image.error());
  const auto names = kept_names();
  if (image->kept.size() != head->state.kept.size() || image->kept.size() > names.size())
    return runtime::fail(errc::corrupt,
                         "a part of a table of rows has other versions than it says");
  auto taken = parts_.at(slot).rows.restore(*image, policies::sharding::seed_buffer,
                                            std::span(names).first(image->kept.size()));
  if (!taken.ok()) return runtime::fail(std::move(taken));
  return head;
}

}  // namespace tidegate::actors
