// Memory of a GPU that can be shown to other processes of the host, by the driver's management
// of virtual memory (CUDA Driver API, "Virtual Memory Management"). A file descriptor stands
// for it. The driver keeps the memory until nobody has it mapped and nobody has a handle or
// a descriptor of it: a process that has imported it reads it also when its owner was killed.
//
// The driver's functions are looked for at run time, so that nothing links libcuda.so.1. The
// GPU is current on the thread that calls; one thread at a time, that of the device.
#pragma once

#include <cstddef>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <vector>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime::devices::cuda {

class shared_memory {
 public:
  // An error, and the call that had it. Errors of the driver and of the runtime have the same
  // numbers.
  struct outcome {
    cudaError_t error = cudaSuccess;
    const char* call = "";
  };

  explicit shared_memory(int gpu);
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  // Returns false if the driver or the GPU cannot do it: then nothing below may be called but
  // has() and is_window().
  bool is_supported() const noexcept { return granularity_ > 0; }

  // Allocates memory to be read and written. Gives everything back where it fails.
  outcome allocate(std::size_t bytes, std::byte** data);
  // Returns the descriptor that stands for memory of allocate(), the same at each call. It is
  // closed when the memory is released.
  outcome share(const std::byte* data, int* descriptor);
  // Maps the memory of another process, to be read. The caller keeps the descriptor, which may
  // be closed at once.
  outcome open(int descriptor, std::size_t bytes, std::byte** data);
  // Gives memory of allocate() or open() back, also on a lost GPU.
  void release(std::byte* data) noexcept;

  bool has(const std::byte* data) const noexcept { return find(data) < blocks_.size(); }
  bool is_window(const std::byte* data) const noexcept;

 private:
  struct driver_calls {
    PFN_cuDeviceGet_v2000 device_get = nullptr;
    PFN_cuDeviceGetAttribute_v2000 device_attribute = nullptr;
    PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
    PFN_cuMemCreate_v10020 create = nullptr;
    PFN_cuMemRelease_v10020 release = nullptr;
    PFN_cuMemAddressReserve_v10020 reserve = nullptr;
    PFN_cuMemAddressFree_v10020 free = nullptr;
    PFN_cuMemMap_v10020 map = nullptr;
    PFN_cuMemUnmap_v10020 unmap = nullptr;
    PFN_cuMemSetAccess_v10020 set_access = nullptr;
    PFN_cuMemExportToShareableHandle_v10020 export_handle = nullptr;
    PFN_cuMemImportFromShareableHandle_v10020 import_handle = nullptr;
  };
  struct block {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;
    std::size_t bytes = 0;  // a multiple of the granularity
    bool is_window = false;
    unique_fd descriptor;  // since the first share()
  };

  bool find_calls();
  bool has_attribute(CUdevice_attribute attribute) const;
  std::size_t find(const std::byte* data) const noexcept;
  // Gives the handle of the block addresses, or gives the handle back.
  outcome map(block mapped, std::byte** data);
  CUresult let_access(const block& mapped) const;

  int gpu_;
  driver_calls calls_;
  CUmemAllocationProp properties_{};
  std::size_t granularity_ = 0;  // 0: it is not supported
  std::vector<block> blocks_;
};

}  // namespace tidegate::runtime::devices::cuda
