#include "runtime/device/updates/update_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime::devices {

namespace {

bool is_on_host(const step_input& input) {
  return input.place != input_place::device;
}

}  // namespace

expected<std::unique_ptr<update_queue>> update_queue::make(device& on,
                                                           const queue_options& options) {
  std::unique_ptr<update_queue> queue(new update_queue(on));
  if (auto ready = queue->set_up(options); !ready.ok()) return fail(ready);
  return queue;
}

status update_queue::set_up(const queue_options& options) {
  TIDEGATE_ASSERT(options.operations_max > 0, "room for operations");
  for (auto* on : {&copies_, &steps_, &reads_}) {
    const auto created = device_.make_stream();
    if (!created) return created.error();
    *on = *created;
  }
  auto slots = staging::make(device_, options.slots, options.slot_bytes);
  if (!slots) return slots.error();
  staging_.emplace(std::move(*slots));
  operations_.resize(options.operations_max);
  for (auto& item : operations_)
    for (auto* end : {&item.inputs_read, &item.ready, &item.done}) {
      const auto created = device_.make_event();
      if (!created) return created.error();
      *end = *created;
    }
  inputs_.resize(operations_.size() * launch_inputs_max);
  gradients_.reserve(launch_inputs_max);
  return {};
}

// Memory of the device and of the host is given back next, and nothing may be at work on it.
update_queue::~update_queue() {
  if (!is_idle() || !chunks_.empty()) static_cast<void>(device_.synchronize());
}

expected<chunk_index> update_queue::add_table(const table_shape& shape) {
  if (!failure_.ok()) return fail(failure_);
  const auto first = memory_.add_table(shape, steps_);
  if (first) chunks_.resize(memory_.chunks());
  return first;
}

update_queue::operation& update_queue::next_operation() {
  TIDEGATE_ASSERT(!is_full(), "no more operations than there is room for");
  auto& item = at(submitted_ + 1);
  item.queued = 0;
  item.inputs = 0;
  return item;
}

ticket update_queue::submitted() {
  const auto of = ++submitted_;
  queue_waiting();
  return of;
}

ticket update_queue::step(const step_request& request) {
  TIDEGATE_ASSERT(!request.inputs.empty() && request.inputs.size() <= launch_inputs_max,
                  "a step has inputs, and a launch has room for them");
  auto& item = next_operation();
  auto& chunk = chunks_[request.chunk];
  item.kind = operation_kind::step;
  item.step = request;
  item.step.inputs = {};
  item.inputs = request.inputs.size();
  item.powers = chunk.powers;
  item.reads_device = !std::all_of(request.inputs.begin(), request.inputs.end(), is_on_host);
  std::copy(request.inputs.begin(), request.inputs.end(), inputs_of(submitted_ + 1).begin());
  if (request.kind == update_launch::step::update)
    next_rates(request.options, traits_of(request.options.kind).corrects_bias, chunk.powers);
  return submitted();
}

ticket update_queue::write(const array_name& array, std::span<const float> from) {
  TIDEGATE_ASSERT(from.size() == memory_.elements(array.chunk), "as many elements");
  auto& item = next_operation();
  const auto bytes = std::as_bytes(from);
  item.kind = operation_kind::write;
  item.array = array;
  item.memory = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  return submitted();
}

ticket update_queue::read(const array_name& array, std::span<float> to) {
  TIDEGATE_ASSERT(to.size() == memory_.elements(array.chunk), "as many elements");
  auto& item = next_operation();
  item.kind = operation_kind::read;
  item.array = array;
  item.memory = std::as_writable_bytes(to);
  return submitted();
}

bool update_queue::is_ok(const status& outcome) {
  if (!outcome.ok() && failure_.ok()) failure_ = outcome;
  return outcome.ok();
}

bool update_queue::has_ended(event end) {
  const auto ended = device_.has_ended(end);
  if (ended) return *ended;
  if (is_planted(planted_bug::device_loss_ignored)) return true;
  is_ok(ended.error());
  return false;
}

void update_queue::queue_waiting() {
  while (failure_.ok() && queued_ < submitted_ && queue_next(queued_ + 1)) ++queued_;
}

bool update_queue::queue_next(ticket of) {
  const auto& item = at(of);
  switch (item.kind) {
    case operation_kind::step:
      return queue_step(of);
    case operation_kind::write:
      return is_ok(queue_write(item));
    case operation_kind::read:
      return is_ok(queue_read(of));
  }
  return false;
}

// Returns false if the step waits for a slot.
bool update_queue::queue_step(ticket of) {
  auto& item = at(of);
  const auto inputs = inputs_of(of);
  const bool is_staged = std::any_of(inputs.begin(), inputs.end(), is_on_host);
  const auto elements = memory_.elements(item.step.chunk);
  while (item.queued < elements) {
    const auto count = staging_->piece_of(inputs, elements - item.queued);
    staging::slot* slot = nullptr;
    if (is_staged) {
      slot = &staging_->next();
      if (!has_ended(slot->consumed)) return false;
      staging_->take();
    }
    if (item.queued == 0 && !is_ok(wait_for_reads(item.step.chunk))) return false;
    if (!is_ok(queue_piece(of, slot, count))) return false;
    item.queued += count;
  }
  // What lies on the device has been read when the kernels have ended.
  const auto reader = item.reads_device ? steps_ : copies_;
  return is_ok(device_.record(reader, item.inputs_read)) &&
         is_ok(device_.record(steps_, item.done));
}

