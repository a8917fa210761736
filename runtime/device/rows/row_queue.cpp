#include "runtime/device/rows/row_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/device/rows/row_vectors.hpp"

namespace tidegate::runtime::devices {

namespace {

bool is_aligned(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % row_vector_bytes == 0;
}

// Room of a slot that a piece of an operation takes: a list, and floats behind it.
class slot_room {
 public:
  explicit slot_room(std::size_t bytes) : bytes_(bytes) {}

  // Takes the next entry of the list and so many floats. Returns false if both do not fit.
  bool take(std::size_t entry_bytes, std::size_t floats) {
    const auto list = list_ + entry_bytes;
    const auto behind = floats_ + whole_vectors(floats * sizeof(float));
    if (whole_vectors(list) + behind > bytes_) return false;
    list_ = list;
    floats_ = behind;
    return true;
  }
  std::size_t floats_begin() const { return whole_vectors(list_); }
  std::size_t bytes() const { return floats_begin() + floats_; }

 private:
  std::size_t bytes_;
  std::size_t list_ = 0;
  std::size_t floats_ = 0;
};

}  // namespace

expected<std::unique_ptr<row_queue>> row_queue::make(device& on,
                                                     const row_queue_options& options) {
  TIDEGATE_ASSERT(options.operations_max > 0 && options.slots > 0, "room for an operation");
  TIDEGATE_ASSERT(options.slot_bytes >= 4 * limits::row_dim_max * sizeof(float),
                  "a slot has room for a row");
  if (!on.works_on_host_memory())
    return fail(errc::invalid_argument,
                on.name() + ": it cannot work on memory of the host, as rows need it");
  std::unique_ptr<row_queue> queue(new row_queue(on));
  const auto work = on.make_stream();
  if (!work) return fail(work.error());
  queue->work_ = *work;
  for (std::uint32_t i = 0; i < options.operations_max; ++i) {
    const auto end = on.make_event();
    if (!end) return fail(end.error());
    queue->events_.push_back(*end);
  }
  auto slots = staging::make(on, options.slots, options.slot_bytes);
  if (!slots) return fail(slots.error());
  queue->staging_ = std::make_unique<staging>(std::move(*slots));
  auto results = result_slots::make(on, options.slots, options.slot_bytes);
  if (!results) return fail(results.error());
  queue->results_ = std::make_unique<result_slots>(std::move(*results));
  queue->grow();
  return queue;
}

row_queue::~row_queue() {
  stop();
}

void row_queue::stop() {
  // Some of an operation may be under way, and the rest wait.
  if (submitted_ > done_) static_cast<void>(device_.synchronize());
  for (auto& item : operations_)
    if (item) item->owner = {};
  is_stopped_ = true;
  is_ok({errc::unavailable, "rows of " + device_.name() + " are given up"});
}

// Operations keep their places modulo the size of the ring.
void row_queue::grow() {
  std::vector<std::unique_ptr<operation>> larger(
      std::max<std::size_t>(16, 2 * operations_.size()));
  for (auto of = done_ + 1; of <= submitted_; ++of)
    larger[of % larger.size()] = std::move(operations_[of % operations_.size()]);
  for (auto& place : operations_) {
    if (!place) continue;
    const auto empty = std::find(larger.begin(), larger.end(), nullptr);
    *empty = std::move(place);
  }
  for (auto& place : larger)
    if (!place) place = std::make_unique<operation>();
  operations_ = std::move(larger);
}

row_queue::operation& row_queue::next_operation(operation_kind kind, std::size_t floats) {
  if (submitted_ - done_ == operations_.size()) grow();
  auto& item = at(submitted_ + 1);
  item.kind = kind;
  item.floats = floats;
  item.copies.clear();
  item.steps.clear();
  item.is_staged.clear();
  item.values.clear();
  item.segments.clear();
  item.queued = item.staged = item.copied = 0;
  return item;
}

ticket row_queue::submit() {
  if (is_stopped_) {
    at(submitted_ + 1).owner = {};
    return submitted_;
  }
  ++submitted_;
  if (listener_ != nullptr) listener_->queued(submitted_);
  return submitted_;
}

ticket row_queue::copy(std::span<const kernels::row_copy> rows, std::size_t floats,
                       row_memory_owner owner) {
  auto& item = next_operation(operation_kind::copy, floats);
  item.copies.assign(rows.begin(), rows.end());
  item.owner = std::move(owner);
  return submit();
}

row_queue::operation& row_queue::next_write(std::span<float* const> to, std::size_t floats) {
  auto& item = next_operation(operation_kind::write, floats);
  for (auto* const place : to) item.copies.push_back({.to = place, .from = nullptr});
  return item;
}

ticket row_queue::write(std::span<float* const> to, std::span<const float> values,
                        std::size_t floats) {
  TIDEGATE_ASSERT(values.size() == to.size() * floats, "floats of each row");
  auto& item = next_write(to, floats);
  item.values.assign(values.begin(), values.end());
  item.source = item.values.data();
  return submit();
}

ticket row_queue::write(std::span<float* const> to, const float* values, std::size_t floats,
                        row_memory_owner owner) {
  auto& item = next_write(to, floats);
  item.source = values;
  item.owner = std::move(owner);
  return submit();
}

ticket row_queue::clear(std::span<std::byte> memory) {
  next_operation(operation_kind::clear, 0).cleared = memory;
  return submit();
}

ticket row_queue::read(std::span<const float* const> from, std::size_t floats, float* out,
                       row_memory_owner owner) {
  auto& item = next_operation(operation_kind::read, floats);
  for (const auto* const place : from) item.copies.push_back({.to = nullptr, .from = place});
  item.out = out;
  item.owner = std::move(owner);
  return submit();
}

ticket row_queue::step(std::span<const row_engine::segment> segments,
                       std::span<const kernels::row_addresses> rows, std::size_t floats) {
  auto& item = next_operation(operation_kind::step, floats);
  item.segments.assign(segments.begin(), segments.end());
  item.steps.assign(rows.begin(), rows.end());
  for (const auto& row : rows) {
    const bool is_reached =
        can_reach({reinterpret_cast<const std::byte*>(row.gradient), floats * sizeof(float)});
    item.is_staged.push_back(is_reached ? 0 : 1);
    if (!is_reached) item.values.insert(item.values.end(), row.gradient, row.gradient + floats);
  }
  return submit();
}

bool row_queue::is_ok(const status& outcome) {
  if (!outcome.ok() && failure_.ok()) failure_ = outcome;
  return outcome.ok();
}

bool row_queue::has_ended(event end) {
  const auto ended = device_.has_ended(end);
  if (ended) return *ended;
  is_ok(ended.error());
  return false;
}

std::size_t row_queue::rows_of(const operation& item) const noexcept {
  return item.kind == operation_kind::step ? item.steps.size() : item.copies.size();
}

// As many as one launch may go over.
std::size_t row_queue::rows_at_a_time(const operation& item) noexcept {
  constexpr std::size_t least = 32;
  return row_launch_floats_max / std::max(item.floats, least);
}

// Returns false if it waits for a slot, or the device is lost.
bool row_queue::queue_next(operation& item) {
  if (item.kind == operation_kind::clear)
    return is_ok(device_.clear(work_, item.cleared.data(), item.cleared.size()));
  while (item.queued < rows_of(item)) {
    auto& slot = staging_->next();
    if (!is_planted(planted_bug::row_slot_taken_while_it_is_read) && !has_ended(slot.consumed))
      return false;
    bool is_queued = false;
    switch (item.kind) {
      case operation_kind::copy:
        is_queued = queue_copies(item, slot);
        break;
      case operation_kind::write:
        is_queued = queue_writes(item, slot);
        break;
      case operation_kind::read:
        is_queued = queue_reads(item, slot);
        break;
      case operation_kind::step:
        is_queued = queue_steps(item, slot);
        break;
      case operation_kind::clear:
        break;
    }
    if (!is_queued) return false;
    staging_->take();
    if (!is_ok(device_.record(work_, slot.consumed))) return false;
  }
  return true;
}

bool row_queue::bring(const staging::slot& slot, std::size_t bytes) {
  return is_ok(device_.copy_in(work_, slot.on_device, {slot.pinned, bytes}));
}

// Queues the copies that the slot has a list of.
bool row_queue::launch_copies(const staging::slot& slot, std::size_t bytes, std::size_t count,
                              std::size_t floats) {
  const std::span list(reinterpret_cast<const kernels::row_copy*>(slot.pinned), count);
  const bool all_aligned = floats % row_vector_floats == 0 &&
                           std::all_of(list.begin(), list.end(), [](const auto& row) {
                             return is_aligned(row.to) && is_aligned(row.from);
                           });
  return bring(slot, bytes) &&
         is_ok(device_.copy_rows(
             work_, {.rows = reinterpret_cast<const kernels::row_copy*>(slot.on_device),
                     .count = count,
                     .floats = floats,
                     .is_aligned = all_aligned}));
}

bool row_queue::queue_copies(operation& item, staging::slot& slot) {
  const auto count = std::min({item.copies.size() - item.queued, rows_at_a_time(item),
                               staging_->slot_bytes() / sizeof(kernels::row_copy)});
  const auto bytes = count * sizeof(kernels::row_copy);
  std::memcpy(slot.pinned, item.copies.data() + item.queued, bytes);
  item.queued += count;
  return launch_copies(slot, bytes, count, item.floats);
}

bool row_queue::queue_writes(operation& item, staging::slot& slot) {
  slot_room room(staging_->slot_bytes());
  auto last = item.queued;
  const auto end = std::min(item.copies.size(), item.queued + rows_at_a_time(item));
  while (last < end && room.take(sizeof(kernels::row_copy), item.floats)) ++last;
  auto* const list = reinterpret_cast<kernels::row_copy*>(slot.pinned);
  auto offset = room.floats_begin();
  for (auto i = item.queued; i < last; ++i) {
    std::memcpy(slot.pinned + offset, item.source + i * item.floats,
                item.floats * sizeof(float));
    list[i - item.queued] = {.to = item.copies[i].to,
                             .from = reinterpret_cast<float*>(slot.on_device + offset)};
    offset += whole_vectors(item.floats * sizeof(float));
  }
  const auto count = last - item.queued;
  item.queued = last;
  return launch_copies(slot, room.bytes(), count, item.floats);
}

// Rows lie in the results one behind the other, but those that are not read.
bool row_queue::queue_reads(operation& item, staging::slot& slot) {
  auto* const result = results_->take();
  if (result == nullptr) return false;
  slot_room room(staging_->slot_bytes());
  const auto row_bytes = whole_vectors(item.floats * sizeof(float));
  auto* const list = reinterpret_cast<kernels::row_copy*>(slot.pinned);
  std::size_t count = 0;
  auto last = item.queued;
  const auto end = std::min(item.copies.size(), item.queued + rows_at_a_time(item));
  for (; last < end; ++last) {
    const auto* const from = item.copies[last].from;
    if (from == nullptr) continue;
    if ((count + 1) * row_bytes > results_->slot_bytes() ||
        !room.take(sizeof(kernels::row_copy), 0))
      break;
    list[count] = {.to = reinterpret_cast<float*>(result->pinned + count * row_bytes),
                   .from = from};
    ++count;
  }
  result->of = queued_ + 1;
  result->first = item.queued;
  result->count = last - item.queued;
  item.queued = last;
  return (count == 0 || launch_copies(slot, room.bytes(), count, item.floats)) &&
         is_ok(device_.record(work_, result->copied));
}

bool row_queue::queue_steps(operation& item, staging::slot& slot) {
  slot_room room(staging_->slot_bytes());
  auto last = item.queued;
  const auto end = std::min(item.steps.size(), item.queued + rows_at_a_time(item));
  while (last < end &&
         room.take(sizeof(kernels::row_addresses), item.is_staged[last] != 0 ? item.floats : 0))
    ++last;
  auto* const list = reinterpret_cast<kernels::row_addresses*>(slot.pinned);
  auto offset = room.floats_begin();
  for (auto i = item.queued; i < last; ++i) {
    auto row = item.steps[i];
    if (item.is_staged[i] != 0) {
      std::memcpy(slot.pinned + offset, item.values.data() + item.staged,
                  item.floats * sizeof(float));
      row.gradient = reinterpret_cast<const float*>(slot.on_device + offset);
      offset += whole_vectors(item.floats * sizeof(float));
      item.staged += item.floats;
    }
    list[i - item.queued] = row;
  }
  const auto count = last - item.queued;
  item.queued = last;
  if (!bring(slot, room.bytes())) return false;
  for (const auto& segment : item.segments)
    if (!is_ok(device_.step_rows(
            work_, {.step = segment.step,
                    .columns = segment.columns,
                    .rows = reinterpret_cast<const kernels::row_addresses*>(slot.on_device),
                    .count = count})))
      return false;
  return true;
}

void row_queue::take_results() {
  for (auto* slot = results_->oldest(); slot != nullptr; slot = results_->oldest()) {
    if (!has_ended(slot->copied) || !failure_.ok()) return;
    auto& item = at(slot->of);
    const auto* from = slot->pinned;
    for (auto i = slot->first; i < slot->first + slot->count; ++i) {
      if (item.copies[i].from == nullptr) continue;
      std::memcpy(item.out + i * item.floats, from, item.floats * sizeof(float));
      from += whole_vectors(item.floats * sizeof(float));
    }
    item.copied += slot->count;
    results_->give_back();
  }
}

void row_queue::poll() {
  take_results();
  while (failure_.ok() && done_ < queued_) {
    auto& item = at(done_ + 1);
    if (!has_ended(events_[(done_ + 1) % events_.size()])) break;
    if (item.kind == operation_kind::read && item.copied < item.copies.size() &&
        !is_planted(planted_bug::row_read_told_before_it_is_there))
      break;
    item.owner = {};
    ++done_;
  }
  while (failure_.ok() && queued_ < submitted_ && queued_ - done_ < events_.size() &&
         queue_next(at(queued_ + 1)) &&
         is_ok(device_.record(work_, events_[(queued_ + 1) % events_.size()])))
    ++queued_;
}

}  // namespace tidegate::runtime::devices
