// The command line of `tidegate chaos`. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/text/command_page.hpp"
#include "policies/supervision/chaos_core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::chaos {

enum class verb : std::uint8_t { help, kill, stop, go_on, random, partition, heal, fill, cut };

struct chaos_options {
  chaos::verb verb = chaos::verb::help;
  std::string run_dir;
  // One process: its name as in pids.json, or empty and a role, of which the seed chooses.
  std::string process;
  std::string other;  // of cut: the process at the other end
  std::optional<policies::process_role> role;
  std::string host;  // of partition and heal
  int signal = 0;    // of one process: what it gets
  policies::chaos_plan
      plan;  // of random; its seed is that of one process, its time of a partition
};

// `args` after `chaos`. Errors: invalid_argument; the message says what is allowed.
runtime::expected<chaos_options> parse_chaos(const std::vector<std::string>& args);

// "SIGKILL"
std::string signal_name(int number);

// What --help prints.
std::string chaos_help();
// What it is, for manuals and completion.
launch::command_page chaos_page();

}  // namespace tidegate::chaos
