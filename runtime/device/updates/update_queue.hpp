// Optimizer steps on a device: parameters and optimizer state of a shard's chunks live there,
// gradients are read where they are (device memory, windows) or brought there in pieces, and
// what the host needs is read back. The caller's thread queues, and asks what has ended; it
// never waits.
//
//   q.step(...), q.read(...), q.write(...)   each returns its ticket
//   while (auto news = q.poll()) ...         every turn, as long as !q.is_idle()
//
// Operations take effect as if done one after another in the order of their tickets. They are
// told of in that order, too: each ticket's inputs_read before its done, inputs_read in order
// of tickets, and done in order of tickets. What an operation reads on the host, or in a
// window, stays as it is until its inputs_read; nobody looks at what it writes on the host
// before its done.
//
// When the device is lost, every operation that has not been told of, and every later one, is
// told of as failed, in the same order, so that memory comes back the same way. failure() says
// why; the queue is of no use any more.
//
// As many operations may wait as are asked for; so many of them are under way on the device
// that its driver need not block. poll() gives them to the device: steps that follow each
// other, of chunks side by side with gradients side by side on the device, become one launch.
//
// Thread rule: that of the device, which outlives the queue. Once warm, nothing allocates. The
// destructor waits for what is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/limits.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/chunk_memory.hpp"
#include "runtime/device/updates/requests.hpp"
#include "runtime/device/updates/result_slots.hpp"
#include "runtime/device/updates/staging.hpp"

namespace tidegate::runtime::devices {

struct queue_options {
  std::uint32_t operations_max = 64;  // under way on the device at a time
  std::uint32_t slots = 4;            // for gradients of the host, and as many for results
  std::size_t slot_bytes = std::size_t{4} << 20;
  // Above 0 the device's memory is a cache of so many bytes for chunks, the largest of which
  // has so many. What it lacks room for is in memory of the host, and brought ahead of its use.
  std::uint64_t cache_bytes = 0;
  std::uint64_t chunk_bytes_max = 0;
};

// The least cache_bytes for chunks of so many bytes.
constexpr std::uint64_t cache_bytes_min(std::uint64_t chunk_bytes_max) {
  return limits::device_chunks_min * chunk_bytes_max;
}

class update_queue {
 public:
  // May wait for the device. Errors: those of the device.
  static expected<std::unique_ptr<update_queue>> make(device& on, const queue_options& options);
  ~update_queue();
  update_queue(const update_queue&) = delete;
  update_queue& operator=(const update_queue&) = delete;

  // ---- Setting up: may wait for the device.

  // Makes chunks whose arrays are zero, and returns the first one's index; the others follow.
  // Errors: io_error (the device has no room; nothing has changed), unavailable.
  expected<chunk_index> add_table(const table_shape& shape);
  // Takes memory for a version buffer of the chunk's table other than 0, before it is first
  // named; again changes nothing. Errors: io_error (the device has no room), unavailable.
  status prepare(chunk_index chunk, std::uint32_t version_buffer);
  // Lets work of another stream begin when all memory taken so far is zero. Errors:
  // unavailable.
  status settle(stream on);
  // Returns true if it was prepared; version buffer 0 always is.
  bool is_prepared(chunk_index chunk, std::uint32_t version_buffer) const {
    return memory_.is_prepared(chunk, version_buffer);
  }
  // How another process reads the parameters of the table that begins with this chunk: what
  // lies in a version buffer, after the done of the step that wrote it. Errors: those of
  // device::name_window.
  expected<chunk_memory::place> place_of(chunk_index first,
                                         std::uint32_t version_buffer) const {
    return memory_.place_of(first, version_buffer);
  }

  // Returns where an array lies on the device; it stays there, unless it is paged.
  float* address_of(const array_name& array) const { return memory_.at(array); }

  // ---- Work. Never waits.

  // Queues a step. The inputs' descriptions are copied, the gradients are not.
  ticket step(const step_request& request);
  // Queues that an array be set to `from`, which has as many elements. `place` says what memory
  // that is: registered or pageable. `keeps` is let go of when the write is done.
  ticket write(const array_name& array, std::span<const float> from,
               input_place place = input_place::registered,
               std::shared_ptr<const void> keeps = {});
  // Queues that an array be copied to `to`, likewise. What is pageable is written by poll(),
  // before the read is told of as done.
  ticket read(const array_name& array, std::span<float> to,
              input_place place = input_place::registered,
              std::shared_ptr<const void> keeps = {});

