#include "launch/plan/agent_command.hpp"

#include <algorithm>

#include "launch/text/shell_word.hpp"

namespace tidegate::launch {

namespace {

// It asks nobody for a password, and ends when the host does not answer. What it runs there has
// the client's standard input, which ends with the client.
std::vector<std::string> ssh_command(const policies::cluster_spec& spec,
                                     const policies::host_spec& host,
                                     const std::string& own_program) {
  const auto seconds = [](std::uint32_t ms) {
    return std::to_string(std::max(ms / 1000, std::uint32_t{1}));
  };
  std::vector<std::string> words = {
      "ssh", "-T",
      "-o",  "BatchMode=yes",
      "-o",  "ConnectTimeout=" + seconds(spec.start_timeout_ms),
      "-o",  "ServerAliveInterval=" + seconds(spec.supervision.unreachable_ms / 4),
      "-o",  "ServerAliveCountMax=3"};
  if (host.ssh_port != 0) words.insert(words.end(), {"-p", std::to_string(host.ssh_port)});
  if (!host.ssh_key.empty())
    words.insert(words.end(), {"-i", host.ssh_key, "-o", "IdentitiesOnly=yes"});
  const auto& program = host.program.empty() ? own_program : host.program;
  words.insert(words.end(), {"--", host.ssh, "exec " + shell_command({program, "host"})});
  return words;
}

}  // namespace

std::vector<std::string> agent_command(const policies::cluster_spec& spec,
                                       const policies::host_spec& host,
                                       const std::string& own_program) {
  if (!host.ssh.empty()) return ssh_command(spec, host, own_program);
  auto words = host.prefix;
  words.insert(words.end(), {own_program, "host"});
  return words;
}

}  // namespace tidegate::launch
