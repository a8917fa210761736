// The seam to a device that computes: a GPU (runtime/device/cuda), or threads that behave as
// badly as one may (runtime/device/emulated).
//
// Work goes to streams. A call that queues work returns at once; the work of a stream is done
// in order, that of different streams in any order but where a stream waits for an event. An
// event ends when all work before it on its stream has; the host asks whether it has. What a
// piece of work reads stays as it is, and nobody looks at what it writes, until an event behind
// it has ended.
//
// Thread rule: one thread at a time calls a device and destroys what it gave out. Calls of the
// section "setting up" may wait for the device, and take long. Those of the section "work"
// never wait and allocate nothing.
//
// Errors: unavailable if the device is lost, for whatever reason, now or before. It stays lost:
// nothing queued on it can be relied on, its memory is gone, its streams no longer touch host
// memory, and every later call says so. Others are named at their calls. A mistake of the
// caller (host memory that is not registered, a stream of another device) is an assertion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/device/host_ranges.hpp"
#include "runtime/kernels/row_optimizer.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::devices {

class device;

// Streams and events belong to their device and live as long as it.
enum class stream : std::uint32_t {};
enum class event : std::uint32_t {};

// Owns memory of a device, or a window to that of another process; move-only. The address is
// for the device: a host that touches it dies or reads what is not there.
class device_memory {
 public:
  device_memory() = default;
  device_memory(device& owner, std::byte* data, std::size_t size) noexcept
      : owner_(&owner), data_(data), size_(size) {}
  device_memory(device_memory&& other) noexcept;
  device_memory& operator=(device_memory&& other) noexcept;
  ~device_memory() { reset(); }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }  // aligned to 256 bytes at least
  std::size_t size() const noexcept { return size_; }
  // Gives it back. All work on it has ended.
  void reset() noexcept;

 private:
  device* owner_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Host memory that a device copies from and to: it stays in its pages (pinned). Move-only;
// owns the registration, and the memory, too, if the device allocated it.
class host_memory {
 public:
  enum class origin : std::uint8_t { allocated, registered };

  host_memory() = default;
  host_memory(device& owner, std::span<std::byte> bytes, origin from) noexcept
      : owner_(&owner), bytes_(bytes), origin_(from) {}
  host_memory(host_memory&& other) noexcept;
  host_memory& operator=(host_memory&& other) noexcept;
  ~host_memory() { reset(); }

  explicit operator bool() const noexcept { return !bytes_.empty(); }
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  // Gives it back. All work on it has ended.
  void reset() noexcept;

 private:
  device* owner_ = nullptr;
  std::span<std::byte> bytes_;
  origin origin_ = origin::allocated;
};

// How another process of this host finds memory of the same device: opaque, sent as it is.
struct window_name {
  std::array<std::byte, 96> bytes{};

  friend bool operator==(const window_name&, const window_name&) = default;
};

constexpr std::size_t launch_inputs_max = 64;  // that one launch sums

// A launch of the kernels of runtime/kernels/update.hpp; all arrays are on the device.
struct update_launch {
  enum class step : std::uint8_t {
    update,  // apply_update()
    assign,  // assign_sum(), with gaps if the options are lazy: only then it needs `before`
  };
  step kind = step::update;
  kernels::optimizer options;
  kernels::beta_powers powers;                // before the step
  std::span<const kernels::gradient> inputs;  // 1 to launch_inputs_max; copied by the call
  float scale = 1.0F;
  kernels::chunk_arrays arrays;
};

// One step of these columns of different rows. The list of rows is memory of the device; what
// it names is, too, or is host memory that is registered.
struct row_step_launch {
  row_coefficients step;  // of no plugin's rule
  kernels::row_columns columns;
  const kernels::row_addresses* rows = nullptr;
  std::size_t count = 0;
};

// Copies of so many floats each, to different places; the list likewise.
struct row_copy_launch {
  const kernels::row_copy* rows = nullptr;
  std::size_t count = 0;
  std::size_t floats = 0;
  bool is_aligned = false;  // all places, to 16 bytes; floats are a multiple of 4
};
// Rows times floats of a launch at most (asserted); a row counts as 32 of them at least.
constexpr std::size_t row_launch_floats_max = std::size_t{1} << 31;

