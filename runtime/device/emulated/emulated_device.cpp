#include "runtime/device/emulated/emulated_device.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr auto page = std::align_val_t{segment::page_bytes};
constexpr std::array<char, 8> window_tag = {'e', 'm', 'u', 'l', 'a', 't', 'e', 'd'};

struct window_fields {
  std::array<char, 8> tag = window_tag;
  std::uint32_t index = 0;
  std::uint32_t unused = 0;
  segment_name pages;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(window_fields) <= sizeof(window_name::bytes));

}  // namespace

emulated_device::emulated_device(const emulated_options& options)
    : options_(options),
      name_("emulated:" + std::to_string(options.index)),
      polls_(stream_key(options.seed, "polls")),
      poll_ns_max_(2 + std::max({options.most.delay_ns, options.most.duration_ns,
                                 options.most.news_ns}) /
                           8),
      memory_(options.memory_bytes),
      schedule_(stream_key(options.seed, "schedule"), options.most) {
  if (options_.paced_by == emulated_options::pace::thread)
    thread_ = start_service_thread([this] { run_thread(); });
}

emulated_device::~emulated_device() {
  {
    const guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t emulated_device::now() const {
  if (options_.paced_by == emulated_options::pace::caller) return virtual_now_;
  const auto passed = std::chrono::steady_clock::now() - began_;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
}

bool emulated_device::is_allocation_failed() noexcept {
  return allocations_left_ > 0 && --allocations_left_ == 0;
}

expected<device_memory> emulated_device::allocate(std::size_t bytes) {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  if (is_allocation_failed())
    return fail(errc::io_error, name_ + ": out of memory, as it was told to be");
  const auto data = memory_.allocate(bytes);
  if (!data) return fail(data.error().code(), name_ + ": " + data.error().message());
  return device_memory(*this, *data, bytes);
}

device::room emulated_device::memory() {
  const guard lock(mutex_);
  if (!lost_.ok()) return {};
  return {.bytes = options_.memory_bytes,
          .free = options_.memory_bytes - std::min(options_.memory_bytes, memory_.bytes_out())};
}

expected<host_memory> emulated_device::allocate_host(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "memory has a size");
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  auto* data = is_allocation_failed()
                   ? nullptr
                   : static_cast<std::byte*>(::operator new(bytes, page, std::nothrow));
  if (data == nullptr)
    return fail(errc::io_error, name_ + ": no host memory for " + std::to_string(bytes) +
                                    " bytes that stay in their pages");
  std::memset(data, 0, bytes);
  registered_.add({data, bytes});
  return host_memory(*this, {data, bytes}, host_memory::origin::allocated);
}

expected<host_memory> emulated_device::register_host(std::span<std::byte> bytes, host_access) {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  if (is_allocation_failed())
    return fail(errc::io_error, name_ + ": host memory cannot be registered, as it was told");
  if (bytes.empty() || registered_.overlaps(bytes) ||
      memory_.overlaps(bytes.data(), bytes.size()))
    return fail(errc::invalid_argument,
                name_ + ": host memory is empty, registered already, or not the host's");
  registered_.add(bytes);
  return host_memory(*this, bytes, host_memory::origin::registered);
}

expected<stream> emulated_device::make_stream() {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  return schedule_.add_stream();
}

expected<event> emulated_device::make_event() {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  return schedule_.add_event();
}

expected<stream> emulated_device::adopt_stream(std::uintptr_t handle) {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  if (handle == 0) {
    if (!default_stream_) default_stream_ = schedule_.add_stream();
    return *default_stream_;
  }
  const auto known = static_cast<stream>(handle - 1);
  if (!schedule_.has(known))
    return fail(errc::invalid_argument,
                name_ + ": " + std::to_string(handle) + " is no stream of it");
  return known;
}

expected<window_name> emulated_device::name_window(const device_memory& memory) {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  const auto* pages = memory_.name_of(memory.data());
  if (pages == nullptr)
    return fail(errc::invalid_argument,
                name_ + ": a window into a window, or into memory of another device");
  window_fields fields;
  fields.index = options_.index;
  fields.pages = *pages;
  fields.bytes = memory.size();
  window_name name;
  std::memcpy(name.bytes.data(), &fields, sizeof fields);
  return name;
}

expected<device_memory> emulated_device::open_window(const window_name& name) {
  const guard lock(mutex_);
  if (!lost_.ok()) return fail(lost_);
  window_fields fields;
  std::memcpy(&fields, name.bytes.data(), sizeof fields);
  if (fields.tag != window_tag)
    return fail(errc::corrupt, name_ + ": this is not the name of a window");
  if (fields.index != options_.index)
    return fail(errc::unavailable,
                name_ + ": the window is one of emulated:" + std::to_string(fields.index) +
                    "; use the same device in both processes");
  const auto data = memory_.open(fields.pages, fields.bytes);
  if (!data) return fail(data.error().code(), name_ + ": " + data.error().message());
  return device_memory(*this, *data, fields.bytes);
}

void emulated_device::release(std::byte* data, std::size_t) noexcept {
  guard lock(mutex_);
  changed_.wait(lock, [&] { return !is_working_; });
  memory_.release(data);
}

void emulated_device::release(std::span<std::byte> bytes, host_memory::origin from) noexcept {
  guard lock(mutex_);
  changed_.wait(lock, [&] { return !is_working_; });
  registered_.remove(bytes);
  if (from == host_memory::origin::allocated) ::operator delete(bytes.data(), page);
}

status emulated_device::synchronize() {
  guard lock(mutex_);
  ++waits_;
  if (options_.paced_by == emulated_options::pace::thread) {
    changed_.wait(lock, [&] { return !lost_.ok() || schedule_.is_idle(); });
    changed_.wait(lock, [&] { return !is_working_; });
    return lost_;
  }
  while (lost_.ok() && !schedule_.is_idle()) {
    const auto due = schedule_.next_due();
    TIDEGATE_ASSERT(due, "no stream waits for ever");
    run_until(std::max(virtual_now_, *due));
  }
  return lost_;
}

status emulated_device::submit(stream on, const work& item) {
  {
    const guard lock(mutex_);
    if (!lost_.ok()) return lost_;
    if (item.kind == work_kind::copy_in)
      TIDEGATE_ASSERT(registered_.holds({item.from, item.bytes}), "host memory is registered");
    if (item.kind == work_kind::copy_out)
      TIDEGATE_ASSERT(registered_.holds({item.to, item.bytes}), "host memory is registered");
    schedule_.submit(on, item, now());
  }
  changed_.notify_all();
  return {};
}

status emulated_device::copy_in(stream on, std::byte* to, std::span<const std::byte> from) {
  next_.kind = work_kind::copy_in;
  next_.to = to;
  next_.from = from.data();
  next_.bytes = from.size();
  return submit(on, next_);
}

status emulated_device::copy_out(stream on, std::span<std::byte> to, const std::byte* from) {
  next_.kind = work_kind::copy_out;
  next_.to = to.data();
  next_.from = from;
  next_.bytes = to.size();
  return submit(on, next_);
}

status emulated_device::copy(stream on, std::byte* to, const std::byte* from,
                             std::size_t bytes) {
  next_.kind = work_kind::copy;
  next_.to = to;
  next_.from = from;
  next_.bytes = bytes;
  return submit(on, next_);
}

status emulated_device::find_not_finite(stream on, const float* numbers, std::size_t n,
                                        std::uint64_t* first) {
  next_.kind = work_kind::find;
  next_.to = reinterpret_cast<std::byte*>(first);
  next_.from = reinterpret_cast<const std::byte*>(numbers);
  next_.bytes = n * sizeof(float);
  return submit(on, next_);
}

status emulated_device::clear(stream on, std::byte* at, std::size_t bytes) {
  next_.kind = work_kind::clear;
  next_.to = at;
  next_.from = nullptr;
  next_.bytes = bytes;
  return submit(on, next_);
}

status emulated_device::launch(stream on, const update_launch& call) {
  TIDEGATE_ASSERT(!call.inputs.empty() && call.inputs.size() <= launch_inputs_max,
                  "a launch has inputs, and room for them");
  next_.kind = work_kind::launch;
  next_.launch.call = call;
  next_.launch.call.inputs = {};
  next_.launch.count = call.inputs.size();
  std::copy(call.inputs.begin(), call.inputs.end(), next_.launch.inputs.begin());
  return submit(on, next_);
}

status emulated_device::step_rows(stream on, const row_step_launch& call) {
  TIDEGATE_ASSERT(call.count * std::max(call.columns.columns, 32U) <= row_launch_floats_max,
                  "rows that a launch can count");
  next_.kind = work_kind::step_rows;
  next_.step_rows = call;
  return submit(on, next_);
}

status emulated_device::copy_rows(stream on, const row_copy_launch& call) {
  TIDEGATE_ASSERT(call.count * std::max<std::size_t>(call.floats, 32) <= row_launch_floats_max,
                  "rows that a launch can count");
  next_.kind = work_kind::copy_rows;
  next_.copy_rows = call;
  return submit(on, next_);
}

status emulated_device::record(stream on, event end) {
  next_.kind = work_kind::record;
  next_.end = end;
  return submit(on, next_);
}

status emulated_device::wait(stream on, event end) {
  next_.kind = work_kind::wait;
  next_.end = end;
  return submit(on, next_);
}

expected<bool> emulated_device::has_ended(event end) {
  const guard lock(mutex_);
  if (options_.paced_by == emulated_options::pace::caller)
    run_until(virtual_now_ + polls_.below(poll_ns_max_));
  if (!lost_.ok()) return fail(lost_);
  return schedule_.has_ended(end, now());
}

void emulated_device::advance(std::uint64_t nanoseconds) {
  const guard lock(mutex_);
  TIDEGATE_ASSERT(options_.paced_by == emulated_options::pace::caller,
                  "time of a thread passes by itself");
  run_until(virtual_now_ + nanoseconds);
}

bool emulated_device::is_lost() const {
  const guard lock(mutex_);
  return !lost_.ok();
}

std::uint64_t emulated_device::halves_done() const {
  const guard lock(mutex_);
  return halves_done_;
}

std::uint64_t emulated_device::bytes_out() const {
  const guard lock(mutex_);
  return memory_.bytes_out();
}

void emulated_device::lose() {
  {
    guard lock(mutex_);
    changed_.wait(lock, [&] { return !is_working_; });
    lose_now("it fell off the bus");
  }
  changed_.notify_all();
}

// Called with the mutex.
void emulated_device::lose_now(const std::string& why) {
  if (!lost_.ok()) return;
  lost_ = {errc::unavailable,
           name_ + " is lost: " + why +
               "; what it held is gone, and a process that needs it must start again"};
  schedule_.clear();
  memory_.wipe();
}

// Called with the mutex. Returns false if the work was not the device's to do.
bool emulated_device::take_next() {
  const bool is_ours = task_.take(schedule_.take_next(), memory_, registered_);
  if (!is_ours) lose_now("its work touched memory that is not the device's");
  return is_ours;
}

// Called with the mutex.
void emulated_device::finish_half() {
  if (++halves_done_ == options_.lost_after) lose_now("it fell off the bus");
}

// Called with the mutex; everything happens on the caller's thread.
void emulated_device::run_until(std::uint64_t time) {
  while (lost_.ok()) {
    const auto due = schedule_.next_due();
    if (!due || *due > time) break;
    virtual_now_ = std::max(virtual_now_, *due);
    if (!take_next()) break;
    task_.carry_out();
    finish_half();
  }
  virtual_now_ = std::max(virtual_now_, time);
}

void emulated_device::run_thread() {
  guard lock(mutex_);
  while (!is_ending_) {
    const auto due = lost_.ok() ? schedule_.next_due() : std::nullopt;
    if (!due) {
      changed_.wait(lock);
      continue;
    }
    if (*due > now()) {
      changed_.wait_until(lock, began_ + std::chrono::nanoseconds(*due));
      continue;
    }
    if (take_next()) {
      is_working_ = true;
      lock.unlock();
      task_.carry_out();
      lock.lock();
      is_working_ = false;
      finish_half();
    }
    changed_.notify_all();
  }
}

}  // namespace tidegate::runtime::devices
