// What an agent of a host is told on its standard input as it begins: a line of JSON. There it
// is seen by nobody else, unlike on a command line or in an environment. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch/agents/staged_files.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct agent_config {
  std::string host;         // its name in the cluster
  std::uint64_t start = 0;  // as agent_options::start
  std::string launcher_host;
  std::uint16_t launcher_port = 0;
  std::uint64_t token = 0;  // of the run
  std::string run_dir;      // absolute
  std::string folder;       // from which the run was launched
  // As run_identity has it.
  std::uint16_t workers_port = 0;
  std::string cluster;  // as YAML
  // Variables of the launcher, for the processes of the host.
  std::map<std::string, std::string> variables = {};
  // What the launcher's processor can do (runtime/base/processor.hpp).
  std::string instructions = {};
  // What the host is to have as the launcher's has it, before anything is started.
  std::vector<staged_file> staged = {};
  // The run's number, by which its folders of checkpoints are known; empty: no job names one.
  std::string run = {};

  friend bool operator==(const agent_config&, const agent_config&) = default;
};

// One line, with its end; of no more than config_bytes_max bytes, most of which are staged
// files.
inline constexpr std::size_t config_bytes_max = std::size_t{64} << 20U;
static_assert(config_bytes_max > staged_text_bytes_max);
std::string config_text(const agent_config& config);
// Errors: invalid_argument (it is another version's, and the message says what to do), corrupt.
runtime::expected<agent_config> parse_config(const std::string& line);

}  // namespace tidegate::launch