// Whether host memory may be written by a device. A read-only mapping must not be.
enum class host_access : std::uint8_t { read_write, read_only };

class device {
 public:
  virtual ~device() = default;  // all memory is back

  // Returns "cuda:0" and the like.
  virtual const std::string& name() const noexcept = 0;
  // Returns true if launches of rows may read and write host memory that is registered, where
  // the host has it.
  virtual bool works_on_host_memory() const noexcept = 0;

  // ---- Setting up.

  // Memory with any contents; bytes >= 1. Errors: io_error (not so much is free).
  virtual expected<device_memory> allocate(std::size_t bytes) = 0;
  // The same, of which no window is ever named: small pieces take little more than their size.
  virtual expected<device_memory> allocate_unshown(std::size_t bytes) = 0;
  // How much there is, and how much of it nobody has taken. A device that is lost has none.
  struct room {
    std::uint64_t bytes = 0;
    std::uint64_t free = 0;
  };
  virtual room memory() = 0;
  // Zeroed memory that is registered. Errors: io_error.
  virtual expected<host_memory> allocate_host(std::size_t bytes) = 0;
  // Registers memory of the caller's, which outlives the registration; ranges that overlap are
  // refused. Errors: io_error; invalid_argument (this device cannot register it).
  virtual expected<host_memory> register_host(std::span<std::byte> bytes,
                                              host_access access) = 0;
  // Errors: io_error (too many).
  virtual expected<stream> make_stream() = 0;
  virtual expected<event> make_event() = 0;
  // Lets a stream of another library in this process be used here: `handle` is its
  // cudaStream_t, 0 that library's default stream. The same handle gives the same stream. Its
  // owner keeps it alive. Errors: invalid_argument (no stream of this device).
  virtual expected<stream> adopt_stream(std::uintptr_t handle) = 0;
  // The name is good while the memory is. Errors: invalid_argument (this device has no windows,
  // or the memory is one).
  virtual expected<window_name> name_window(const device_memory& memory) = 0;
  // Memory of another process, to be read by this one. What is read is what its owner's work
  // has written: the owner says so after an event of its own. The memory stays, as it was
  // written last, as long as the window, also when its owner has ended.
  // Errors: unavailable (another device, the owner has gone or cannot be asked), io_error,
  // corrupt (no name of a window).
  virtual expected<device_memory> open_window(const window_name& name) = 0;
  // Waits until all work has ended. Never called by a reactor's thread.
  virtual status synchronize() = 0;

  // ---- Work.

  // Copies into device memory, from memory that is registered.
  virtual status copy_in(stream on, std::byte* to, std::span<const std::byte> from) = 0;
  // Copies into host memory, which is registered.
  virtual status copy_out(stream on, std::span<std::byte> to, const std::byte* from) = 0;
  // Copies within the device; memory of windows is only copied from.
  virtual status copy(stream on, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // Sets *first, which is on the device, too, to the index of the first of n numbers that is
  // NaN or infinity, or to n or more.
  virtual status find_not_finite(stream on, const float* numbers, std::size_t n,
                                 std::uint64_t* first) = 0;
  // Sets device memory to zero.
  virtual status clear(stream on, std::byte* at, std::size_t bytes) = 0;
  virtual status launch(stream on, const update_launch& call) = 0;
  virtual status step_rows(stream on, const row_step_launch& call) = 0;
  virtual status copy_rows(stream on, const row_copy_launch& call) = 0;
  // The event now stands for all work queued on the stream so far.
  virtual status record(stream on, event end) = 0;
  // Later work of the stream begins after the event has ended, as it was last recorded before
  // this call.
  virtual status wait(stream on, event end) = 0;
  // Returns true if the event has ended; one that was never recorded has.
  virtual expected<bool> has_ended(event end) = 0;

  // Host memory that is registered.
  const host_ranges& registered() const noexcept { return registered_; }

 protected:
  friend class device_memory;
  friend class host_memory;
  // Both also on a lost device.
  virtual void release(std::byte* data, std::size_t size) noexcept = 0;
  virtual void release(std::span<std::byte> bytes, host_memory::origin from) noexcept = 0;

  host_ranges registered_;
};

}  // namespace tidegate::runtime::devices
