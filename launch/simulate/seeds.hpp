// `tidegate simulate --seeds N`: clusters of the standard scenarios, or of others, each from a
// seed. Exit codes: 0 clean, 1 a promise was broken, 2 usage, 4 stuck.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/text/command_page.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::simulate {

struct seeds_options {
  std::uint64_t seeds = 1000;
  std::uint64_t first_seed = 1;
  bool drawn = false;                  // first_seed is to be drawn
  std::vector<std::string> scenarios;  // names of standard ones, or files; empty: the mix
  std::optional<double> on_devices;    // share of clusters, in place of the scenarios'
  std::string trace;                   // of the first seed: FILE and FILE.chrome.json
  std::string json;                    // "-": standard output, in place of the table
};

inline constexpr int exit_stuck = 4;

// Without the word `simulate`. Errors: invalid_argument.
runtime::expected<seeds_options> parse_seeds(const std::vector<std::string>& args);
int run_seeds(const seeds_options& options);
// The same from arguments, if they are its.
bool is_seeds(const std::vector<std::string>& args);
int run_seeds(const std::vector<std::string>& args);
std::string seeds_help();
std::vector<launch::option_name> seeds_option_names();

}  // namespace tidegate::simulate
