#include "actors/chunks/device_engine.hpp"

#include <algorithm>
#include <optional>

#include "policies/model/kept_versions.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::actors {

namespace devices = runtime::devices;
using devices::array_kind;
using devices::input_place;
using runtime::status;

namespace {

constexpr std::size_t registered_bytes_min = std::size_t{1} << 20;  // worth a registration

}  // namespace

runtime::expected<std::unique_ptr<device_engine>> device_engine::make(
    devices::device& on, endpoint_memory& endpoint, joined_work& work,
    const devices::queue_options& options) {
  std::unique_ptr<device_engine> engine(new device_engine(on, endpoint, work));
  auto queue = devices::update_queue::make(on, options);
  if (!queue) return runtime::fail(queue.error());
  engine->queue_ = std::move(*queue);
  endpoint.set_device(engine.get());
  return engine;
}

// The queue waits for what is under way: what it reads and writes is there until then.
device_engine::~device_engine() {
  endpoint_.set_device(nullptr);
}

device_engine::pin device_engine::pin_memory(std::span<const std::byte> memory) {
  auto pinned = try_register({const_cast<std::byte*>(memory.data()), memory.size()},
                             devices::host_access::read_only);
  if (!pinned) return {};
  return std::make_shared<devices::host_memory>(std::move(*pinned));
}

runtime::expected<device_engine::opened_window> device_engine::open(
    const runtime::device_place& place) {
  auto opened = device_.open_window({.bytes = place.window});
  if (!opened) return runtime::fail(opened.error());
  auto window = std::make_shared<devices::device_memory>(std::move(*opened));
  const std::span<const std::byte> bytes(window->data(), window->size());
  return opened_window{.memory = std::move(window), .bytes = bytes};
}

// Where a device has no windows, or pages the table, workers read on the host.
std::vector<runtime::device_place> device_engine::parameters_of(std::uint32_t first_slot,
                                                                std::uint64_t known) {
  std::vector<runtime::device_place> places;
  const auto& chunk = chunks_[first_slot];
  const auto buffers = std::min<std::size_t>(chunk.shown.size(), runtime::device_buffers_max);
  for (std::uint32_t i = 0; i < buffers; ++i) {
    if (!queue_->is_prepared(chunk.index, i) || (known >> i & 1) != 0) continue;
    const auto place = queue_->place_of(chunk.index, i);
    if (!place || places.size() == runtime::device_places_max) break;
    places.push_back({.copy = i, .offset = place->offset, .window = place->name.bytes});
  }
  return places;
}

status device_engine::add_table(std::uint32_t table,
                                std::span<const policies::owned_chunk> chunks,
                                const table_shape& shape) {
  if (!runtime::is_sum(shape.optimizer.reduce))
    return {runtime::errc::invalid_argument, "a table that is reduced by '" +
                                                 runtime::reduction_of(shape.optimizer) +
                                                 "' on a device; allowed there: mean, sum"};
  if (shape.optimizer.kind == runtime::optimizer_kind::plugin)
    return {runtime::errc::invalid_argument,
            "optimizer '" + runtime::name_of(shape.optimizer) +
                "' on a device; allowed there: those that no plugin has"};
  std::vector<std::uint64_t> elements;
  elements.reserve(chunks.size());
  for (const auto& chunk : chunks) elements.push_back(chunk.elements);
  const auto buffers = policies::version_buffers_max(shape.workers);
  const auto first = queue_->add_table({.elements = elements,
                                        .states = shape.states,
                                        .version_buffers = buffers,
                                        .sums = shape.keeps_sums ? 1U : 0U});
  if (!first) {
    // One that is lost is told of by poll(), too: the process ends.
    if (first.error().code() != runtime::errc::io_error) give_up(first.error());
    return first.error();
  }
  if (shape.reads_on_host) tables_on_host_.insert(table);
  auto index = *first;
  for (const auto& chunk : chunks) {
    if (chunks_.size() <= chunk.slot) chunks_.resize(chunk.slot + std::size_t{1});
    auto& place = chunks_[chunk.slot];
    place.index = index++;
    place.table = table;
    place.keeps_sums = shape.keeps_sums;
    place.shown.assign(buffers, false);
    place.shown[0] = true;
  }
  return {};
}

status device_engine::make_chunk(std::uint32_t slot) {
  const std::span<const float> initial(endpoint_.at(slot, 0),
                                       endpoint_.bytes_of(slot) / sizeof(float));
  queue_->write({.chunk = chunks_[slot].index}, initial, place_of(initial));
  has_begun();
  return keep_up();
}

void device_engine::give_up(const status& why) {
  if (!failure_.ok()) return;
  failure_ = why;
  work_.begin_endless();  // so that poll() is called, and tells
}

// While a table is set up, which may take long: as much waits as a device has under way twice.
status device_engine::keep_up() {
  constexpr devices::ticket waiting_max = 128;
  while (queue_->submitted() - queue_->done() > waiting_max)
    if (auto polled = poll(); !polled.ok()) return polled;
  return {};
}

devices::array_name device_engine::name_of(const array_name& array) const {
  using kind = array_name::kind;
  return {.chunk = chunks_[array.slot].index,
          .kind = array.of == kind::parameters ? array_kind::parameters
                  : array.of == kind::state1   ? array_kind::state1
                                               : array_kind::state2,
          .copy = array.version_buffer};
}

