#include "launch/agents/agent_starter.hpp"

#include "launch/plan/agent_command.hpp"
#include "launch/processes/find_program.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

runtime::expected<agent_starter> agent_starter::create(const policies::cluster_spec& spec,
                                                       const variables& environment) {
  const auto own = own_program();
  if (!own) return runtime::fail(own.error());
  agent_starter result;
  result.environment_ = without_object_secrets(environment, spec);
  const auto path = variable_in(environment, "PATH");
  std::string missing;
  for (const auto* host : policies::agent_hosts(spec)) {
    const bool by_ssh = !host->ssh.empty();
    const auto found = find_program(by_ssh ? "ssh" : host->prefix.front(),
                                    own->substr(0, own->rfind('/')), path);
    if (found)
      result.commands_[host->name] = {*found, agent_command(spec, *host, *own)};
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
  const auto& [program, words] = commands_.at(host.name);
  request.program = program;
  request.arguments = words;
  request.environment = format_environment(environment_);
  request.log_path = log_path;
  request.input = input;
  return request;
}

}  // namespace tidegate::launch
