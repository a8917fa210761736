// Lines of metrics.jsonl, as run_metrics writes them: what a reader takes of each. Templates of
// the JSON library's type, as json_fields.hpp. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "launch/run/run_metrics.hpp"
#include "launch/text/json_fields.hpp"
#include "policies/attribution/attribution.hpp"
#include "policies/attribution/job_rates.hpp"

namespace tidegate::launch {

// Returns true if it is one, of whatever version.
template <class Json>
bool is_metrics(const Json& line) {
  return line.is_object() && line.contains("version") && line.contains("workers") &&
         line["workers"].is_array() && line.contains("job") && line["job"].is_string();
}

// Says why a line cannot be read; empty: it is of the version that this Tidegate reads.
template <class Json>
std::string problem_of_version(const Json& line) {
  if (line["version"] == metrics_version) return {};
  constexpr std::size_t shown_bytes_max = 32;
  return "metrics.jsonl has lines of version " +
         line["version"]
             .dump(-1, ' ', false, Json::error_handler_t::replace)
             .substr(0, shown_bytes_max) +
         "; this Tidegate reads version " + std::to_string(metrics_version);
}

// The number of a worker or a shard, which others may have written.
template <class Json>
std::uint32_t index_in(const Json& process, const char* key) {
  constexpr std::uint64_t index_max = 1U << 20U;
  return static_cast<std::uint32_t>(std::min(count_in(process, key), index_max));
}

// Shares are of as many seconds as the process has told of; of all in lines of before.
template <class Json>
double seconds_in(const Json& process, double all) {
  return process.contains("seconds") ? number_in(process, "seconds") : all;
}

template <class Json>
policies::pressure_rates pressure_in(const Json& process) {
  return {.stopped = number_in(process, "stopped"),
          .starved = number_in(process, "starved"),
          .disk_faults = number_in(process, "disk_faults"),
          .memory = number_in(process, "memory")};
}

// Of a worker, an object; `seconds`: of the line.
template <class Json>
policies::worker_rates worker_in(const Json& worker, double seconds) {
  policies::worker_rates of{.rank = index_in(worker, "rank"),
                            .seconds = seconds_in(worker, seconds),
                            .clocks = number_in(worker, "clocks"),
                            .clocks_per_second = number_in(worker, "clocks_per_second"),
                            .computes = number_in(worker, "computes"),
                            .calls = number_in(worker, "calls"),
                            .waits = number_in(worker, "waits"),
                            .credits = number_in(worker, "credits"),
                            .garbage = number_in(worker, "garbage"),
                            .pressure = pressure_in(worker),
                            .comes_last = number_in(worker, "comes_last"),
                            .late_seconds = number_in(worker, "late_seconds"),
                            .late = number_in(worker, "late")};
  if (worker.contains("late")) return of;
  // Lines of before.
  of.clocks = of.clocks_per_second * seconds;
  of.late = of.clocks * of.comes_last * of.late_seconds;
  return of;
}

// Of a checkpoint that has become durable, an object.
template <class Json>
policies::checkpoint_account checkpoint_in(const Json& of) {
  return {.clock = count_in(of, "clock"),
          .seconds = number_in(of, "seconds"),
          .late = number_in(of, "late_seconds"),
          .shard = index_in(of, "shard"),
          .part = number_in(of, "part_seconds"),
          .others = number_in(of, "others_seconds"),
          .manifest = number_in(of, "manifest_seconds"),
          .part_bytes = count_in(of, "part_bytes"),
          .others_bytes = count_in(of, "others_bytes")};
}

}  // namespace tidegate::launch