input_place device_engine::place_of(std::span<const float> memory) const {
  return device_.registered().holds(std::as_bytes(memory)) ? input_place::registered
                                                           : input_place::pageable;
}

// Where there is no room for another version the device is of no more use than a lost one.
void device_engine::prepare(std::uint32_t slot, std::uint32_t version_buffer) {
  const auto ready = queue_->prepare(chunks_[slot].index, version_buffer);
  if (!ready.ok()) give_up(ready);
}

// Lets the device copy from and to memory by itself, if that is worth it: whole pages. Nothing
// where it cannot: then it copies through memory of its own.
std::optional<devices::host_memory> device_engine::try_register(std::span<std::byte> memory,
                                                                devices::host_access access) {
  constexpr auto page = runtime::segment::page_bytes;
  if (memory.size() < registered_bytes_min) return {};
  const auto skipped = (page - reinterpret_cast<std::uintptr_t>(memory.data()) % page) % page;
  const auto pages = memory.subspan(skipped, (memory.size() - skipped) / page * page);
  auto registered = device_.register_host(pages, access);
  if (!registered) return {};
  return std::move(*registered);
}

// Once for each version buffer of a table.
void device_engine::register_shown(std::uint32_t slot, std::uint32_t version_buffer) {
  const auto table = chunks_[slot].table;
  auto& tried = tried_[table];
  if (tried.size() <= version_buffer) tried.resize(version_buffer + std::size_t{1});
  if (tried[version_buffer]) return;
  tried[version_buffer] = true;
  auto pinned = try_register(endpoint_.bytes_of_table(table, version_buffer),
                             devices::host_access::read_write);
  if (pinned) shown_.push_back(std::move(*pinned));
}

void device_engine::apply(const step& next,
                          std::span<const policies::shard_effects::input> from) {
  auto& chunk = chunks_[next.slot];
  prepare(next.slot, next.to);
  if (!failure_.ok()) return;
  const auto elements = endpoint_.bytes_of(next.slot) / sizeof(float);
  inputs_.clear();
  for (const auto& input : from) {
    const std::span gradient(endpoint_.gradient(input.payload), elements);
    inputs_.push_back({.gradient = {.data = gradient.data(), .rank = input.rank},
                       .place = endpoint_.is_on_device(input.payload) ? input_place::device
                                                                      : place_of(gradient)});
  }
  chunk.shown[next.to] = false;
  const bool has_sum = next.sum != nullptr;
  TIDEGATE_ASSERT(!has_sum || chunk.keeps_sums, "a table that keeps sums");
  using kind = devices::update_launch::step;
  const auto of =
      queue_->step({.chunk = chunk.index,
                    .kind = next.assigns ? kind::assign : kind::update,
                    .from = next.from,
                    .to = next.to,
                    .options = next.options,
                    .scale = next.scale,
                    .inputs = inputs_,
                    .sum = has_sum ? std::optional<std::uint32_t>(0) : std::nullopt});
  if (!runtime::is_planted(runtime::planted_bug::device_payload_not_kept)) {
    for (const auto& input : from) {
      endpoint_.begin_reading(input.payload);
      reading_.push({of, input.payload});
    }
  }
  if (has_sum) {
    const std::span sum(next.sum, elements);
    queue_->read({.chunk = chunk.index, .kind = array_kind::sum}, sum, place_of(sum));
  }
  has_begun();
}

// Whoever hands values over has no more to do with them.
void device_engine::write(const array_name& array, std::span<const float> values) {
  if (array.of == array_name::kind::parameters) {
    prepare(array.slot, array.version_buffer);
    chunks_[array.slot].shown[array.version_buffer] = false;
  }
  if (!failure_.ok()) return;
  auto copy = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  const std::span<const float> stays = *copy;
  queue_->write(name_of(array), stays, input_place::pageable, std::move(copy));
  has_begun();
}

void device_engine::read(const array_name& array, std::span<float> to,
                         std::shared_ptr<const void> keeps) {
  if (!failure_.ok()) return;
  queue_->read(name_of(array), to, input_place::pageable, std::move(keeps));
  has_begun();
}

void device_engine::show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) {
  if (!failure_.ok()) return;
  for (const auto slot : slots) {
    auto& chunk = chunks_[slot];
    if (chunk.shown[version_buffer]) continue;
    chunk.shown[version_buffer] = true;
    endpoint_.prepare(slot, version_buffer);
    register_shown(slot, version_buffer);
    const std::span memory(endpoint_.at(slot, version_buffer),
                           endpoint_.bytes_of(slot) / sizeof(float));
    queue_->read({.chunk = chunk.index, .copy = version_buffer}, memory, place_of(memory));
  }
  has_begun();
}

void device_engine::keep(std::shared_ptr<const void> owner) {
  if (!queue_->is_idle()) kept_.emplace_back(queue_->submitted(), std::move(owner));
}

status device_engine::poll() {
  while (const auto item = queue_->poll()) {
    if (!item->outcome.ok()) return item->outcome;
    if (item->kind == devices::news::done) continue;
    for (; !reading_.empty() && reading_.front().first <= item->of; reading_.pop())
      endpoint_.end_reading(reading_.front().second);
  }
  work_.end(joined_work::queue::chunks, queue_->done());
  std::erase_if(kept_, [&](const auto& item) { return item.first <= queue_->done(); });
  if (!queue_->failure().ok()) return queue_->failure();
  return failure_;
}

}  // namespace tidegate::actors
