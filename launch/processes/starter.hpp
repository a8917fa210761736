// How each process of a host is started: its program, arguments, environment and log. One
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/processes/spawn.hpp"
#include "launch/processes/worker_states.hpp"
#include "runtime/process/spare.hpp"

namespace tidegate::launch {

// What a process inherits from whoever starts it; -1: nothing.
struct start_descriptors {
  int ready = -1;                // of the coordinator
  int beats = -1;                // a page for heartbeats
  int spans = -1;                // memory for what the process does
  state_descriptors state = {};  // of what a worker keeps
};

class starter {
 public:
  // Finds the programs of all jobs. `hosts`: that processes are started on, by their names in
  // the cluster; empty: it names none. Errors: not_found (every program that is missing, of
  // jobs that have workers on these hosts, a line each), io_error.
  static runtime::expected<starter> create(const policies::cluster_spec& spec,
                                           const variables& environment,
                                           const std::vector<std::string>& hosts);

  // Errors: not_found (the program of a job).
  runtime::expected<spawn_request> request(const process_plan& process, const run_identity& run,
                                           const std::string& log_path,
                                           const start_descriptors& descriptors) const;

  // A spare of this worker's program and host, with an end of a socket by which it gets its
  // place. Errors: likewise.
  runtime::expected<spawn_request> spare_request(const process_plan& worker,
                                                 const run_identity& run,
                                                 const std::string& log_path, int socket) const;
  // Returns the place of a worker for a spare that was started with this environment: the
  // variables that it lacks. The descriptors stay the caller's.
  runtime::spare_place place(const process_plan& worker, const run_identity& run,
                             const start_descriptors& descriptors,
                             const std::vector<std::string>& environment) const;

  // `tidegate` with these words.
  spawn_request own_request(const std::vector<std::string>& words,
                            const std::string& log_path) const;

  // The user's own UCX_TLS; empty when the user has set nothing.
  std::string user_transports() const;

 private:
  runtime::expected<std::string> program_of(const process_name& name) const;

  policies::cluster_spec spec_;
  variables environment_;
  std::string own_program_;
  std::map<std::string, runtime::expected<std::string>> programs_;  // of jobs, by name
};

}  // namespace tidegate::launch
