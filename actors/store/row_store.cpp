#include "actors/store/row_store.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "actors/store/called_rows.hpp"
#include "policies/model/kept_versions.hpp"
#include "policies/model/row_payloads.hpp"
#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/chunk_versions.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/functions/plugin_rules.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

namespace {

// The versions that are kept have their own names from the start.
std::array<std::uint32_t, policies::versions_kept_max> kept_names() {
  std::array<std::uint32_t, policies::versions_kept_max> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = policies::sharding::kept_buffer(i);
  if (runtime::is_planted(runtime::planted_bug::row_kept_versions_swapped))
    std::reverse(names.begin(), names.end());
  return names;
}

runtime::initial_kind kind_of(const policies::init_spec& init) noexcept {
  return init.kind == policies::init_kind::constant ? runtime::initial_kind::constant
                                                    : runtime::initial_kind::uniform;
}

std::vector<runtime::row_segment> segments_of(const policies::rows_spec& rows) {
  std::vector<runtime::row_segment> segments;
  for (const auto& segment : rows.segments)
    segments.push_back({.columns = segment.columns,
                        .optimizer = segment.optimizer,
                        .initial = kind_of(segment.init),
                        .initial_scale = segment.init.value});
  return segments;
}

// Returns why this process cannot step the table, for want of a rule of a plugin.
status check_rules(const policies::open_table_call& table) {
  const auto& rules = runtime::rules_of_process();
  constexpr auto rows = runtime::plugin_rules::steps::rows;
  for (const auto& segment : table.rows.segments)
    if (auto known = rules.check(segment.optimizer, rows); !known.ok()) return known;
  return rules.check(table.optimizer, rows);
}

// A rule of a plugin is code of the host, and to evict by l2 is to look at all values.
bool can_have_engine(const policies::open_table_call& table) {
  const auto is_plugin = [](const auto& optimizer) {
    return optimizer.kind == runtime::optimizer_kind::plugin;
  };
  const auto& rows = table.rows;
  return rows.memory == 0 && !is_plugin(table.optimizer) &&
         std::none_of(rows.segments.begin(), rows.segments.end(),
                      [&](const auto& segment) { return is_plugin(segment.optimizer); }) &&
         (rows.lifetime.rows == 0 || rows.lifetime.by != runtime::eviction_order::l2);
}

// Multiples of the golden ratio: however many parts a shard has, they lie evenly in [0, 1).
double lead_of(std::uint32_t slot) noexcept {
  constexpr double golden_ratio = 0.6180339887498949;
  const double at = slot * golden_ratio;
  return at - std::floor(at);
}

}  // namespace

status row_store::add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            policies::reduce_kind reduce, float clip_norm,
                            std::uint32_t keeps) {
  if (auto known = check_rules(table); !known.ok()) return known;
  const auto parts = table.shape.empty() ? 1 : table.shape.front();
  const auto memory = memory_of(table);
  if (!memory) return memory.error();
  auto* const engines = can_have_engine(table) ? engines_ : nullptr;
  for (const auto& chunk : chunks) {
    runtime::row_part_options options;
    options.rows = {.name = table.name,
                    .seed = table.init_key,
                    .capacity = policies::part_capacity(table.rows, parts),
                    .dim = table.rows.dim,
                    .optimizer = table.optimizer,
                    .initial = kind_of(table.rows.init),
                    .initial_scale = table.rows.init.value,
                    .segments = segments_of(table.rows),
                    .page_lead = lead_of(chunk.slot),
                    .memory = *memory,
                    .engines = engines};
    options.lifetime = policies::part_lifetime(table.rows.lifetime, parts);
    options.keeps = keeps;
    const auto most_candidates = options.lifetime.candidates > 0
                                     ? options.lifetime.candidates + runtime::lifetime_block
                                     : 0;
    auto part = runtime::row_part::create(options);
    if (!part) return part.error();
    parts_.insert_or_assign(chunk.slot, part_state{.rows = std::move(*part),
                                                   .token = table.token,
                                                   .reduce = reduce,
                                                   .clip_norm = clip_norm,
                                                   .capacity = options.rows.capacity,
                                                   .candidates = most_candidates,
                                                   .batch_bytes = 0});
  }
  return {};
}

