// The command line of `tidegate`. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/text/command_page.hpp"
#include "launch/text/endpoint.hpp"
#include "launch/trace/trace_text.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

enum class command_kind : std::uint8_t {
  help,
  version,
  validate,
  plan,
  launch,
  submit,
  export_model,
  scale,
  cancel,
  status,
  top,
  why,
  trace,
  clocks,
  view,
  logs,
  list_runs,
  stop,
  node_coordinator,  // internal: what `launch` starts
  node_shard,
  node_replica,
  node_aggregator,
  host,  // internal: what starts agents of hosts runs it
};

struct command_line {
  command_kind kind = command_kind::help;
  std::string topic;  // of help: a command, "yaml", or empty
  std::string key;    // of help yaml: empty for all
  std::string file;   // the cluster file; export and those below it: the run folder; ls: a
                      // folder of runs
  std::vector<std::string> sets;    // --set, in order
  bool json = false;                // plan, status, why, clocks, ls
  std::string engine;               // plan: another than the file's; empty: the file's
  std::uint32_t nodes = 0;          // plan, submit: of the engine; 0: the file's hosts
  std::string run_dir;              // launch, submit: empty for the default; nodes: required
  std::string run_dir_file;         // launch
  std::string resume;               // launch: the run folder to go on in; then no file
  bool follow = false;              // launch, logs, clocks
  bool goes_on = false;             // launch: --continue
  std::uint32_t patience_ms = 0;    // launch: launch/run/patience.hpp
  bool slurm = false;               // submit
  std::string time;                 // submit
  std::vector<std::string> sbatch;  // submit: options of sbatch
  bool dry_run = false;             // submit
  std::uint32_t index = 0;          // node shard, node replica, node aggregator
  std::string job;            // node aggregator; export, scale, cancel: empty for the only one;
                              // why, clocks: for all
  std::uint32_t workers = 0;  // scale; 0: as many as there are
  std::uint32_t shards = 0;   // scale; likewise
  std::string output;         // export, trace; launch --trace: empty for none
  bool list = false;          // export
  std::string checkpoint;     // export: empty for the newest
  std::optional<std::uint64_t> since;        // export: a clock
  std::optional<std::uint64_t> clock;        // why
  std::optional<clock_range> clocks;         // trace, clocks
  std::optional<std::uint64_t> last_clocks;  // why
  std::string process;                       // logs: empty for all
  std::optional<std::uint64_t> lines;        // logs: of each, of the last
  bool all_lines = false;                    // logs
  bool now = false;                          // stop
  std::optional<endpoint> address;           // view
  int ready_fd = -1;                         // node coordinator: gets "PORT\n"
};

// `args` without the program's name. Errors: invalid_argument, with the nearest known word
// where one was mistyped.
runtime::expected<command_line> parse_command_line(const std::vector<std::string>& args);

// What --help prints; an unknown topic gives the general text.
std::string help_text(const std::string& topic);
// What the program is, whose page is the first, and its commands, for manuals and completion.
std::vector<command_page> command_pages();
// The same of a command line. Errors: invalid_argument (help yaml: there is no such key).
runtime::expected<std::string> help_of(const command_line& line);

}  // namespace tidegate::launch
