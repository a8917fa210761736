#include "launch/agents/agent_starter.hpp"

#include "launch/processes/find_program.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

runtime::expected<agent_starter> agent_starter::create(const policies::cluster_spec& spec,
                                                       const variables& environment) {
  const auto own = own_program();
  if (!own) return runtime::fail(own.error());
  agent_starter result;
  result.environment_ = environment;
  result.own_program_ = *own;
  const auto path = environment.find("PATH");
  std::string missing;
  for (const auto& host : spec.hosts) {
    if (!policies::has_agent(host)) continue;
    const auto found = find_program(host.prefix.front(), own->substr(0, own->rfind('/')),
                                    path == environment.end() ? std::string() : path->second);
    if (found)
      result.prefixes_[host.name] = *found;
    else
      missing += (missing.empty() ? "" : "\n") + ("cluster.hosts." + host.name) +
                 ".prefix: " + found.error().message();
  }
  if (!missing.empty()) return runtime::fail(runtime::errc::not_found, missing);
  return result;
}

spawn_request agent_starter::request(const policies::host_spec& host,
                                     const std::string& log_path, int input) const {
  spawn_request request;
  request.program = prefixes_.at(host.name);
  request.arguments = host.prefix;
  request.arguments.insert(request.arguments.end(), {own_program_, "host"});
  request.environment = format_environment(environment_);
  request.log_path = log_path;
  request.input = input;
  return request;
}

}  // namespace tidegate::launch
