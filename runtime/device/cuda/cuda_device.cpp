#include "runtime/device/cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>
#include <cuda_runtime_api.h>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/device/cuda/current_device.hpp"
#include "runtime/device/cuda/gpu.hpp"
#include "runtime/device/cuda/gpu_query.hpp"
#include "runtime/device/cuda/window_fields.hpp"
#include "runtime/process/borrowed_descriptor.hpp"

namespace tidegate::runtime::devices::cuda {

cuda_device::~cuda_device() {
  const current_device programs;
  if (cudaSetDevice(index_) != cudaSuccess) return;
  for (auto* end : events_) static_cast<void>(cudaEventDestroy(end));
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (!is_adopted(static_cast<stream>(i))) static_cast<void>(cudaStreamDestroy(streams_[i]));
}

bool cuda_device::enter() {
  return lost_.ok() && check(cudaSetDevice(index_), "cudaSetDevice").ok();
}

status cuda_device::check(cudaError_t error, const char* call) {
  if (error == cudaSuccess || !lost_.ok()) return lost_;
  lost_ = {errc::unavailable, name_ + " is lost: " + call + ": " + cudaGetErrorString(error) +
                                  " (" + cudaGetErrorName(error) +
                                  "); see dmesg for Xid messages. What it held is gone, and a "
                                  "process that needs it must start again"};
  return lost_;
}

// Of a call that failed for want of memory, which is no error of later calls.
status cuda_device::short_of(const std::string& kind, std::size_t bytes) {
  static_cast<void>(cudaGetLastError());
  return {errc::io_error, name_ + ": no " + kind + " for " + std::to_string(bytes) + " bytes"};
}

cudaStream_t cuda_device::handle(stream on) const {
  TIDEGATE_ASSERT(static_cast<std::size_t>(on) < streams_.size(), "a stream of this device");
  return streams_[static_cast<std::size_t>(on)];
}

cudaEvent_t cuda_device::handle(event end) const {
  TIDEGATE_ASSERT(static_cast<std::size_t>(end) < events_.size(), "an event of this device");
  return events_[static_cast<std::size_t>(end)];
}

// Memory that can be shown where the GPU has any, and otherwise memory as every library has it.
expected<device_memory> cuda_device::allocate(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "memory has a size");
  const current_device programs;
  if (!enter()) return fail(lost_);
  std::byte* data = nullptr;
  shared_memory::outcome taken{cudaErrorNotSupported, ""};
  if (shared_.is_supported()) taken = shared_.allocate(bytes, &data);
  if (taken.error == cudaErrorNotSupported || taken.error == cudaErrorNotPermitted) {
    void* plain = nullptr;
    taken = {cudaMalloc(&plain, bytes), "cudaMalloc"};
    data = static_cast<std::byte*>(plain);
  }
  if (taken.error == cudaErrorMemoryAllocation) return fail(short_of("device memory", bytes));
  if (auto outcome = check(taken.error, taken.call); !outcome.ok()) return fail(outcome);
  return device_memory(*this, data, bytes);
}

expected<device_memory> cuda_device::allocate_unshown(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "memory has a size");
  const current_device programs;
  if (!enter()) return fail(lost_);
  void* data = nullptr;
  const auto error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) return fail(short_of("device memory", bytes));
  if (auto outcome = check(error, "cudaMalloc"); !outcome.ok()) return fail(outcome);
  return device_memory(*this, static_cast<std::byte*>(data), bytes);
}

device::room cuda_device::memory() {
  const current_device programs;
  std::size_t free = 0, all = 0;
  if (!enter() || !check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo").ok()) return {};
  return {.bytes = all, .free = free};
}

expected<host_memory> cuda_device::allocate_host(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "memory has a size");
  const current_device programs;
  if (!enter()) return fail(lost_);
  void* data = nullptr;
  const auto error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) return fail(short_of("pinned host memory", bytes));
  if (auto outcome = check(error, "cudaHostAlloc"); !outcome.ok()) return fail(outcome);
  std::memset(data, 0, bytes);
  const std::span memory(static_cast<std::byte*>(data), bytes);
  registered_.add(memory);
  return host_memory(*this, memory, host_memory::origin::allocated);
}

expected<host_memory> cuda_device::register_host(std::span<std::byte> bytes,
                                                 host_access access) {
  const current_device programs;
  if (!enter()) return fail(lost_);
  const bool is_read_only = access == host_access::read_only;
  if (bytes.empty() || registered_.overlaps(bytes) || (is_read_only && !reads_read_only_))
    return fail(errc::invalid_argument,
                name_ +
                    ": host memory is empty, registered already, or read-only, which this "
                    "GPU cannot register");
  const auto flags = cudaHostRegisterPortable | (is_read_only ? cudaHostRegisterReadOnly : 0U);
  const auto error = cudaHostRegister(bytes.data(), bytes.size(), flags);
  if (error == cudaErrorMemoryAllocation)
    return fail(short_of("pages that stay (ulimit -l)", bytes.size()));
  // Nobody depends on it. A device that is lost says so at the next call.
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return fail(errc::invalid_argument,
                name_ + ": host memory cannot be registered: " + cudaGetErrorString(error));
  }
  registered_.add(bytes);
  return host_memory(*this, bytes, host_memory::origin::registered);
}

expected<stream> cuda_device::make_stream() {
  const current_device programs;
  if (!enter()) return fail(lost_);
  cudaStream_t on = nullptr;
  const auto error = cudaStreamCreateWithFlags(&on, cudaStreamNonBlocking);
  if (error == cudaErrorMemoryAllocation) return fail(short_of("room for a stream", 0));
  if (auto outcome = check(error, "cudaStreamCreate"); !outcome.ok()) return fail(outcome);
  streams_.push_back(on);
  return static_cast<stream>(streams_.size() - 1);
}

