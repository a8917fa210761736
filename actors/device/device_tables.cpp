#include "actors/device/device_tables.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "policies/protocol/double_buffer.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::actors {

namespace devices = runtime::devices;
using devices::input_place;
using runtime::status;

namespace {

// Gradients of two clocks, and parameters where they are brought together.
constexpr std::uint32_t parameters_copy = policies::gradient_halves;
constexpr std::uint32_t copies = parameters_copy + 1;
// As little memory as hides copies behind each other: most of what is pulled and pushed on one
// host never comes here.
constexpr devices::queue_options options{
    .operations_max = 256, .slots = 3, .slot_bytes = std::size_t{2} << 20};
constexpr std::size_t verdicts_together = 512;

}  // namespace

device_tables::device_tables(std::unique_ptr<devices::device> on) : device_(std::move(on)) {}

device_tables::~device_tables() {
  queue_.reset();
  static_cast<void>(device_->synchronize());  // a lost device has ended, too
}

runtime::expected<std::shared_ptr<device_tables>> device_tables::make(
    std::unique_ptr<devices::device> on, std::uintptr_t stream) {
  std::shared_ptr<device_tables> result(new device_tables(std::move(on)));
  if (auto ready = result->set_up(stream); !ready.ok()) return runtime::fail(ready);
  return result;
}

status device_tables::set_up(std::uintptr_t stream) {
  auto queue = devices::update_queue::make(*device_, options);
  if (!queue) return queue.error();
  queue_ = std::move(*queue);
  const auto work = device_->make_stream();
  if (!work) return work.error();
  work_ = *work;
  auto bounce = device_->allocate_host(bounce_elements * sizeof(float));
  if (!bounce) return bounce.error();
  bounce_ = std::move(*bounce);
  return set_stream(stream);
}

status device_tables::set_stream(std::uintptr_t handle) {
  const auto adopted = device_->adopt_stream(handle);
  if (!adopted) return adopted.error();
  program_ = *adopted;
  return {};
}

runtime::expected<std::size_t> device_tables::add_verdict() {
  constexpr auto bytes = verdicts_together * sizeof(std::uint64_t);
  if (verdicts_used_ == verdicts_.size() * verdicts_together) {
    auto on_device = device_->allocate(bytes);
    if (!on_device) return runtime::fail(on_device.error());
    auto on_host = device_->allocate_host(bytes);
    if (!on_host) return runtime::fail(on_host.error());
    verdicts_.push_back({std::move(*on_device), std::move(*on_host)});
  }
  return verdicts_used_++;
}

// The program may write there as soon as it knows where.
runtime::expected<device_tables::mark> device_tables::add_table(
    std::uint32_t id, std::span<const policies::chunk_place> places,
    std::shared_ptr<table_addresses> addresses) {
  status ready;
  if (!tables_.contains(id)) ready = take_room(id, places);
  if (ready.ok()) ready = queue_->settle(work_);
  if (!ready.ok()) return runtime::fail(ready);
  auto& table = tables_.at(id);
  for (std::uint32_t half = 0; half < policies::gradient_halves; ++half)
    addresses->gradients[half] = queue_->address_of({.chunk = table.first, .copy = half});
  table.addresses = std::move(addresses);
  return mark_on(work_);
}

status device_tables::take_room(std::uint32_t id,
                                std::span<const policies::chunk_place> places) {
  table_memory table;
  table.chunks.assign(places.begin(), places.end());
  std::vector<std::uint64_t> elements;
  for (const auto& place : places) {
    elements.push_back(place.elements);
    table.elements += place.elements;
  }
  const auto verdict = add_verdict();
  if (!verdict) return verdict.error();
  table.verdict = *verdict;
  const auto first = queue_->add_table(
      {.elements = elements, .states = 0, .version_buffers = copies, .sums = 0});
  if (!first) return first.error();
  table.first = *first;
  std::vector<runtime::device_place> named;
  for (std::uint32_t half = 0; half < policies::gradient_halves; ++half) {
    if (auto ready = queue_->prepare(table.first, half); !ready.ok()) return ready;
    const auto place = queue_->place_of(table.first, half);
    if (place)
      named.push_back({.copy = half, .offset = place->offset, .window = place->name.bytes});
  }
  if (named.size() == policies::gradient_halves) table.places = runtime::encode(named);
  tables_.emplace(id, std::move(table));
  return {};
}

