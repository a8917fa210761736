#include "tests/runtime/device/cuda/fake_runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <map>
#include <span>
#include <utility>

#include "runtime/kernels/cuda/finite.hpp"
#include "runtime/kernels/cuda/rows.hpp"
#include "runtime/kernels/cuda/update.hpp"
#include "tests/runtime/device/cuda/fake_driver.hpp"

namespace tidegate::tests {

using namespace runtime::devices;

namespace {

constexpr int programs = 1;  // the device that is current between calls of the backend
thread_local int current = programs;

std::map<void*, device_memory> memories;
std::map<void*, host_memory> hosts;

template <class Handle, class Index>
Handle handle_of(Index index) {  // never null
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(index) + 1);
}
stream stream_of(cudaStream_t on) {
  if (on == nullptr) return the_gpu().device->adopt_stream(0).value();
  return static_cast<stream>(reinterpret_cast<std::uintptr_t>(on) - 1);
}
event event_of(cudaEvent_t end) {
  return static_cast<event>(reinterpret_cast<std::uintptr_t>(end) - 1);
}

cudaError_t count(cudaError_t error) {
  if (error != cudaSuccess) ++the_gpu().errors_pending;
  return error;
}
cudaError_t error_of(const runtime::status& outcome) {
  if (outcome.ok()) return cudaSuccess;
  return count(outcome.code() == runtime::errc::io_error ? cudaErrorMemoryAllocation
                                                         : cudaErrorIllegalAddress);
}
template <class Map, class Memory>
cudaError_t keep(Map& map, void* at, runtime::expected<Memory> memory, int& out) {
  if (!memory) return error_of(memory.error());
  map[at] = std::move(*memory);
  ++out;
  return cudaSuccess;
}

cudaError_t launch(const update_launch& call, void* on) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  return error_of(the_gpu().device->launch(stream_of(static_cast<cudaStream_t>(on)), call));
}

}  // namespace

bool is_current() {
  return current == 0;
}

fake_gpu& the_gpu() {
  static fake_gpu gpu;
  return gpu;
}

bool is_programs_device_current() {
  return current == programs;
}

void reset_gpu(const emulated_options& options) {
  memories.clear();
  clear_driver();
  hosts.clear();
  the_gpu() = {};
  the_gpu().device = std::make_unique<emulated_device>(options);
  current = programs;
}

}  // namespace tidegate::tests

using namespace tidegate::tests;
using namespace tidegate::runtime::devices;

cudaError_t cudaSetDevice(int device) {
  if (device != programs && (device < 0 || device >= the_gpu().devices))
    return count(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(the_gpu().errors_pending, 0) > 0 ? cudaErrorUnknown : cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
                                          : "an error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaError";
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = the_gpu().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13'000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* number) {
  *number = the_gpu().devices;
  return the_gpu().devices > 0 ? cudaSuccess : count(cudaErrorNoDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int) {
  std::snprintf(about->name, sizeof about->name, "%s", the_gpu().model.c_str());
  about->major = the_gpu().capability_major;
  about->unifiedAddressing = 1;
  about->hostRegisterReadOnlySupported = 1;
  about->canUseHostPointerForRegisteredMem = the_gpu().works_on_host_memory ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = the_gpu().is_prohibited ? cudaComputeModeProhibited : cudaComputeModeDefault;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  const auto room = the_gpu().device->memory();
  *free = room.free;
  *all = room.bytes;
  return room.bytes > 0 ? cudaSuccess : count(cudaErrorIllegalAddress);
}
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  auto memory = the_gpu().device->allocate(bytes);
  if (memory) *data = memory->data();
  return keep(memories, *data, std::move(memory), the_gpu().memories);
}
cudaError_t cudaFree(void* data) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  if (data == nullptr) return cudaSuccess;
  the_gpu().memories -= static_cast<int>(memories.erase(data));
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  auto memory = the_gpu().device->allocate_host(bytes);
  if (memory) *data = memory->bytes().data();
  return keep(hosts, *data, std::move(memory), the_gpu().registrations);
}
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
  the_gpu().host_register_flags = flags;
  return keep(hosts, data,
              the_gpu().device->register_host({static_cast<std::byte*>(data), bytes},
                                              host_access::read_write),
              the_gpu().registrations);
}
cudaError_t cudaHostUnregister(void* data) {
  the_gpu().registrations -= static_cast<int>(hosts.erase(data));
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  return cudaHostUnregister(data);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* on, unsigned flags) {
  if (!is_current() || flags != cudaStreamNonBlocking) return count(cudaErrorInvalidDevice);
  const auto created = the_gpu().device->make_stream();
  if (!created) return error_of(created.error());
  *on = handle_of<cudaStream_t>(*created);
  ++the_gpu().streams;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* end, unsigned flags) {
  if (!is_current() || flags != cudaEventDisableTiming) return count(cudaErrorInvalidDevice);
  const auto created = the_gpu().device->make_event();
  if (!created) return error_of(created.error());
  *end = handle_of<cudaEvent_t>(*created);
  ++the_gpu().events;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  --the_gpu().streams;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  --the_gpu().events;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t on) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  auto& device = *the_gpu().device;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  if ((kind != cudaMemcpyHostToDevice && !may_read(from)) ||
      (kind != cudaMemcpyDeviceToHost && !may_write(to)))
    return count(cudaErrorIllegalAddress);
  if (kind == cudaMemcpyDeviceToDevice)
    return error_of(device.copy(stream_of(on), target, source, bytes));
  if (kind == cudaMemcpyHostToDevice)
    return error_of(device.copy_in(stream_of(on), target, {source, bytes}));
  if (kind == cudaMemcpyDeviceToHost)
    return error_of(device.copy_out(stream_of(on), {target, bytes}, source));
  return count(cudaErrorInvalidMemcpyDirection);
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t on) {
  if (!is_current() || value != 0) return count(cudaErrorInvalidValue);
  if (!may_write(at)) return count(cudaErrorIllegalAddress);
  return error_of(the_gpu().device->clear(stream_of(on), static_cast<std::byte*>(at), bytes));
}
cudaError_t cudaEventRecord(cudaEvent_t end, cudaStream_t on) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  return error_of(the_gpu().device->record(stream_of(on), event_of(end)));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t end, unsigned) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  return error_of(the_gpu().device->wait(stream_of(on), event_of(end)));
}
cudaError_t cudaEventQuery(cudaEvent_t end) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  const auto ended = the_gpu().device->has_ended(event_of(end));
  if (!ended) return error_of(ended.error());
  return *ended ? cudaSuccess : count(cudaErrorNotReady);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return error_of(the_gpu().device->synchronize());
}

