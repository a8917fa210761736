#include "launch/agents/agent_starter.hpp"

#include <algorithm>

#include "launch/processes/find_program.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

runtime::expected<agent_starter> agent_starter::create(const policies::cluster_spec& spec,
                                                       const variables& environment) {
  const auto own = own_program();
  if (!own) return runtime::fail(own.error());
  agent_starter result;
  result.environment_ = environment;
  result.own_program_ = *own;
  result.start_timeout_ms_ = spec.start_timeout_ms;
  result.unreachable_ms_ = spec.supervision.unreachable_ms;
  const auto path = variable_in(environment, "PATH");
  std::string missing;
  for (const auto* host : policies::agent_hosts(spec)) {
    const bool by_ssh = !host->ssh.empty();
    const auto found = find_program(by_ssh ? "ssh" : host->prefix.front(),
                                    own->substr(0, own->rfind('/')), path);
    if (found)
      result.programs_[host->name] = *found;
    else
      missing += (missing.empty() ? "" : "\n") + ("cluster.hosts." + host->name) +
                 (by_ssh ? ".ssh: " : ".prefix: ") + found.error().message();
  }
  if (!missing.empty()) return runtime::fail(runtime::errc::not_found, missing);
  return result;
}

spawn_request agent_starter::request(const policies::host_spec& host,
                                     const std::string& log_path, int input) const {
  spawn_request request;
  request.program = programs_.at(host.name);
  request.environment = format_environment(environment_);
  request.log_path = log_path;
  request.input = input;
  if (host.ssh.empty()) {
    request.arguments = host.prefix;
    request.arguments.insert(request.arguments.end(), {own_program_, "host"});
  } else {
    add_ssh(host, request.arguments);
  }
  return request;
}

// It asks nobody for a password, and ends when the host does not answer. What it runs there has
// the client's standard input, which ends with the client.
void agent_starter::add_ssh(const policies::host_spec& host,
                            std::vector<std::string>& words) const {
  const auto seconds = [](std::uint32_t ms) {
    return std::to_string(std::max(ms / 1000, std::uint32_t{1}));
  };
  words = {"ssh", "-T",
           "-o",  "BatchMode=yes",
           "-o",  "ConnectTimeout=" + seconds(start_timeout_ms_),
           "-o",  "ServerAliveInterval=" + seconds(unreachable_ms_ / 4),
           "-o",  "ServerAliveCountMax=3"};
  if (host.ssh_port != 0) words.insert(words.end(), {"-p", std::to_string(host.ssh_port)});
  if (!host.ssh_key.empty())
    words.insert(words.end(), {"-i", host.ssh_key, "-o", "IdentitiesOnly=yes"});
  const auto& program = host.program.empty() ? own_program_ : host.program;
  words.insert(words.end(), {"--", host.ssh, "exec " + shell_word(program) + " host"});
}

}  // namespace tidegate::launch
