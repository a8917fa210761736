// A job whose bits tell everything: gradients depend on the parameters pulled, the rank and the
// clock, so any lost, doubled, reordered or stale update changes the hash.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/session.hpp>

namespace tidegate::tests {

// How a worker moves its data: through memory of its own, in place call by call, or in place
// with one exchange per clock; or ranges of each table, which follow from rank and clock,
// through memory of its own (packed) or in place. The job's optimizer is lazy for ranges.
// functions: in place, and functions of each table are called between its pull and its push,
// whose results are those of what was pulled; the policy is bsp. rows: a table of rows, of
// which each worker pulls and pushes some that follow from rank and clock, beside the first
// table. called_rows: likewise, and functions of all rows are called, as of tables.
enum class workload_way : std::uint8_t {
  spans,
  in_place,
  exchange,
  packed_ranges,
  ranges,
  functions,
  rows,
  called_rows
};

struct workload_options {
  workload_way way = workload_way::spans;
  std::uint64_t clocks = 12;
  std::uint64_t pause_us_max = 0;  // random pauses of each worker, seeded apart from the data
  std::uint64_t pause_seed = 1;
  std::vector<std::vector<std::uint64_t>> shapes = {{33, 7}, {5}, {64, 16}};
  // Tables from this one on are on a device; empty: none is.
  std::string device;
  std::size_t device_from = 0;
  // Begins a pull of all tables, or an exchange; what it returns is called at its end.
  std::function<std::function<void()>()> watch;
};

// What the gradients of a table have in common at a clock.
inline std::uint32_t workload_key(std::uint64_t seed, std::uint32_t rank, std::uint64_t clock,
                                  std::size_t table) {
  return static_cast<std::uint32_t>(
      runtime::mix64(seed ^ (rank * 1000003ULL + clock * 7919ULL + table)) >> 32);
}

// Gradient of one element; a pure function. The noise is in [-1, 1), exact in float. It is made
// of 32 bits (the mixer "lowbias32" of Chris Wellons), of which compilers make vectors: this
// loop is most of what tests with real processes compute.
inline float workload_gradient(std::uint32_t key, std::size_t element, float parameter) {
  auto bits = key ^ (static_cast<std::uint32_t>(element) * 0x9e3779b9U);
  bits = (bits ^ (bits >> 16)) * 0x7feb352dU;
  bits = (bits ^ (bits >> 15)) * 0x846ca68bU;
  bits ^= bits >> 16;
  const auto noise = static_cast<std::int32_t>(bits >> 8) - (1 << 23);
  return 0.25F * parameter + static_cast<float>(noise) * (1.0F / static_cast<float>(1 << 23));
}

// The ranges of a table of so many elements that a worker pulls and pushes in a clock.
std::vector<tidegate::element_range> workload_ranges(std::uint64_t seed, std::uint32_t rank,
                                                     std::uint64_t clock, std::size_t table,
                                                     std::uint64_t elements);

// Runs the job to its end with finish(). Returns the first error.
runtime::status run_workload(tidegate::session& session, const workload_options& options);

}  // namespace tidegate::tests