runtime::expected<std::shared_ptr<runtime::row_memory>> row_store::memory_of(
    const policies::open_table_call& table) {
  if (table.rows.memory == 0) return std::shared_ptr<runtime::row_memory>();
  auto& known = memories_[table.table];
  if (auto memory = known.lock()) return memory;
  auto memory = runtime::row_memory::create(
      {.table = table.name, .folder = folder_, .bytes = table.rows.memory});
  if (memory) known = *memory;
  return memory;
}

std::vector<std::string> row_store::accounts() const {
  const auto in_mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; };
  std::vector<std::string> lines;
  for (const auto& [table, known] : memories_) {
    const auto memory = known.lock();
    if (!memory) continue;
    const auto figures = memory->so_far();
    lines.push_back("table " + memory->table() + ": " + in_mib(figures.bytes) +
                    " of its rows in memory, where " + in_mib(memory->bytes_max()) +
                    " may be, and " + in_mib(figures.bytes_reserved) + " of the disk; read " +
                    in_mib(figures.bytes_read) + ", dropped " + in_mib(figures.bytes_dropped));
  }
  return lines;
}

runtime::buffer row_store::lease(const runtime::frame_header& header, std::uint32_t slot) {
  if (header.kind != runtime::frame_kind::push || !policies::is_coded(header))
    return intake_.lease(header.payload_bytes);
  return intake_.lease_coded(header.payload_bytes, parts_.at(slot).rows.dim());
}

row_intake::lists row_store::lists_of(const runtime::frame_header& header, std::uint32_t slot) {
  auto& part = parts_.at(slot);
  auto& lists = part.lists[header.worker];
  if (lists.incarnation != header.incarnation || lists.epoch != header.epoch) {
    lists.incarnation = header.incarnation;
    lists.epoch = header.epoch;
    lists.kept.clear();
  }
  return {.kept = lists.kept, .key = part.token};
}

status row_store::take(const runtime::frame_header& header, std::uint32_t slot,
                       runtime::buffer& rows) {
  auto& part = parts_.at(slot);
  const bool is_request = header.kind == runtime::frame_kind::call;
  if (policies::is_coded(header)) {
    const auto from = lists_of(header, slot);
    if (!is_request) return intake_.take_batch(rows, part.rows.dim(), from);
    if (auto taken = intake_.take_request(rows, from); !taken.ok()) return taken;
  }
  if (is_request) return check_request(slot, rows.bytes());
  const auto read = runtime::read_row_batch(rows.bytes(), part.rows.dim());
  return read ? status() : read.error();
}

status row_store::check_request(std::uint32_t slot, std::span<const std::byte> request) const {
  const auto read = runtime::read_row_request(request);
  if (!read) return read.error();
  if (parts_.at(slot).rows.answer_bytes(*read) > runtime::limits::chunk_bytes_max)
    return {errc::corrupt, "a request of rows whose answer would be larger than a frame"};
  return {};
}

void row_store::list_batches(part_state& part, std::span<const input> from) {
  inputs_.clear();
  part.batch_bytes = 0;
  for (const auto& pushed : from) {
    inputs_.push_back({pushed.rank, runtime::checked_row_batch(pushed.batch, part.rows.dim())});
    part.batch_bytes = std::max<std::uint64_t>(part.batch_bytes, pushed.batch.size());
  }
}

double row_store::measure(const effects::measure& step, std::span<const input> from) {
  auto& part = parts_.at(step.slot);
  if (part.clip_norm == 0) return 0;
  list_batches(part, from);
  return part.rows.measure(
      inputs_, policies::scale_of(part.rows.optimizer(), part.reduce, step.contributors));
}