expected<event> cuda_device::make_event() {
  const current_device programs;
  if (!enter()) return fail(lost_);
  cudaEvent_t end = nullptr;
  const auto error = cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  if (error == cudaErrorMemoryAllocation) return fail(short_of("room for an event", 0));
  if (auto outcome = check(error, "cudaEventCreate"); !outcome.ok()) return fail(outcome);
  events_.push_back(end);
  return static_cast<event>(events_.size() - 1);
}

bool cuda_device::is_adopted(stream on) const {
  return std::find(adopted_.begin(), adopted_.end(), on) != adopted_.end();
}

expected<stream> cuda_device::adopt_stream(std::uintptr_t handle) {
  const current_device programs;
  if (!enter()) return fail(lost_);
  auto* const theirs = reinterpret_cast<cudaStream_t>(handle);
  for (const auto on : adopted_)
    if (streams_[static_cast<std::size_t>(on)] == theirs) return on;
  unsigned flags = 0;
  const auto error = cudaStreamGetFlags(theirs, &flags);
  if (error != cudaSuccess) {  // of a lost device the next call says so, too
    static_cast<void>(cudaGetLastError());
    return fail(errc::invalid_argument,
                name_ + ": " + std::to_string(handle) +
                    " is no stream of it: " + cudaGetErrorString(error));
  }
  streams_.push_back(theirs);
  adopted_.push_back(static_cast<stream>(streams_.size() - 1));
  return adopted_.back();
}

expected<window_name> cuda_device::name_window(const device_memory& memory) {
  const current_device programs;
  if (!enter()) return fail(lost_);
  if (shared_.is_window(memory.data()))
    return fail(errc::invalid_argument, name_ + ": a window into a window");
  const auto refused = [this](const std::string& why) {
    return fail(errc::invalid_argument,
                name_ + " cannot show its memory to other processes: " + why);
  };
  if (!shared_.has(memory.data()))
    return refused("the GPU or its driver has no virtual memory with file descriptors");
  window_fields fields;
  const auto shown = shared_.share(memory.data(), &fields.descriptor);
  if (shown.error != cudaSuccess)  // of a lost device the next call says so, too
    return refused(std::string(shown.call) + ": " + cudaGetErrorString(shown.error));
  let_descriptors_be_borrowed();
  const auto owner = own_mark();
  fields.gpu = uuid_;
  fields.bytes = memory.size();
  fields.pid = owner.pid;
  fields.started = owner.started;
  return encode(fields);
}

expected<device_memory> cuda_device::open_window(const window_name& name) {
  const auto fields = decode_window(name, uuid_, name_);
  if (!fields) return fail(fields.error());
  const current_device programs;
  if (!enter()) return fail(lost_);
  const auto refused = [this](const std::string& why) {
    return fail(errc::unavailable, name_ + ": a window cannot be opened: " + why);
  };
  if (!shared_.is_supported())
    return refused("the GPU or its driver has no virtual memory with file descriptors");
  const auto descriptor = borrow_descriptor({fields->pid, fields->started}, fields->descriptor);
  if (!descriptor) return refused(descriptor.error().message());
  std::byte* data = nullptr;
  const auto opened = shared_.open(descriptor->get(), fields->bytes, &data);
  if (opened.error == cudaErrorMemoryAllocation)
    return fail(short_of("addresses of a window", fields->bytes));
  if (opened.error != cudaSuccess)
    return refused(std::string(opened.call) + ": " + cudaGetErrorString(opened.error) +
                   "; its owner has given the memory back, or ask for a new name");
  return device_memory(*this, data, fields->bytes);
}

// Errors are of no use here: a device that is lost has let go of everything.
void cuda_device::release(std::byte* data, std::size_t) noexcept {
  const current_device programs;
  static_cast<void>(cudaSetDevice(index_));
  if (shared_.has(data))
    shared_.release(data);
  else
    static_cast<void>(cudaFree(data));
}

void cuda_device::release(std::span<std::byte> bytes, host_memory::origin from) noexcept {
  registered_.remove(bytes);
  const current_device programs;
  static_cast<void>(cudaSetDevice(index_));
  if (from == host_memory::origin::allocated)
    static_cast<void>(cudaFreeHost(bytes.data()));
  else
    static_cast<void>(cudaHostUnregister(bytes.data()));
}

status cuda_device::synchronize() {
  const current_device programs;
  if (!enter()) return lost_;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (is_adopted(static_cast<stream>(i))) continue;
    if (auto ended = check(cudaStreamSynchronize(streams_[i]), "cudaStreamSynchronize");
        !ended.ok())
      return ended;
  }
  return {};
}

status check_gpu(std::uint32_t index) {
  const auto about = ask_gpu(index);
  return about ? status() : about.error();
}

expected<std::unique_ptr<device>> open_gpu(std::uint32_t index) {
  const auto asked = ask_gpu(index);
  if (!asked) return fail(asked.error());
  const auto& about = *asked;
  const current_device programs;
  auto error = cudaSetDevice(static_cast<int>(index));  // begins the context
  if (error == cudaSuccess) error = cudaFree(nullptr);  // of older CUDAs: only this does
  if (error != cudaSuccess) return fail(cannot_open(index, error));
  return std::make_unique<cuda_device>(index, about);
}

}  // namespace tidegate::runtime::devices::cuda
