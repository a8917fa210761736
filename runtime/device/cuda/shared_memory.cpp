#include "runtime/device/cuda/shared_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <utility>

namespace tidegate::runtime::devices::cuda {

namespace {

constexpr auto kind = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr std::size_t bytes_max = std::size_t{1} << 48;  // addresses of a process

// Finds a function of the driver as it was in CUDA 10.2, which has all that are asked for.
template <class Call>
bool find_call(const char* name, Call& call) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  const auto error =
      cudaGetDriverEntryPointByVersion(name, &found, 10'020, cudaEnableDefault, nullptr);
#else
  const auto error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr);
#endif
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  call = reinterpret_cast<Call>(found);
  return error == cudaSuccess && found != nullptr;
}

shared_memory::outcome result_of(CUresult error, const char* call) {
  return {static_cast<cudaError_t>(error), call};
}

std::byte* pointer_to(CUdeviceptr at) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at));
}

}  // namespace

shared_memory::shared_memory(int gpu) : gpu_(gpu) {
  properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties_.requestedHandleTypes = kind;
  properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties_.location.id = gpu;
  std::size_t granularity = 0;
  if (find_calls() && has_attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
      has_attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) &&
      calls_.granularity(&granularity, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
          CUDA_SUCCESS)
    granularity_ = granularity;
}

bool shared_memory::find_calls() {
  return find_call("cuDeviceGet", calls_.device_get) &&
         find_call("cuDeviceGetAttribute", calls_.device_attribute) &&
         find_call("cuMemGetAllocationGranularity", calls_.granularity) &&
         find_call("cuMemCreate", calls_.create) && find_call("cuMemRelease", calls_.release) &&
         find_call("cuMemAddressReserve", calls_.reserve) &&
         find_call("cuMemAddressFree", calls_.free) && find_call("cuMemMap", calls_.map) &&
         find_call("cuMemUnmap", calls_.unmap) &&
         find_call("cuMemSetAccess", calls_.set_access) &&
         find_call("cuMemExportToShareableHandle", calls_.export_handle) &&
         find_call("cuMemImportFromShareableHandle", calls_.import_handle);
}

bool shared_memory::has_attribute(CUdevice_attribute attribute) const {
  CUdevice device = 0;
  int value = 0;
  return calls_.device_get(&device, gpu_) == CUDA_SUCCESS &&
         calls_.device_attribute(&value, attribute, device) == CUDA_SUCCESS && value != 0;
}

shared_memory::outcome shared_memory::allocate(std::size_t bytes, std::byte** data) {
  if (bytes > bytes_max) return {cudaErrorMemoryAllocation, "cuMemCreate"};
  block fresh;
  fresh.bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  const auto error = calls_.create(&fresh.handle, fresh.bytes, &properties_, 0);
  if (error != CUDA_SUCCESS) return result_of(error, "cuMemCreate");
  return map(std::move(fresh), data);
}

shared_memory::outcome shared_memory::open(int descriptor, std::size_t bytes,
                                           std::byte** data) {
  if (bytes > bytes_max) return {cudaErrorMemoryAllocation, "cuMemAddressReserve"};
  block window;
  window.bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  window.is_window = true;
  auto* const theirs = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  const auto error = calls_.import_handle(&window.handle, theirs, kind);
  if (error != CUDA_SUCCESS) return result_of(error, "cuMemImportFromShareableHandle");
  return map(std::move(window), data);
}

shared_memory::outcome shared_memory::map(block mapped, std::byte** data) {
  auto failed =
      result_of(calls_.reserve(&mapped.at, mapped.bytes, 0, 0, 0), "cuMemAddressReserve");
  if (failed.error == cudaSuccess) {
    failed = result_of(calls_.map(mapped.at, mapped.bytes, 0, mapped.handle, 0), "cuMemMap");
    if (failed.error == cudaSuccess) {
      failed = result_of(let_access(mapped), "cuMemSetAccess");
      if (failed.error == cudaSuccess) {
        *data = pointer_to(mapped.at);
        blocks_.push_back(std::move(mapped));
        return {};
      }
      static_cast<void>(calls_.unmap(mapped.at, mapped.bytes));
    }
    static_cast<void>(calls_.free(mapped.at, mapped.bytes));
  }
  static_cast<void>(calls_.release(mapped.handle));
  return failed;
}

// CUDA does not promise that memory of the own GPU can be mapped for reading alone. Nobody
// writes to a window (device.hpp).
CUresult shared_memory::let_access(const block& mapped) const {
  CUmemAccessDesc access{};
  access.location = properties_.location;
  if (mapped.is_window) {
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    const auto error = calls_.set_access(mapped.at, mapped.bytes, &access, 1);
    if (error != CUDA_ERROR_NOT_SUPPORTED && error != CUDA_ERROR_INVALID_VALUE) return error;
  }
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return calls_.set_access(mapped.at, mapped.bytes, &access, 1);
}

shared_memory::outcome shared_memory::share(const std::byte* data, int* descriptor) {
  auto& shown = blocks_.at(find(data));
  if (!shown.descriptor) {
    int exported = -1;
    const auto error = calls_.export_handle(&exported, shown.handle, kind, 0);
    if (error != CUDA_SUCCESS) return result_of(error, "cuMemExportToShareableHandle");
    // A program that this process starts would keep the memory.
    static_cast<void>(::fcntl(exported, F_SETFD, FD_CLOEXEC));
    shown.descriptor = unique_fd(exported);
  }
  *descriptor = shown.descriptor.get();
  return {};
}

void shared_memory::release(std::byte* data) noexcept {
  const auto found = blocks_.begin() + static_cast<std::ptrdiff_t>(find(data));
  if (found == blocks_.end()) return;
  static_cast<void>(calls_.unmap(found->at, found->bytes));
  static_cast<void>(calls_.free(found->at, found->bytes));
  static_cast<void>(calls_.release(found->handle));
  blocks_.erase(found);
}

bool shared_memory::is_window(const std::byte* data) const noexcept {
  const auto index = find(data);
  return index < blocks_.size() && blocks_[index].is_window;
}

// Returns blocks_.size() for memory that is not in them.
std::size_t shared_memory::find(const std::byte* data) const noexcept {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [data](const block& known) {
    return pointer_to(known.at) == data;
  });
  return static_cast<std::size_t>(found - blocks_.begin());
}

}  // namespace tidegate::runtime::devices::cuda