status update_queue::queue_piece(ticket of, staging::slot* slot, std::size_t count) {
  const auto& item = at(of);
  const auto inputs = inputs_of(of);
  gradients_.clear();
  for (const auto& input : inputs) {
    auto piece = input.gradient;
    piece.data = static_cast<const std::byte*>(piece.data) + item.queued * size_of(piece.type);
    gradients_.push_back(piece);
  }
  if (slot == nullptr) return launch_piece(item, count);
  if (auto staged = stage(inputs, *slot, count); !staged.ok()) return staged;
  if (auto launched = launch_piece(item, count); !launched.ok()) return launched;
  return device_.record(steps_, slot->consumed);
}

// Brings those of gradients_ that lie on the host into the slot.
status update_queue::stage(std::span<const step_input> inputs, staging::slot& slot,
                           std::size_t count) {
  const auto on = is_planted(planted_bug::device_copy_on_another_stream) ? reads_ : copies_;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_on_host(inputs[i])) continue;
    auto& gradient = gradients_[i];
    const auto bytes = count * size_of(gradient.type);
    const auto* from = static_cast<const std::byte*>(gradient.data);
    if (inputs[i].place == input_place::pageable) {
      std::memcpy(slot.pinned + offset, from, bytes);
      from = slot.pinned + offset;
    }
    if (auto copy = device_.copy_in(on, slot.on_device + offset, {from, bytes}); !copy.ok())
      return copy;
    gradient.data = slot.on_device + offset;
    offset += (bytes + staging_alignment - 1) / staging_alignment * staging_alignment;
  }
  if (auto recorded = device_.record(copies_, slot.copied); !recorded.ok()) return recorded;
  if (is_planted(planted_bug::device_copy_not_waited_for)) return {};
  return device_.wait(steps_, slot.copied);
}

status update_queue::launch_piece(const operation& item, std::size_t count) {
  const auto& step = item.step;
  const auto part = [&](float* array) {
    return array == nullptr ? nullptr : array + item.queued;
  };
  const auto parameters = [&](std::uint32_t copy) {
    return part(
        memory_.at({.chunk = step.chunk, .kind = array_kind::parameters, .copy = copy}));
  };
  float* sum = nullptr;
  if (step.sum)
    sum = part(memory_.at({.chunk = step.chunk, .kind = array_kind::sum, .copy = *step.sum}));
  update_launch call;
  call.kind = step.kind;
  call.options = step.options;
  call.powers = item.powers;
  call.inputs = gradients_;
  call.scale = step.scale;
  call.arrays = {.before = parameters(step.from),
                 .after = parameters(step.to),
                 .state1 = part(memory_.state(step.chunk, array_kind::state1)),
                 .state2 = part(memory_.state(step.chunk, array_kind::state2)),
                 .n = count,
                 .sum = sum};
  if (sum != nullptr && gradients_.size() == 1) {  // which is its own sum
    auto copy = call;
    copy.kind = update_launch::step::assign;
    copy.arrays = {.before = sum, .after = sum, .n = count};
    if (auto copied = device_.launch(steps_, copy); !copied.ok()) return copied;
    call.arrays.sum = nullptr;
  }
  return device_.launch(steps_, call);
}

// What was queued to be read back is read before a later operation writes the chunk.
status update_queue::wait_for_reads(chunk_index chunk) {
  const auto last = chunks_[chunk].last_read;
  return last > done_ ? device_.wait(steps_, at(last).done) : status();
}

// Among the steps, so that it has its place in their order.
status update_queue::queue_write(const operation& item) {
  auto* to = reinterpret_cast<std::byte*>(memory_.at(item.array));
  if (auto waited = wait_for_reads(item.array.chunk); !waited.ok()) return waited;
  if (auto copy = device_.copy_in(steps_, to, item.memory); !copy.ok()) return copy;
  if (auto recorded = device_.record(steps_, item.inputs_read); !recorded.ok()) return recorded;
  return device_.record(steps_, item.done);
}

status update_queue::queue_read(ticket of) {
  auto& item = at(of);
  const auto* from = reinterpret_cast<const std::byte*>(memory_.at(item.array));
  if (auto recorded = device_.record(steps_, item.ready); !recorded.ok()) return recorded;
  if (!is_planted(planted_bug::device_read_before_the_step))
    if (auto waited = device_.wait(reads_, item.ready); !waited.ok()) return waited;
  if (auto copy = device_.copy_out(reads_, item.memory, from); !copy.ok()) return copy;
  chunks_[item.array.chunk].last_read = of;
  return device_.record(reads_, item.done);
}

completion update_queue::news_of(ticket of, news kind) const {
  return {.of = of, .kind = kind, .outcome = failure_};
}

// Returns true if this news of an operation may be told.
bool update_queue::is_due(ticket of, event end) {
  if (of > submitted_) return false;
  if (failure_.ok() && of > queued_) return false;
  return !failure_.ok() || has_ended(end) || !failure_.ok();
}

std::optional<completion> update_queue::poll() {
  if (is_planted(planted_bug::device_waits_on_the_reactor)) is_ok(device_.synchronize());
  queue_waiting();
  // A read has no inputs.
  while (inputs_read_ < submitted_ && at(inputs_read_ + 1).kind == operation_kind::read)
    ++inputs_read_;
  const auto next = inputs_read_ + 1;
  const bool is_early =
      is_planted(planted_bug::device_gradient_given_back_early) && next <= queued_;
  if (is_early || is_due(next, at(next).inputs_read)) {
    ++inputs_read_;
    return news_of(next, news::inputs_read);
  }
  if (done_ < inputs_read_ && is_due(done_ + 1, at(done_ + 1).done)) {
    ++done_;
    return news_of(done_, news::done);
  }
  return std::nullopt;
}

}  // namespace tidegate::runtime::devices
