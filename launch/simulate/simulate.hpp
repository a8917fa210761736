// `tidegate simulate`: a cluster on paper. Main thread only.
#pragma once

#include <string>
#include <vector>

#include "launch/text/command_page.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::simulate {

// Whether a command line of `tidegate` is for here: simulate, help simulate.
bool is_simulate(const std::vector<std::string>& args);

// `args` without the program's name, is_simulate. Returns what to exit with
// (launch::exit_code).
int run_simulate(const std::vector<std::string>& args);

struct scale_options {
  bool help = false;
  std::string file;
  std::string json;  // file; "-" for standard output, in place of the table
  std::string svg;   // prefix of the pictures' names
  std::string seed;  // in place of the file's
};

// What it is, for manuals and completion.
launch::command_page simulate_page();

// `args` after the word simulate. Errors: invalid_argument.
runtime::expected<scale_options> parse_simulate(const std::vector<std::string>& args);

}  // namespace tidegate::simulate