runtime::expected<device_tables::mark> device_tables::mark_on(devices::stream on) {
  if (events_.empty()) {
    const auto another = device_->make_event();
    if (!another) return runtime::fail(another.error());
    events_.push_back(*another);
  }
  const auto end = events_.back();
  if (auto recorded = device_->record(on, end); !recorded.ok()) return runtime::fail(recorded);
  events_.pop_back();
  return mark{.copies = 0, .work = end};
}

runtime::expected<device_tables::mark> device_tables::after_program() {
  return mark_on(program_);
}

runtime::expected<device_tables::mark> device_tables::check(
    std::span<const std::uint32_t> tables, std::uint32_t half) {
  for (const auto id : tables) {
    const auto& table = tables_.at(id);
    const auto offset = table.verdict % verdicts_together * sizeof(std::uint64_t);
    const auto& verdict = verdicts_[table.verdict / verdicts_together];
    auto* const first = reinterpret_cast<std::uint64_t*>(verdict.on_device.data() + offset);
    auto queued = device_->find_not_finite(work_, gradient(id, half), table.elements, first);
    if (queued.ok())
      queued = device_->copy_out(work_,
                                 verdict.on_host.bytes().subspan(offset, sizeof(std::uint64_t)),
                                 verdict.on_device.data() + offset);
    if (!queued.ok()) return runtime::fail(queued);
  }
  return mark_on(work_);
}

std::optional<std::uint64_t> device_tables::first_not_finite(std::uint32_t id) const {
  const auto& table = tables_.at(id);
  std::uint64_t first = 0;
  std::memcpy(&first,
              verdicts_[table.verdict / verdicts_together].on_host.bytes().data() +
                  table.verdict % verdicts_together * sizeof first,
              sizeof first);
  if (first >= table.elements) return {};
  return first;
}

input_place device_tables::place_of(std::span<const float> memory) const {
  return device_->registered().holds(std::as_bytes(memory)) ? input_place::registered
                                                            : input_place::pageable;
}

device_tables::mark device_tables::bring_gradient(std::uint32_t id, std::uint32_t half,
                                                  std::span<const float> from) {
  const auto& table = tables_.at(id);
  mark result;
  for (std::uint32_t i = 0; i < table.chunks.size(); ++i) {
    const auto part = from.subspan(table.chunks[i].first, table.chunks[i].elements);
    result.copies =
        queue_->write({.chunk = table.first + i, .copy = half}, part, place_of(part));
  }
  return result;
}

runtime::expected<device_tables::mark> device_tables::copy(float* to, const float* from,
                                                           std::uint64_t elements) {
  const auto copied =
      device_->copy(work_, reinterpret_cast<std::byte*>(to),
                    reinterpret_cast<const std::byte*>(from), elements * sizeof(float));
  if (!copied.ok()) return runtime::fail(copied);
  return mark_on(work_);
}

runtime::expected<device_tables::mark> device_tables::bring_gradient(std::uint32_t id,
                                                                     std::uint32_t half,
                                                                     const float* from) {
  return copy(gradient(id, half), from, tables_.at(id).elements);
}

runtime::expected<device_tables::mark> device_tables::hand_out(std::uint32_t id, float* to) {
  const auto& table = tables_.at(id);
  TIDEGATE_ASSERT(table.found != nullptr, "parameters that were found");
  return copy(to, table.found, table.elements);
}

device_tables::mark device_tables::take_gradient(std::uint32_t id, std::uint32_t half,
                                                 std::span<float> to) {
  const auto& table = tables_.at(id);
  mark result;
  for (std::uint32_t i = 0; i < table.chunks.size(); ++i) {
    const auto part = to.subspan(table.chunks[i].first, table.chunks[i].elements);
    result.copies =
        queue_->read({.chunk = table.first + i, .copy = half}, part, place_of(part));
  }
  return result;
}

