// The device that is current on the calling thread. For the .cpp files of this folder.
#pragma once

#include <cuda_runtime_api.h>

namespace tidegate::runtime::devices::cuda {

// Makes the device that is current on this thread so again at the end of a scope: a program's
// next allocation is where it was before.
class current_device {
 public:
  current_device() noexcept : is_known_(cudaGetDevice(&index_) == cudaSuccess) {}
  ~current_device() {
    int now = 0;
    if (is_known_ && cudaGetDevice(&now) == cudaSuccess && now != index_)
      static_cast<void>(cudaSetDevice(index_));
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int index_ = 0;
  bool is_known_;
};

}  // namespace tidegate::runtime::devices::cuda
