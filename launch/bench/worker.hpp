// `tidegate bench-worker`: the worker of a benchmark's cluster; internal.
// Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/bench/worker_place.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

struct worker_order {
  std::string arena;
  std::uint64_t bytes = 0;
  std::uint32_t warmup = 0;
  std::uint32_t tables = 1;
  worker_place place;
  runtime::kernels::optimizer_kind optimizer = runtime::kernels::optimizer_kind::sgd;
  std::uint32_t percent = 0;  // exchanger::open()
  std::uint32_t in_a_row = 1;
  std::string device;  // of the tables; empty: on the host
};

// As arguments of the program, the first of them its name.
std::vector<std::string> worker_command(const std::string& program, const worker_order& order);
// Of those after "bench-worker". Errors: invalid_argument.
runtime::expected<worker_order> parse_worker(const std::vector<std::string>& args);

// Returns what to exit with.
int run_worker(const std::vector<std::string>& args);

}  // namespace tidegate::bench