const float* device_tables::in_windows(const table_memory& table, std::uint32_t id,
                                       std::span<const policies::chunk_source> found) const {
  const float* begin = nullptr;
  for (const auto& place : table.chunks) {
    const auto& source = found[place.chunk];
    if (!source.on_device) return nullptr;
    const auto* at = windows_.at(id, place.chunk, source, place.shard);
    if (place.chunk == 0) begin = at;
    if (at == nullptr || at != begin + place.first) return nullptr;
  }
  return begin;
}

runtime::expected<float*> device_tables::room_for_parameters(const table_memory& table) {
  if (!queue_->is_prepared(table.first, parameters_copy)) {
    auto ready = queue_->prepare(table.first, parameters_copy);
    if (ready.ok()) ready = queue_->settle(work_);
    if (!ready.ok()) return runtime::fail(ready);
  }
  return queue_->address_of({.chunk = table.first, .copy = parameters_copy});
}

runtime::expected<device_tables::mark> device_tables::find(
    std::uint32_t id, std::span<const policies::chunk_source> found,
    std::span<const float* const> host) {
  auto& table = tables_.at(id);
  windows_.close_former(id, table.chunks, found);
  mark result;
  if (const auto* whole = in_windows(table, id, found); whole != nullptr) {
    table.addresses->parameters = table.found = whole;
    return result;
  }
  const auto room = room_for_parameters(table);
  if (!room) return runtime::fail(room.error());
  bool gathers = false;
  for (std::uint32_t i = 0; i < table.chunks.size(); ++i) {
    const auto& place = table.chunks[i];
    if (!found[i].on_device) {
      const std::span part(host[i], place.elements);
      result.copies = queue_->write({.chunk = table.first + i, .copy = parameters_copy}, part,
                                    place_of(part));
      continue;
    }
    const auto* from = windows_.at(id, place.chunk, found[i], place.shard);
    TIDEGATE_ASSERT(from != nullptr, "a shard names what this worker has opened");
    gathers = true;
    if (auto copied = device_->copy(work_, reinterpret_cast<std::byte*>(*room + place.first),
                                    reinterpret_cast<const std::byte*>(from),
                                    place.elements * sizeof(float));
        !copied.ok())
      return runtime::fail(copied);
  }
  if (gathers) {
    const auto end = mark_on(work_);
    if (!end) return end;
    result.work = end->work;
  }
  table.addresses->parameters = table.found = *room;
  return result;
}

std::span<float> device_tables::bounce() const {
  return {reinterpret_cast<float*>(bounce_.bytes().data()), bounce_elements};
}

runtime::expected<device_tables::mark> device_tables::copy_out(const float* from,
                                                               std::size_t elements) {
  auto copied = device_->copy_out(work_, bounce_.bytes().first(elements * sizeof(float)),
                                  reinterpret_cast<const std::byte*>(from));
  if (!copied.ok()) return runtime::fail(copied);
  return mark_on(work_);
}

runtime::expected<device_tables::mark> device_tables::copy_in(float* to, std::size_t elements) {
  auto copied = device_->copy_in(work_, reinterpret_cast<std::byte*>(to),
                                 bounce_.bytes().first(elements * sizeof(float)));
  if (!copied.ok()) return runtime::fail(copied);
  return mark_on(work_);
}

status device_tables::poll() {
  while (const auto item = queue_->poll())
    if (!item->outcome.ok() && failure_.ok()) failure_ = item->outcome;
  if (failure_.ok()) failure_ = queue_->failure();
  return failure_;
}

bool device_tables::is_over(mark& of) {
  if (of.work) {
    const auto ended = device_->has_ended(*of.work);
    if (!ended) {
      if (failure_.ok()) failure_ = ended.error();
      return false;
    }
    if (!*ended) return false;
    events_.push_back(*of.work);
    of.work.reset();
  }
  return of.copies <= queue_->done();
}

}  // namespace tidegate::actors
