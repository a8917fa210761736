#include "runtime/device/updates/update_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime::devices {

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
  const auto settled = device_.make_event();
  if (!settled) return settled.error();
  settled_ = *settled;
  if (options.cache_bytes > 0) {
    TIDEGATE_ASSERT(options.cache_bytes >= cache_bytes_min(options.chunk_bytes_max),
                    "a cache has room for the chunks of some operations");
    const auto frames = options.cache_bytes / options.chunk_bytes_max;
    if (auto paged =
            memory_.page({.frame_bytes = options.chunk_bytes_max, .frames_max = frames});
        !paged.ok())
      return paged;
  }
  auto slots = staging::make(device_, options.slots, options.slot_bytes);
  if (!slots) return slots.error();
  staging_.emplace(std::move(*slots));
  auto results = result_slots::make(device_, options.slots, options.slot_bytes);
  if (!results) return results.error();
  results_.emplace(std::move(*results));
  operations_.resize(options.operations_max);
  events_.resize(options.operations_max);
  for (auto& item : events_)
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

status update_queue::prepare(chunk_index chunk, std::uint32_t version_buffer) {
  if (!failure_.ok()) return failure_;
  return memory_.prepare(chunk, version_buffer, steps_);
}

status update_queue::settle(stream on) {
  auto outcome = device_.record(steps_, settled_);
  if (outcome.ok()) outcome = device_.wait(on, settled_);
  return outcome;
}

update_queue::operation& update_queue::next_operation() {
  if (submitted_ - done_ == operations_.size()) grow();
  auto& item = at(submitted_ + 1);
  item.queued = 0;
  item.copied = 0;
  item.inputs = 0;
  item.is_pageable = false;
  item.reads_device = false;
  item.last_of_launch = submitted_ + 1;
  return item;
}

void update_queue::grow() {
  const auto size = operations_.size();
  std::vector<operation> operations(2 * size);
  std::vector<step_input> inputs(2 * size * launch_inputs_max);
  for (auto of = done_ + 1; of <= submitted_; ++of) {
    const auto from = inputs_of(of);
    const auto place = (of - 1) % operations.size();
    std::copy(from.begin(), from.end(),
              inputs.begin() + static_cast<std::ptrdiff_t>(place * launch_inputs_max));
    operations[place] = std::move(at(of));
  }
  operations_ = std::move(operations);
  inputs_ = std::move(inputs);
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
  return ++submitted_;
}

update_queue::operation& update_queue::next_copy(operation_kind kind, const array_name& array,
                                                 std::size_t elements) {
  TIDEGATE_ASSERT(elements == memory_.elements(array.chunk), "as many elements");
  auto& item = next_operation();
  item.kind = kind;
  item.array = array;
  return item;
}

ticket update_queue::write(const array_name& array, std::span<const float> from,
                           input_place place, std::shared_ptr<const void> keeps) {
  auto& item = next_copy(operation_kind::write, array, from.size());
  const auto bytes = std::as_bytes(from);
  item.memory = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  item.is_pageable = place == input_place::pageable;
  item.keeps = std::move(keeps);
  return ++submitted_;
}

ticket update_queue::read(const array_name& array, std::span<float> to, input_place place,
                          std::shared_ptr<const void> keeps) {
  auto& item = next_copy(operation_kind::read, array, to.size());
  item.memory = std::as_writable_bytes(to);
  item.is_pageable = place == input_place::pageable;
  item.keeps = std::move(keeps);
  return ++submitted_;
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

completion update_queue::news_of(ticket of, news kind) const {
  return {.of = of, .kind = kind, .outcome = failure_};
}

// Returns true if this news of an operation may be told.
bool update_queue::is_due(ticket of, event end) {
  if (of > submitted_) return false;
  if (failure_.ok() && of > queued_) return false;
  return !failure_.ok() || has_ended(end) || !failure_.ok();
}

// A read is also done on the host.
bool update_queue::is_done(ticket of) {
  if (!is_due(of, events_of(at(of).last_of_launch).done)) return false;
  const auto& item = at(of);
  const bool waits = item.kind == operation_kind::read && item.is_pageable &&
                     item.copied < memory_.elements(item.array.chunk);
  return !failure_.ok() || !waits ||
         is_planted(planted_bug::device_result_told_before_it_is_there);
}

std::optional<completion> update_queue::poll() {
  if (is_planted(planted_bug::device_waits_on_the_reactor)) is_ok(device_.synchronize());
  take_results();
  // A read has no inputs.
  while (inputs_read_ < submitted_ && at(inputs_read_ + 1).kind == operation_kind::read)
    ++inputs_read_;
  const auto next = inputs_read_ + 1;
  const bool is_early =
      is_planted(planted_bug::device_gradient_given_back_early) && next <= queued_;
  const auto& item = at(next);
  const auto end = reads_until_done(item) ? events_of(item.last_of_launch).done
                                          : events_of(next).inputs_read;
  if (is_early || is_due(next, end)) {
    ++inputs_read_;
    return news_of(next, news::inputs_read);
  }
  if (done_ < inputs_read_ && is_done(done_ + 1)) {
    ++done_;
    at(done_).keeps.reset();
    return news_of(done_, news::done);
  }
  queue_waiting();  // now that all news have made room: steps come together into one launch
  return std::nullopt;
}

}  // namespace tidegate::runtime::devices