status row_store::apply(const effects::apply& step, std::span<const input> from) {
  auto& part = parts_.at(step.slot);
  list_batches(part, from);
  runtime::row_step options;
  options.clock = step.clock;
  options.scale = policies::scale_of(part.rows.optimizer(), part.reduce, step.contributors) *
                  policies::norm_factor(part.clip_norm, step.squares.value_or(0.0));
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
  return intake_.lease(room_for(parts_.at(slot).rows.answer_bytes(asked)));
}

row_answer row_store::answer(std::uint32_t slot, std::uint32_t version_buffer,
                             std::span<const std::byte> request,
                             const runtime::buffer& into) const {
  const auto& part = parts_.at(slot).rows;
  const auto asked = runtime::checked_row_request(request);
  const auto bytes = part.answer_bytes(asked);
  TIDEGATE_ASSERT(into.size() == room_for(bytes), "a place for the answer");
  if (asked.kind == runtime::row_request_kind::call)
    return {.bytes = into.bytes(),
            .late = called_rows::copy(part, version_buffer, asked, into)};
  const auto written =
      part.answer(version_buffer, asked, into.bytes().first(bytes), {.payload = into});
  if (written == 0) std::memset(into.data(), 0, policies::row_line_bytes);
  return {.bytes = into.bytes().first(room_for(written))};
}

namespace {

// An id and its use, in numbers of 64 bits.
void write_numbers(std::uint64_t id, const runtime::row_use& use, float* into) {
  const std::uint64_t numbers[policies::row_numbers] = {id, use.clock, use.pushes};
  std::memcpy(into, numbers, sizeof numbers);
}

void read_numbers(std::span<const float> from, std::vector<std::uint64_t>& ids,
                  std::vector<runtime::row_use>& uses) {
  for (std::size_t at = 0; at < from.size(); at += policies::numbers_floats) {
    std::uint64_t numbers[policies::row_numbers];
    std::memcpy(numbers, from.data() + at, sizeof numbers);
    ids.push_back(numbers[0]);
    uses.push_back({numbers[1], numbers[2]});
  }
}

}  // namespace

void row_store::describe(std::uint32_t slot, policies::chunk_description& about) const {
  const auto& part = parts_.at(slot).rows;
  about.row_count = part.rows();
  about.row_state = part.state_floats();
  about.candidate_count = part.candidates();
  about.row_clock = part.clock();
}

std::uint64_t row_store::rows_since(std::uint32_t slot, std::uint64_t clock) const {
  std::uint64_t count = 0;
  parts_.at(slot).rows.visit_uses(
      [&](std::uint64_t, const runtime::row_use& use) { count += use.clock >= clock ? 1 : 0; });
  return count;
}

namespace {

void copy_candidates(const runtime::row_part& part, std::span<float> to) {
  std::vector<std::uint64_t> ids;
  std::vector<runtime::row_use> uses;
  part.copy_candidates(ids, uses);
  TIDEGATE_ASSERT(to.size() == ids.size() * policies::numbers_floats,
                  "as many as were described");
  const bool forgets =
      runtime::is_planted(runtime::planted_bug::row_candidates_not_in_checkpoints);
  for (std::size_t at = 0; at < ids.size(); ++at)
    write_numbers(ids[at], forgets ? runtime::row_use() : uses[at],
                  to.data() + at * policies::numbers_floats);
}

}  // namespace

void row_store::copy_out(std::uint32_t slot, const policies::chunk_description& about,
                         std::size_t i, std::span<float> to,
                         std::shared_ptr<const void> keeps) const {
  const auto& part = parts_.at(slot).rows;
  if (i == policies::candidates_array) return copy_candidates(part, to);
  TIDEGATE_ASSERT(to.size() == policies::stored_floats(about, i), "as many as were described");
  if (i == policies::numbers_array) {
    auto* into = to.data();
    part.visit_uses([&](std::uint64_t id, const runtime::row_use& use) {
      write_numbers(id, use, into);
      into += policies::numbers_floats;
    });
    TIDEGATE_ASSERT(into == to.data() + to.size(), "rows as they were described");
    return;
  }
  if (i == policies::states_array &&
      runtime::is_planted(runtime::planted_bug::row_state_not_in_checkpoints))
    return std::fill(to.begin(), to.end(), 0.0F);
  const auto since = about.needs_base() ? about.row_since : 0;
  const runtime::row_memory_owner owner{.object = std::move(keeps)};
  if (i == policies::values_array)
    part.copy_values(since, to, owner);
  else
    part.copy_states(since, to, owner);
}

