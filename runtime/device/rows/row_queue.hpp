// Steps and copies of rows on a device, by addresses, one after the other in the order in which
// they are asked for. The caller's thread queues, and asks how far the device has come; it
// never waits.
//
//   q.copy(...), q.step(...), q.read(...)   each returns its ticket
//   q.poll()                                every turn, as long as !q.is_idle()
//
// All work is on one stream. Lists of rows, and floats of the host that the device cannot work
// on, go through a few slots (updates/staging.hpp); what the device can work on, which is its
// own memory and host memory that is registered, it reads and writes where it lies. As many
// operations may wait as are asked for.
//
// When the device is lost, failure() says why, and the queue is of no use any more.
//
// Thread rule: that of the device, which outlives the queue. Operations keep the memory of
// those before, so that nothing allocates once each has been as large as any. The destructor
// waits for what is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/result_slots.hpp"
#include "runtime/device/updates/staging.hpp"
#include "runtime/kernels/row_launch.hpp"
#include "runtime/rows/row_engine.hpp"

namespace tidegate::runtime::devices {

struct row_queue_options {
  std::uint32_t operations_max = 64;  // under way on the device at a time
  // For lists and floats, and as many for results. A piece of work takes one, and most are
  // small.
  std::uint32_t slots = 16;
  std::size_t slot_bytes = std::size_t{256} << 10U;
};

class row_queue {
 public:
  // Errors: those of the device; invalid_argument (it cannot work on memory of the host).
  static expected<std::unique_ptr<row_queue>> make(device& on,
                                                   const row_queue_options& options);
  ~row_queue();
  row_queue(const row_queue&) = delete;
  row_queue& operator=(const row_queue&) = delete;

  // Told of each operation when it is queued. It outlives this, or is taken back with nullptr.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void queued(ticket last) = 0;
  };
  void set_listener(listener* to) noexcept { listener_ = to; }

  // Queues that so many floats be copied, all of which the device can work on; to different
  // places. `owner` is kept until it has ended.
  ticket copy(std::span<const kernels::row_copy> rows, std::size_t floats,
              row_memory_owner owner = {});
  // Queues that the places be set to values[i * floats, (i + 1) * floats), which are copied.
  ticket write(std::span<float* const> to, std::span<const float> values, std::size_t floats);
  // Likewise, to what `owner` keeps as it is until then.
  ticket write(std::span<float* const> to, const float* values, std::size_t floats,
               row_memory_owner owner);
  // Queues that memory of the device be zero.
  ticket clear(std::span<std::byte> memory);
  // Queues that out[i * floats, (i + 1) * floats) be set, for each place that is not null, on
  // the host.
  ticket read(std::span<const float* const> from, std::size_t floats, float* out,
              row_memory_owner owner);
  // Queues a step of all segments of different rows. Gradients, of so many floats, that the
  // device can work on are read there, until the step has ended; others are copied.
  ticket step(std::span<const row_engine::segment> segments,
              std::span<const kernels::row_addresses> rows, std::size_t floats);

  // Waits until nothing is under way, and lets go of all owners. What waits is not done, nor
  // told of, and nothing is queued any more.
  void stop();
  // Gives the device what waits and what it has room for; looks what has ended.
  void poll();

  ticket submitted() const noexcept { return submitted_; }  // the last; 0: none yet
  ticket done() const noexcept { return done_; }            // likewise
  bool is_idle() const noexcept { return done_ == submitted_; }
  const status& failure() const noexcept { return failure_; }
  // Returns true if the device can work on it: memory of the host that is registered.
  bool can_reach(std::span<const std::byte> memory) const noexcept {
    return device_.registered().holds(memory);
  }

 private:
  enum class operation_kind : std::uint8_t { copy, write, read, step, clear };
  struct operation {
    operation_kind kind = operation_kind::copy;
    std::size_t floats = 0;  // of a row
    std::vector<kernels::row_copy> copies;
    std::vector<kernels::row_addresses> steps;
    std::vector<std::uint8_t> is_staged;  // steps[i].gradient is the next of `values`
    std::vector<float> values;            // that are copied by the call
    const float* source = nullptr;        // of a write
    std::span<std::byte> cleared;
    std::vector<row_engine::segment> segments;
    row_memory_owner owner;
    float* out = nullptr;
    std::size_t queued = 0;  // rows
    std::size_t staged = 0;  // of `values`
    std::size_t copied = 0;  // rows of a read that are on the host
    event done{};
  };

  explicit row_queue(device& on) : device_(on) {}

  ticket submit();
  operation& next_operation(operation_kind kind, std::size_t floats);
  operation& next_write(std::span<float* const> to, std::size_t floats);
  operation& at(ticket of) { return *operations_[of % operations_.size()]; }
  void grow();
  std::size_t rows_of(const operation& item) const noexcept;
  static std::size_t rows_at_a_time(const operation& item) noexcept;
  bool is_ok(const status& outcome);
  bool has_ended(event end);
  bool queue_next(operation& item);
  bool queue_copies(operation& item, staging::slot& slot);
  bool queue_writes(operation& item, staging::slot& slot);
  bool queue_reads(operation& item, staging::slot& slot);
  bool queue_steps(operation& item, staging::slot& slot);
  bool launch_copies(const staging::slot& slot, std::size_t bytes, std::size_t count,
                     std::size_t floats);
  bool bring(const staging::slot& slot, std::size_t bytes);
  void take_results();

  device& device_;
  stream work_{};
  std::vector<std::unique_ptr<operation>> operations_;  // a ring, by ticket
  std::vector<event> events_;                           // a ring of operations_max
  std::unique_ptr<staging> staging_;
  std::unique_ptr<result_slots> results_;
  ticket submitted_ = 0;
  ticket queued_ = 0;
  ticket done_ = 0;
  status failure_;
  bool is_stopped_ = false;
  listener* listener_ = nullptr;
};

}  // namespace tidegate::runtime::devices
