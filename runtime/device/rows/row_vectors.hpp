// Rows lie where kernels can copy them 16 bytes at a time. Pure functions, any thread.
#pragma once

#include <cstddef>

namespace tidegate::runtime::devices {

constexpr std::size_t row_vector_bytes = 16;
constexpr std::size_t row_vector_floats = row_vector_bytes / sizeof(float);

// Returns the least multiple of row_vector_bytes that is not less.
constexpr std::size_t whole_vectors(std::size_t bytes) noexcept {
  return (bytes + row_vector_bytes - 1) / row_vector_bytes * row_vector_bytes;
}

}  // namespace tidegate::runtime::devices
