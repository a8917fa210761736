// Workers of jobs that run, as rows of a table. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

struct worker_row {
  std::string job, host;
  std::uint64_t rank = 0, clock = 0, incarnation = 0;
  double samples = 0, computes = 0, calls = 0, waits = 0, last = 0, late = 0;
  bool joined = false, finished = false;

  // Returns true if it comes last in most clocks, and others wait.
  bool holds_up() const noexcept { return last >= 0.5 && waits < 0.5; }
};

// Returns those of all jobs of a status, without ranks that have left.
std::vector<worker_row> workers_of(const nlohmann::json& status);

}  // namespace tidegate::launch
