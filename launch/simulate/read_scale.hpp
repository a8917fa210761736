// From a scale file to the settings that are modelled. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "launch/simulate/scale/setting.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::simulate {

inline constexpr std::uint64_t worker_clocks_max = 1'000'000'000;  // of one setting

// What is swept; `common` has all else.
struct scale_plan {
  sim::scale::setting common;
  std::vector<std::uint64_t> workers;
  std::vector<std::uint64_t> shards{1};
  std::vector<policies::consistency_spec> policies{{}};
  std::vector<policies::aggregators_spec> aggregators{{}};

  // Every combination: by shards, aggregators, policy, and workers last.
  std::vector<sim::scale::setting> settings() const;
};

// Errors: invalid_argument; the message holds every problem, one per line:
// `file:line:column: what is wrong; what is allowed`.
runtime::expected<scale_plan> parse_scale(const std::string& yaml,
                                          const std::string& file_name);

// "none", "per_host", "fan_in(8)".
std::string to_string(const policies::aggregators_spec& spec);

}  // namespace tidegate::simulate
