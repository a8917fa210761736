// An array of floats as benchmarks want it: private memory on huge pages where the kernel has
// them, touched before anything is timed. Movable; frees itself. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace tidegate::bench {

class huge_array {
 public:
  // All elements are 0. Out of memory ends the process, as with new.
  explicit huge_array(std::size_t elements);
  huge_array(huge_array&& other) noexcept;
  huge_array& operator=(huge_array&& other) noexcept;
  ~huge_array();

  float* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<float> all() const noexcept { return {data_, size_}; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tidegate::bench
