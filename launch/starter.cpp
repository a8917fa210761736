#include "launch/starter.hpp"

#include "launch/find_program.hpp"

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
  starter made;
  made.spec_ = spec;
  made.environment_ = environment;
  made.own_program_ = *own;
  const auto folder = own->substr(0, own->rfind('/'));
  std::string missing;
  for (const auto& job : spec.jobs) {
    const auto found = find_program(job.command.front(), folder, get(environment, "PATH"));
    if (found) {
      made.programs_[job.name] = *found;
    } else {
      missing += (missing.empty() ? "" : "\n") + ("jobs." + job.name) +
                 ".command: " + found.error().message();
    }
  }
  if (!missing.empty()) return runtime::fail(runtime::errc::not_found, missing);
  return made;
}

spawn_request starter::request(const process_plan& process, const run_identity& run,
                               const std::string& log_path, int ready_fd) const {
  spawn_request request;
  request.program = own_program_;
  request.arguments = process.command;
  request.log_path = log_path;
  request.environment =
      format_environment(child_environment(environment_, spec_, process.name, run));
  if (process.name.role == process_role::worker) {
    request.program = programs_.at(process.name.job);
    return request;
  }
  request.arguments.insert(request.arguments.end(), {"--run-dir", run.run_dir});
  if (process.name.role == process_role::coordinator) {
    request.arguments.insert(request.arguments.end(), {"--ready-fd", std::to_string(ready_fd)});
    request.inherited_fd = ready_fd;
  }
  return request;
}

std::string starter::user_transports() const {
  return get(environment_, "UCX_TLS");
}

}  // namespace tidegate::launch