status row_store::restore(const policies::checkpoint_reader& from, std::size_t table,
                          runtime::storage& folder, const policies::owned_chunk& chunk) {
  const auto& about = from.chunks(table)[chunk.chunk].stored.about;
  std::array<std::vector<float>, policies::chunk_arrays_max> arrays;
  for (std::size_t i = 0; i < policies::chunk_arrays(about); ++i) {
    arrays[i].resize(policies::array_floats(about, i));
    if (auto read = from.read_part(folder, table, chunk.chunk, i, arrays[i]); !read.ok())
      return read;
  }
  runtime::row_image image;
  image.dim = about.rows.dim;
  image.state_floats = about.row_state;
  image.values = std::move(arrays[policies::values_array]);
  image.states = std::move(arrays[policies::states_array]);
  read_numbers(arrays[policies::numbers_array], image.ids, image.uses);
  read_numbers(arrays[policies::candidates_array], image.candidates, image.candidate_uses);
  image.clock = about.row_clock;
  if (!runtime::ids_ascend(image.ids) || !runtime::ids_ascend(image.candidates))
    return {errc::corrupt, "table '" + about.table + "', part " + std::to_string(about.chunk) +
                               ": the ids of its rows do not ascend"};
  return parts_.at(chunk.slot)
      .rows.restore(std::move(image), policies::sharding::seed_buffer, {});
}

std::shared_ptr<const std::vector<float>> row_store::seed_of(
    const effects::seed& seed, const policies::shard_core::seed_state& state) const {
  const auto kept = std::span(seed.kept).first(state.kept.size());
  const auto& part = parts_.at(seed.slot).rows;
  const auto image = part.image(seed.version_buffer, kept);
  policies::chunk_seed head;
  head.state = state;
  head.tail_bytes = runtime::image_bytes(image);
  const auto values = std::make_shared<std::vector<float>>(seed_bytes(head) / sizeof(float));
  const auto bytes = std::as_writable_bytes(std::span(*values));
  encode_seed(head, bytes);
  const auto floats = runtime::encode_image(image, seed_tail(head, bytes));
  part.read_image(kept, floats, {.object = values});
  return values;
}

// Each version that is kept may have changed every row that was there, or is.
std::uint64_t row_store::seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const {
  const auto& part = parts_.at(slot);
  const std::uint64_t dim = part.rows.dim();
  const auto row = 64 + (dim + part.rows.state_floats()) * sizeof(float) +
                   policies::versions_kept_max * 2 * (16 + dim * sizeof(float));
  policies::chunk_seed head;
  head.state.now.ranks.resize(workers);
  head.state.kept.resize(policies::versions_kept_max);
  constexpr auto of_candidate = sizeof(std::uint64_t) + sizeof(runtime::row_use);
  head.tail_bytes = 4096 + part.capacity * row + part.candidates * of_candidate;
  return seed_bytes(head);
}

runtime::expected<policies::chunk_seed> row_store::take_seed(std::uint32_t slot,
                                                             std::span<const std::byte> bytes) {
  auto head = policies::decode_seed(bytes);
  if (!head) return head;
  auto image = runtime::decode_image(seed_tail(*head, bytes));
  if (!image) return runtime::fail(image.error());
  const auto names = kept_names();
  if (image->kept.size() != head->state.kept.size() || image->kept.size() > names.size())
    return runtime::fail(errc::corrupt,
                         "a part of a table of rows has other versions than it says");
  const auto kept = std::span(names).first(image->kept.size());
  auto taken =
      parts_.at(slot).rows.restore(std::move(*image), policies::sharding::seed_buffer, kept);
  if (!taken.ok()) return runtime::fail(std::move(taken));
  return head;
}

}  // namespace tidegate::actors
