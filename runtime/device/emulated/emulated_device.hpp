// A device without a GPU, for tests and for machines that have none: as slow, as late and as
// touchy as a GPU may be. It computes with runtime/kernels, so its bits are a GPU's and a
// CPU's.
//
// - Its memory has addresses that the host cannot touch (address_space.hpp).
// - Its streams begin and end their work late by draws of a seed, and the host hears of events
//   later still (schedule.hpp). Work takes effect in halves, so that who does not wait for it
//   meets half of it.
// - Its memory has an end, and allocations fail when they are told to.
// - It can be lost: by lose(), after so much work, or because work touched what is not its own.
//
// Paced by a thread, it works beside its caller. Paced by its caller, it works inside
// has_ended(), advance() and synchronize(), in virtual time: then one seed and the same calls
// are the same run, without a thread, and a millisecond of it costs none. Thread rule as
// device.hpp; the section "control" may be called like the rest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/device/device.hpp"
#include "runtime/device/emulated/address_space.hpp"
#include "runtime/device/emulated/schedule.hpp"
#include "runtime/device/emulated/task.hpp"

namespace tidegate::runtime::devices {

struct emulated_options {
  enum class pace : std::uint8_t { thread, caller };

  std::uint32_t index = 0;  // in its name; windows lead to devices of the same index
  std::uint64_t seed = 0;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  lateness most;
  pace paced_by = pace::thread;
  // The device is lost when so many halves of work are done; 0: never.
  std::uint64_t lost_after = 0;
};

class emulated_device final : public device {
 public:
  explicit emulated_device(const emulated_options& options);
  ~emulated_device() override;
  emulated_device(const emulated_device&) = delete;
  emulated_device& operator=(const emulated_device&) = delete;

  const std::string& name() const noexcept override { return name_; }
  bool works_on_host_memory() const noexcept override { return true; }
  expected<device_memory> allocate(std::size_t bytes) override;
  expected<device_memory> allocate_unshown(std::size_t bytes) override {
    return allocate(bytes);
  }
  room memory() override;
  expected<host_memory> allocate_host(std::size_t bytes) override;
  expected<host_memory> register_host(std::span<std::byte> bytes, host_access access) override;
  expected<stream> make_stream() override;
  expected<event> make_event() override;
  // The handle of a stream of this device is its number + 1.
  expected<stream> adopt_stream(std::uintptr_t handle) override;
  expected<window_name> name_window(const device_memory& memory) override;
  expected<device_memory> open_window(const window_name& name) override;
  status synchronize() override;

  status copy_in(stream on, std::byte* to, std::span<const std::byte> from) override;
  status copy_out(stream on, std::span<std::byte> to, const std::byte* from) override;
  status copy(stream on, std::byte* to, const std::byte* from, std::size_t bytes) override;
  status find_not_finite(stream on, const float* numbers, std::size_t n,
                         std::uint64_t* first) override;
  status clear(stream on, std::byte* at, std::size_t bytes) override;
  status launch(stream on, const update_launch& call) override;
  status step_rows(stream on, const row_step_launch& call) override;
  status copy_rows(stream on, const row_copy_launch& call) override;
  status record(stream on, event end) override;
  status wait(stream on, event end) override;
  expected<bool> has_ended(event end) override;

  // ---- Control.

  // The device falls off the bus.
  void lose();
  // The `count`-th call from now on that takes memory fails, 1 being the next.
  void fail_allocation(std::uint64_t count) { allocations_left_ = count; }
  // Lets virtual time pass; only of a device that its caller paces.
  void advance(std::uint64_t nanoseconds);
  // How often synchronize() was called.
  std::uint64_t waits() const noexcept { return waits_; }
  emulated_options::pace paced_by() const noexcept { return options_.paced_by; }
  bool is_lost() const;
  std::uint64_t halves_done() const;
  std::uint64_t bytes_out() const;

 protected:
  void release(std::byte* data, std::size_t size) noexcept override;
  void release(std::span<std::byte> bytes, host_memory::origin from) noexcept override;

 private:
  using guard = std::unique_lock<std::mutex>;

  bool is_allocation_failed() noexcept;
  std::uint64_t now() const;
  status submit(stream on, const work& item);
  bool take_next();
  void run_thread();
  void run_until(std::uint64_t time);
  void finish_half();
  void lose_now(const std::string& why);

  emulated_options options_;
  std::string name_;
  std::uint64_t allocations_left_ = 0;  // until one fails; 0: none does
  std::uint64_t waits_ = 0;
  rng polls_;
  std::uint64_t poll_ns_max_;  // that pass in a has_ended() of the caller's pace
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;  // guards what follows, and registered_ of the base
  std::condition_variable changed_;
  status lost_;
  address_space memory_;
  schedule schedule_;
  std::optional<stream> default_stream_;  // handle 0
  std::uint64_t virtual_now_ = 0;
  std::uint64_t halves_done_ = 0;
  bool is_working_ = false;  // the thread carries out task_, and has let go of the mutex
  bool is_ending_ = false;
  task task_;           // the working thread's
  work next_;           // the caller's, so that a large value is not made anew for each call
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tidegate::runtime::devices
