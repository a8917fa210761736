// `tidegate bench-rows-worker`: the worker of a benchmark of rows over a cluster; internal.
// Main thread only.
#pragma once

#include <string>
#include <vector>

#include "launch/bench/rows_cluster.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::bench {

// As arguments of the program, the first of them its name.
std::vector<std::string> rows_worker_command(const std::string& program,
                                             const rows_order& order);
// Of those after "bench-rows-worker". Errors: invalid_argument.
runtime::expected<rows_order> parse_rows_worker(const std::vector<std::string>& args);

// Returns what to exit with.
int run_rows_worker(const std::vector<std::string>& args);

}  // namespace tidegate::bench
