// A family of metrics: what it is called, what it is, and how a run's samples of it are found.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "launch/monitor/metric_sink.hpp"
#include "launch/run/run_status.hpp"

namespace tidegate::launch {

// Adds the samples of a family.
using metric_samples = std::function<void(const run_view&, metric_sink&)>;

struct metric_family {
  const char* name;
  metric_kind kind;
  const char* labels;  // as docs/metrics.md has them
  const char* help;
  metric_samples add;
};

inline constexpr double seconds_of_ns = 1e-9;

inline double number(std::uint64_t value) {
  return static_cast<double>(value);
}

// Returns the samples of all jobs.
template <class AddJob>
metric_samples of_jobs(AddJob add) {
  return [add = std::move(add)](const run_view& run, metric_sink& to) {
    for (const auto& job : run.jobs) add(job, to);
  };
}

}  // namespace tidegate::launch
