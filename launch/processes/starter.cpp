#include "launch/processes/starter.hpp"

#include <algorithm>

#include "launch/processes/find_program.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/heartbeat/heartbeat.hpp"
#include "runtime/process/state_file.hpp"
#include "runtime/recorder/span_recorder.hpp"

namespace tidegate::launch {

namespace {

bool has_worker_on(const policies::cluster_spec& spec, const policies::job_spec& job,
                   const std::vector<std::string>& hosts) {
  if (spec.hosts.empty()) return true;
  for (std::uint32_t rank = 0; rank < job.workers; ++rank)
    if (std::find(hosts.begin(), hosts.end(),
                  policies::host_of_worker(spec, job, rank)->name) != hosts.end())
      return true;
  return false;
}

}  // namespace

runtime::expected<starter> starter::create(const policies::cluster_spec& spec,
                                           const variables& environment,
                                           const std::vector<std::string>& hosts) {
  const auto own = own_program();
  if (!own) return runtime::fail(own.error());
  starter result;
  result.spec_ = spec;
  result.environment_ = environment;
  // What has started this process gave it a place of its own in a job of one task, which is not
  // that of any process of the run.
  std::erase_if(result.environment_, [](const auto& variable) {
    const auto& name = variable.first;
    const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
    return starts("OMPI_") || starts("PMIX_") || starts("PMI_") || starts("MPI_LOCAL") ||
           name == "SLURM_PROCID" || name == "SLURM_LOCALID" || name == "SLURM_NODEID";
  });
  result.own_program_ = *own;
  const auto folder = own->substr(0, own->rfind('/'));
  std::string missing;
  for (const auto& job : spec.jobs) {
    auto found = find_program(job.command.front(), folder, variable_in(environment, "PATH"));
    if (!found && has_worker_on(spec, job, hosts))
      missing += (missing.empty() ? "" : "\n") + ("jobs." + job.name) +
                 ".command: " + found.error().message();
    result.programs_.emplace(job.name, std::move(found));
  }
  if (!missing.empty()) return runtime::fail(runtime::errc::not_found, missing);
  return result;
}

runtime::expected<std::string> starter::program_of(const process_name& name) const {
  if (name.role != process_role::worker) return own_program_;
  return programs_.at(name.job);
}

runtime::expected<spawn_request> starter::request(const process_plan& process,
                                                  const run_identity& run,
                                                  const std::string& log_path,
                                                  const start_descriptors& descriptors) const {
  const bool is_worker = process.name.role == process_role::worker;
  const auto program = program_of(process.name);
  if (!program) return runtime::fail(program.error());
  spawn_request request;
  request.program = *program;
  request.arguments = process.command;
  request.log_path = log_path;
  auto environment = child_environment(environment_, spec_, process, run);
  if (descriptors.beats >= 0) {
    environment[runtime::heartbeat_variable] = runtime::heartbeat_text(
        descriptors.beats, policies::beat_interval_ms(spec_.supervision.heartbeat_timeout_ms));
    request.inherited_fds.push_back(descriptors.beats);
  }
  if (descriptors.spans >= 0) {
    environment[runtime::spans_variable] = std::to_string(descriptors.spans);
    request.inherited_fds.push_back(descriptors.spans);
  }
  const auto& state = descriptors.state;
  if (state.file >= 0) {
    environment[runtime::state_variable] = std::to_string(state.file);
    request.inherited_fds.push_back(state.file);
  }
  if (state.mirror >= 0) {
    environment[runtime::mirror_variable] =
        runtime::mirror_text(state.mirror, state.mirror_every);
    request.inherited_fds.push_back(state.mirror);
  }
  request.environment = format_environment(environment);
  if (!is_worker) request.arguments.insert(request.arguments.end(), {"--run-dir", run.run_dir});
  if (process.name.role == process_role::coordinator) {
    request.arguments.insert(request.arguments.end(),
                             {"--ready-fd", std::to_string(descriptors.ready)});
    request.inherited_fds.push_back(descriptors.ready);
  }
  return request;
}

runtime::expected<spawn_request> starter::spare_request(const process_plan& worker,
                                                        const run_identity& run,
                                                        const std::string& log_path,
                                                        int socket) const {
  const auto program = program_of(worker.name);
  if (!program) return runtime::fail(program.error());
  spawn_request request;
  request.program = *program;
  request.arguments = worker.command;
  request.log_path = log_path;
  auto environment = child_environment(environment_, spec_, worker, run);
  // A program that looks at these as it begins cannot be a spare, and is to fail at once.
  for (const auto* name : {"RANK", "LOCAL_RANK", "TIDEGATE_RANK", "TIDEGATE_INCARNATION"})
    environment.erase(name);
  environment[runtime::spare_variable] = std::to_string(socket);
  request.inherited_fds.push_back(socket);
  request.environment = format_environment(environment);
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
  if (descriptors.spans >= 0) {
    place.variables[runtime::spans_variable] = "{}";
    place.descriptors.emplace_back(runtime::spans_variable, descriptors.spans);
  }
  const auto& state = descriptors.state;
  if (state.file >= 0) {
    place.variables[runtime::state_variable] = "{}";
    place.descriptors.emplace_back(runtime::state_variable, state.file);
  }
  if (state.mirror >= 0) {
    place.variables[runtime::mirror_variable] = "{}:" + std::to_string(state.mirror_every);
    place.descriptors.emplace_back(runtime::mirror_variable, state.mirror);
  }
  return place;
}

spawn_request starter::own_request(const std::vector<std::string>& words,
                                   const std::string& log_path) const {
  spawn_request request;
  request.program = own_program_;
  request.arguments = {"tidegate"};
  request.arguments.insert(request.arguments.end(), words.begin(), words.end());
  request.environment = format_environment(without_object_secrets(environment_, spec_));
  request.log_path = log_path;
  return request;
}

std::string starter::user_transports() const {
  return variable_in(environment_, "UCX_TLS");
}

}  // namespace tidegate::launch
