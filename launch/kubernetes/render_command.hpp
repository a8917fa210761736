// The command line of `tidegate render`. Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/kubernetes/manifests.hpp"
#include "launch/text/command_page.hpp"
#include "launch/text/exit_code.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct render_options {
  bool help = false;
  std::string file;
  std::vector<std::string> sets;  // --set, in order
  std::uint32_t nodes = 0;        // 0: those that the file names
  kubernetes_options kubernetes;
};

// Returns true if a command line of `tidegate` is for here: render, help render.
bool is_render_command(const std::vector<std::string>& args);
// `args` without the program's name, is_render_command(). Pure. Errors: invalid_argument.
runtime::expected<render_options> parse_render_command(const std::vector<std::string>& args);

// What it is, for manuals and completion.
command_page render_page();

// Writes manifests to stdout. Returns what to exit with; why is on stderr.
exit_code run_render_command(const std::vector<std::string>& args);

}  // namespace tidegate::launch
