#include "launch/run/starter.hpp"

#include <algorithm>

#include "launch/run/find_program.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/heartbeat/heartbeat.hpp"
#include "runtime/process/state_file.hpp"

namespace tidegate::launch {

namespace {

std::string get(const variables& all, const std::string& name) {
  const auto at = all.find(name);
  return at == all.end() ? "" : at->second;
}

}  // namespace

runtime::expected<starter> starter::create(const policies::cluster_spec& spec,
                                           const variables& environment) {
  const auto own = own_program();
  if (!own) return runtime::fail(own.error());
  starter result;
  result.spec_ = spec;
  result.environment_ = environment;
  result.own_program_ = *own;
  const auto folder = own->substr(0, own->rfind('/'));
  std::string missing;
  const auto find = [&](const std::string& key, const std::string& program, std::string& into) {
    const auto found = find_program(program, folder, get(environment, "PATH"));
    if (found) {
      into = *found;
    } else {
      missing += (missing.empty() ? "" : "\n") + key + ": " + found.error().message();
    }
  };
  for (const auto& job : spec.jobs)
    find("jobs." + job.name + ".command", job.command.front(), result.programs_[job.name]);
  for (const auto& host : spec.hosts)
    if (!host.prefix.empty())
      find("cluster.hosts." + host.name + ".prefix", host.prefix.front(),
           result.prefixes_[host.name]);
  if (!missing.empty()) return runtime::fail(runtime::errc::not_found, missing);
  return result;
}

spawn_request starter::request(const process_plan& process, const run_identity& run,
                               const std::string& log_path,
                               const start_descriptors& descriptors) const {
  const bool is_worker = process.name.role == process_role::worker;
  spawn_request request;
  request.program = is_worker ? programs_.at(process.name.job) : own_program_;
  request.arguments = process.command;
  request.log_path = log_path;
  auto environment = child_environment(environment_, spec_, process, run);
  if (descriptors.beats >= 0) {
    environment[runtime::heartbeat_variable] = runtime::heartbeat_text(
        descriptors.beats, policies::beat_interval_ms(spec_.supervision.heartbeat_timeout_ms));
    request.inherited_fds.push_back(descriptors.beats);
  }
  if (descriptors.state >= 0) {
    environment[runtime::state_variable] = std::to_string(descriptors.state);
    request.inherited_fds.push_back(descriptors.state);
  }
  request.environment = format_environment(environment);
  if (!is_worker) request.arguments.insert(request.arguments.end(), {"--run-dir", run.run_dir});
  if (process.name.role == process_role::coordinator) {
    request.arguments.insert(request.arguments.end(),
                             {"--ready-fd", std::to_string(descriptors.ready)});
    request.inherited_fds.push_back(descriptors.ready);
  }
  add_prefix(process, request);
  return request;
}

// What the prefix runs is found here: it may look elsewhere, or nowhere.
void starter::add_prefix(const process_plan& process, spawn_request& request) const {
  const auto* host = policies::find_host(spec_, process.host);
  if (host == nullptr || host->prefix.empty()) return;
  request.arguments.front() = request.program;
  request.arguments.insert(request.arguments.begin(), host->prefix.begin(), host->prefix.end());
  request.program = prefixes_.at(host->name);
}

spawn_request starter::spare_request(const process_plan& worker, const run_identity& run,
                                     const std::string& log_path, int socket) const {
  spawn_request request;
  request.program = programs_.at(worker.name.job);
  request.arguments = worker.command;
  request.log_path = log_path;
  auto environment = child_environment(environment_, spec_, worker, run);
  // A program that looks at these as it begins cannot be a spare, and is to fail at once.
  for (const auto* name : {"RANK", "LOCAL_RANK", "TIDEGATE_RANK", "TIDEGATE_INCARNATION"})
    environment.erase(name);
  environment[runtime::spare_variable] = std::to_string(socket);
  request.inherited_fds.push_back(socket);
  request.environment = format_environment(environment);
  add_prefix(worker, request);
  return request;
}

runtime::spare_place starter::place(const process_plan& worker, const run_identity& run,
                                    const start_descriptors& descriptors,
                                    const std::vector<std::string>& environment) const {
  runtime::spare_place place;
  for (const auto& [name, value] : child_environment(environment_, spec_, worker, run))
    if (std::find(environment.begin(), environment.end(), name + "=" + value) ==
        environment.end())
      place.variables[name] = value;
  if (descriptors.beats >= 0) {
    const auto interval = policies::beat_interval_ms(spec_.supervision.heartbeat_timeout_ms);
    place.variables[runtime::heartbeat_variable] = "{}:" + std::to_string(interval);
    place.descriptors.emplace_back(runtime::heartbeat_variable, descriptors.beats);
  }
  if (descriptors.state >= 0) {
    place.variables[runtime::state_variable] = "{}";
    place.descriptors.emplace_back(runtime::state_variable, descriptors.state);
  }
  return place;
}

spawn_request starter::own_request(const std::vector<std::string>& words,
                                   const std::string& log_path) const {
  spawn_request request;
  request.program = own_program_;
  request.arguments = {"tidegate"};
  request.arguments.insert(request.arguments.end(), words.begin(), words.end());
  request.environment = format_environment(environment_);
  request.log_path = log_path;
  return request;
}

std::string starter::user_transports() const {
  return get(environment_, "UCX_TLS");
}

}  // namespace tidegate::launch