cudaError_t cudaStreamGetFlags(cudaStream_t on, unsigned* flags) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  const auto known = the_gpu().device->adopt_stream(reinterpret_cast<std::uintptr_t>(on));
  if (!known) return count(cudaErrorInvalidResourceHandle);
  *flags = cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
  *function = driver_call(name);
  return cudaSuccess;
}

namespace tidegate::runtime::kernels::cuda {

int queue_update(const optimizer& options, beta_powers& powers,
                 std::span<const gradient> inputs, float scale, const chunk_arrays& arrays,
                 stream_handle stream) {
  update_launch call;
  call.options = options;
  call.powers = powers;
  call.inputs = inputs;
  call.scale = scale;
  call.arrays = arrays;
  return launch(call, stream);
}

int queue_assign(std::span<const gradient> inputs, const chunk_arrays& arrays, gaps where,
                 stream_handle stream) {
  update_launch call;
  call.kind = update_launch::step::assign;
  call.options.lazy = where == gaps::possible;
  call.inputs = inputs;
  call.arrays = arrays;
  return launch(call, stream);
}

int queue_find_not_finite(const float* numbers, std::size_t n, std::uint64_t* first,
                          stream_handle stream) {
  if (!is_current()) return count(cudaErrorInvalidDevice);
  if (!may_read(numbers) || !may_write(first)) return count(cudaErrorIllegalAddress);
  return error_of(the_gpu().device->find_not_finite(
      stream_of(static_cast<cudaStream_t>(stream)), numbers, n, first));
}

int queue_row_step(const row_constants& constants, const row_columns& columns,
                   const row_addresses* rows, std::size_t count, stream_handle stream) {
  if (!is_current()) return tidegate::tests::count(cudaErrorInvalidDevice);
  row_step_launch call{.columns = columns, .rows = rows, .count = count};
  const auto& options = constants.options;
  call.step.kind = options.kind;
  call.step.row = constants.row;
  call.step.dense = {.kind = options.kind,
                     .rate = constants.rates.rate,
                     .scale = constants.scale,
                     .limit = options.clip_value,
                     .beta1 = options.beta1,
                     .beta2 = options.beta2,
                     .epsilon = options.epsilon,
                     .kept = constants.rates.kept,
                     .l1 = options.l1,
                     .l2 = options.l2};
  return error_of(
      the_gpu().device->step_rows(stream_of(static_cast<cudaStream_t>(stream)), call));
}

int queue_row_copy(const row_copy* rows, std::size_t count, std::size_t floats, bool is_aligned,
                   stream_handle stream) {
  if (!is_current()) return tidegate::tests::count(cudaErrorInvalidDevice);
  return error_of(the_gpu().device->copy_rows(
      stream_of(static_cast<cudaStream_t>(stream)),
      {.rows = rows, .count = count, .floats = floats, .is_aligned = is_aligned}));
}

}  // namespace tidegate::runtime::kernels::cuda
