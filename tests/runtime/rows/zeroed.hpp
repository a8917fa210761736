// Memory of a row_index for tests: zero, aligned to a page, appearing as it is touched.
#pragma once

#include <cstddef>
#include <sys/mman.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::tests {

class zeroed {
 public:
  explicit zeroed(std::size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TIDEGATE_ASSERT(data_ != MAP_FAILED, "address space for a test");
  }
  ~zeroed() { ::munmap(data_, bytes_); }
  zeroed(const zeroed&) = delete;
  zeroed& operator=(const zeroed&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace tidegate::runtime::tests
