// How operations become work of the device: the queue's own business, below its calls.
#include <algorithm>
#include <cstring>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/device/updates/joined_steps.hpp"
#include "runtime/device/updates/update_queue.hpp"

namespace tidegate::runtime::devices {

void update_queue::queue_waiting() {
  while (failure_.ok() && queued_ < submitted_ && queued_ - done_ < events_.size() &&
         queue_next(queued_ + 1))
    queued_ = at(queued_ + 1).last_of_launch;
}

bool update_queue::queue_next(ticket of) {
  switch (at(of).kind) {
    case operation_kind::step:
      return queue_steps(of, last_of_launch(of));
    case operation_kind::write:
      return queue_write(of);
    case operation_kind::read:
      return queue_read(of);
  }
  return false;
}

ticket update_queue::last_of_launch(ticket first) {
  const auto room = done_ + events_.size();
  const auto step_of = [this](ticket of) {
    const auto& item = at(of);
    return queued_step{item.step, inputs_of(of), item.powers,
                       memory_.elements(item.step.chunk)};
  };
  auto last = first;
  while (last < submitted_ && last < room && at(last + 1).kind == operation_kind::step &&
         memory_.are_side_by_side(at(last).step.chunk, at(last + 1).step.chunk) &&
         are_one_step(step_of(last), step_of(last + 1)))
    ++last;
  return last;
}

// Steps that are one launch have nothing that is staged or paged. Returns false if a step waits
// for a slot.
bool update_queue::queue_steps(ticket first, ticket last) {
  auto& item = at(first);
  const auto inputs = inputs_of(first);
  const bool is_staged = std::any_of(inputs.begin(), inputs.end(), is_on_host);
  std::uint64_t elements = 0;
  for (auto of = first; of <= last; ++of) elements += memory_.elements(at(of).step.chunk);
  while (item.queued < elements) {
    const auto count = staging_->piece_of(inputs, elements - item.queued);
    staging::slot* slot = nullptr;
    if (is_staged) {
      slot = &staging_->next();
      if (!has_ended(slot->consumed)) return false;
      staging_->take();
    }
    for (auto of = first; item.queued == 0 && of <= last; ++of)
      if (!is_ok(wait_for_reads(at(of).step.chunk)) || !is_ok(bring(at(of)))) return false;
    if (!is_ok(queue_piece(first, slot, count))) return false;
    item.queued += count;
  }
  for (auto of = first; of <= last; ++of) at(of).last_of_launch = last;
  steps_joined_ += last - first;
  if (!is_ok(memory_.used(steps_))) return false;
  return (reads_until_done(item) ||
          is_ok(device_.record(copies_, events_of(first).inputs_read))) &&
         is_ok(device_.record(steps_, events_of(last).done));
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
    copy.options.lazy = false;  // gaps are copied like numbers
    copy.arrays = {.before = sum, .after = sum, .n = count};
    if (auto copied = device_.launch(steps_, copy); !copied.ok()) return copied;
    call.arrays.sum = nullptr;
  }
  return device_.launch(steps_, call);
}

// What was queued to be read back is read before a later operation writes the chunk.
status update_queue::wait_for_reads(chunk_index chunk) {
  const auto last = chunks_[chunk].last_read;
  return last > done_ ? device_.wait(steps_, events_of(last).done) : status();
}

// Among the steps, so that it has its place in their order. Returns false if it waits for a
// slot.
bool update_queue::queue_write(ticket of) {
  auto& item = at(of);
  const auto elements = memory_.elements(item.array.chunk);
  while (item.queued < elements) {
    auto count = elements;
    std::span<const std::byte> from = item.memory;
    staging::slot* slot = nullptr;
    if (item.is_pageable) {
      slot = &staging_->next();
      if (!has_ended(slot->consumed)) return false;
      staging_->take();
      count = std::min(elements - item.queued, staging_->slot_bytes() / sizeof(float));
      from = {slot->pinned, count * sizeof(float)};
      std::memcpy(slot->pinned, item.memory.data() + item.queued * sizeof(float), from.size());
    }
    if (item.queued == 0 && (!is_ok(wait_for_reads(item.array.chunk)) || !is_ok(bring(item))))
      return false;
    auto* const to = reinterpret_cast<std::byte*>(memory_.at(item.array));
    if (!is_ok(device_.copy_in(steps_, to + item.queued * sizeof(float), from))) return false;
    if (slot != nullptr && !is_ok(device_.record(steps_, slot->consumed))) return false;
    item.queued += count;
  }
  return is_ok(memory_.used(steps_)) && is_ok(device_.record(steps_, events_of(of).done));
}