  // Gives the device what waits and what it has room for, and returns the next piece of news;
  // nullopt if nothing is new.
  std::optional<completion> poll();

  ticket submitted() const noexcept { return submitted_; }  // the last; 0: none yet
  ticket done() const noexcept { return done_; }            // the last that was told of as done
  bool is_idle() const noexcept { return submitted_ == done_; }
  // So far: pages of a cache that were moved, and steps that were launched with the one before.
  struct counts {
    std::uint64_t pages_moved = 0, steps_joined = 0;
  };
  counts counted() const noexcept { return {memory_.pages_moved(), steps_joined_}; }
  const status& failure() const noexcept { return failure_; }

  // The powers of a chunk's betas after all steps that were queued.
  const kernels::beta_powers& powers(chunk_index chunk) const { return chunks_[chunk].powers; }
  void set_powers(chunk_index chunk, const kernels::beta_powers& powers) {
    chunks_[chunk].powers = powers;
  }

 private:
  enum class operation_kind : std::uint8_t { step, write, read };

  struct operation {
    operation_kind kind = operation_kind::step;
    array_name array;             // write, read
    std::span<std::byte> memory;  // write, read; on the host
    bool is_pageable = false;     // that memory is
    std::shared_ptr<const void> keeps;
    step_request step;            // without inputs
    kernels::beta_powers powers;  // before the step
    std::size_t inputs = 0;
    std::size_t queued = 0;     // elements
    std::size_t copied = 0;     // elements that have reached pageable memory
    bool reads_device = false;  // some gradient lies on the device
    ticket last_of_launch = 0;  // the step whose `done` is recorded, where several are one
  };
  // Of an operation that is under way.
  struct operation_events {
    event inputs_read{};  // of a step whose gradients are all on the host
    event ready{};        // read: the array is as it was then
    event done{};
  };
  struct chunk_state {
    kernels::beta_powers powers;
    ticket last_read = 0;  // that has been queued
  };

  explicit update_queue(device& on) : device_(on), memory_(on) {}
  status set_up(const queue_options& options);

  operation& at(ticket of) { return operations_[(of - 1) % operations_.size()]; }
  const operation_events& events_of(ticket of) const {
    return events_[(of - 1) % events_.size()];
  }
  std::span<step_input> inputs_of(ticket of) {
    return {inputs_.data() + (of - 1) % operations_.size() * launch_inputs_max, at(of).inputs};
  }
  operation& next_operation();
  operation& next_copy(operation_kind kind, const array_name& array, std::size_t elements);
  void grow();

  void queue_waiting();
  bool queue_next(ticket of);
  ticket last_of_launch(ticket first);
  bool queue_steps(ticket first, ticket last);
  status queue_piece(ticket of, staging::slot* slot, std::size_t count);
  status stage(std::span<const step_input> inputs, staging::slot& slot, std::size_t count);
  status launch_piece(const operation& item, std::size_t count);
  status bring(const operation& item);
  bool queue_write(ticket of);
  bool queue_read(ticket of);
  bool begin_read(ticket of);
  bool queue_results(ticket of);
  void take_results();
  status wait_for_reads(chunk_index chunk);

  // What lies on the device has been read when the kernels have ended.
  static bool reads_until_done(const operation& item) {
    return item.kind == operation_kind::write || item.reads_device;
  }
  bool has_ended(event end);
  bool is_due(ticket of, event end);
  bool is_done(ticket of);
  bool is_ok(const status& outcome);
  completion news_of(ticket of, news kind) const;

  device& device_;
  chunk_memory memory_;
  std::vector<chunk_state> chunks_;
  std::optional<staging> staging_;
  std::optional<result_slots> results_;
  stream copies_{}, steps_{}, reads_{};
  event settled_{};
  std::vector<operation> operations_;         // a ring, by ticket
  std::vector<operation_events> events_;      // likewise
  std::vector<step_input> inputs_;            // launch_inputs_max for each
  std::vector<kernels::gradient> gradients_;  // of the piece being queued

  // Tickets: the last that was submitted, that is queued on the device, and whose news is told.
  ticket submitted_ = 0;
  ticket queued_ = 0;
  ticket inputs_read_ = 0;
  ticket done_ = 0;
  std::uint64_t steps_joined_ = 0;
  status failure_;
};

}  // namespace tidegate::runtime::devices
