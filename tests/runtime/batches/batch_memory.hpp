// Memory for batches, aligned as they are, and pushes for tests.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/batches/batch_writer.hpp"
#include "runtime/batches/row_batch.hpp"

namespace tidegate::runtime {

class batch_memory {
 public:
  explicit batch_memory(std::uint64_t bytes) : lines_((bytes + 63) / 64), bytes_(bytes) {}
  std::span<std::byte> bytes() {
    return std::as_writable_bytes(std::span(lines_)).first(bytes_);
  }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> lines_;
  std::uint64_t bytes_;
};

// A push of `count` ids below `bound`, some of them more than once.
struct random_push {
  random_push(std::uint64_t seed, std::size_t count, std::uint64_t bound, std::uint32_t dim)
      : gradients(count * dim) {
    rng random(seed);
    for (std::size_t i = 0; i < count; ++i) ids.push_back(random.below(bound));
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = uniform_signed(seed, i);
  }
  // Sums of equal ids, one after the other.
  std::map<std::uint64_t, std::vector<float>> rows(std::uint32_t dim) const {
    std::map<std::uint64_t, std::vector<float>> sums;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto* from = gradients.data() + i * dim;
      const auto [at, fresh] = sums.try_emplace(ids[i], from, from + dim);
      for (std::uint32_t c = 0; !fresh && c < dim; ++c) at->second[c] += from[c];
    }
    return sums;
  }

  std::vector<std::uint64_t> ids;
  std::vector<float> gradients;
};

// The batch of one part, in memory of its own.
inline batch_memory written(const batch_writer& writer, std::uint32_t part,
                            const std::vector<float>& gradients, std::uint32_t dim) {
  batch_memory memory(row_batch_bytes(writer.rows_of(part), dim));
  writer.write(part, gradients, dim, memory.bytes());
  return memory;
}

}  // namespace tidegate::runtime