// Lets the arrays of an operation be on the device.
status update_queue::bring(const operation& item) {
  using access = chunk_pages::access;
  if (item.kind != operation_kind::step) {
    const chunk_memory::array_use array{
        item.array, item.kind == operation_kind::read ? access::read : access::overwrite};
    return memory_.bring({&array, 1}, steps_);
  }
  const auto& step = item.step;
  chunk_memory::array_use arrays[chunk_pages::wanted_max];
  std::size_t count = 0;
  const auto add = [&](array_kind kind, std::uint32_t copy, access mode) {
    arrays[count++] = {{.chunk = step.chunk, .kind = kind, .copy = copy}, mode};
  };
  const bool in_place = step.from == step.to;
  add(array_kind::parameters, step.from, in_place ? access::update : access::read);
  if (!in_place) add(array_kind::parameters, step.to, access::overwrite);
  const auto states = memory_.states(step.chunk);
  if (states >= 1) add(array_kind::state1, 0, access::update);
  if (states >= 2) add(array_kind::state2, 0, access::update);
  if (step.sum) add(array_kind::sum, *step.sum, access::overwrite);
  return memory_.bring({arrays, count}, steps_);
}

// From here on the array stays as it is until it has been read.
bool update_queue::begin_read(ticket of) {
  if (!is_ok(bring(at(of))) || !is_ok(device_.record(steps_, events_of(of).ready)))
    return false;
  return is_planted(planted_bug::device_read_before_the_step) ||
         is_ok(device_.wait(reads_, events_of(of).ready));
}

// Returns false if it waits for a slot.
bool update_queue::queue_read(ticket of) {
  auto& item = at(of);
  if (item.is_pageable) {
    if (!queue_results(of)) return false;
  } else {
    if (!begin_read(of)) return false;
    const auto* from = reinterpret_cast<const std::byte*>(memory_.at(item.array));
    if (!is_ok(device_.copy_out(reads_, item.memory, from))) return false;
  }
  chunks_[item.array.chunk].last_read = of;
  return is_ok(memory_.used(reads_)) && is_ok(device_.record(reads_, events_of(of).done));
}

// Brings an array into slots, from which take_results() copies it.
bool update_queue::queue_results(ticket of) {
  auto& item = at(of);
  const auto elements = memory_.elements(item.array.chunk);
  while (item.queued < elements) {
    auto* const slot = results_->take();
    if (slot == nullptr || (item.queued == 0 && !begin_read(of))) return false;
    const auto* const from = memory_.at(item.array);
    slot->of = of;
    slot->first = item.queued;
    slot->count = std::min(elements - item.queued, results_->slot_bytes() / sizeof(float));
    if (!is_ok(device_.copy_out(reads_, {slot->pinned, slot->count * sizeof(float)},
                                reinterpret_cast<const std::byte*>(from + item.queued))) ||
        !is_ok(device_.record(reads_, slot->copied)))
      return false;
    item.queued += slot->count;
  }
  return true;
}

void update_queue::take_results() {
  for (auto* slot = results_->oldest(); slot != nullptr; slot = results_->oldest()) {
    if (!has_ended(slot->copied) || !failure_.ok()) return;
    auto& item = at(slot->of);
    std::memcpy(item.memory.data() + slot->first * sizeof(float), slot->pinned,
                slot->count * sizeof(float));
    item.copied += slot->count;
    results_->give_back();
  }
}

}  // namespace tidegate::runtime::devices
