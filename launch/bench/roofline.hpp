// The ceilings of this machine: how fast memory is read, copied, and summed with one optimizer
// step on it; and the same sum when other cores have just written what is summed, as workers
// do. The exchange cannot be faster than the last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

struct roofline_options {
  std::vector<std::uint64_t> bytes;    // of one array; empty: larger than the last-level cache
  std::vector<std::uint32_t> threads;  // empty: 1 and one per core
  std::vector<std::uint32_t> inputs{2, 4};
  std::vector<runtime::kernels::optimizer_kind> optimizers;  // empty: sgd, momentum, adam
  std::uint32_t rounds = 5;
};

struct ceiling {
  std::string operation;  // "read", "copy", "sum 2 + sgd", "fresh sum 2 + sgd"
  std::uint32_t inputs = 1;
  std::string optimizer;    // of a sum
  std::uint64_t bytes = 0;  // of one array
  std::uint32_t threads = 1;
  // Times of the operation once over the whole array: the best, and the usual. Who is compared
  // by a median, as exchanges are, is to be compared with the latter.
  double seconds = 0;
  double median_seconds = 0;
  // Payload at the best: bytes read, bytes copied, bytes of gradients taken in.
  double gb_per_s() const noexcept {
    return inputs * static_cast<double>(bytes) / seconds / 1e9;
  }
};

// Blocks; starts pinned threads. Errors: invalid_argument (more threads than cores).
runtime::expected<std::vector<ceiling>> measure_roofline(const roofline_options& options);

std::string roofline_table(const std::vector<ceiling>& ceilings);
std::string roofline_json(const std::vector<ceiling>& ceilings);

}  // namespace tidegate::bench
