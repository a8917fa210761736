// The memory in which workers of a host keep state that outlives their processes: one file per
// rank, as long as the agent of the host lives; and the lines on which workers ask for copies
// of it (jobs.*.state.mirror_every). Main thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"
#include "runtime/process/mirror_channel.hpp"
#include "runtime/process/state_file.hpp"

namespace tidegate::launch {

// What a worker inherits; -1: nothing.
struct state_descriptors {
  int file = -1;
  int mirror = -1;
  std::uint64_t mirror_every = 0;
};

class worker_states {
 public:
  // `spec` outlives it.
  explicit worker_states(const policies::cluster_spec& spec) : spec_(spec) {}

  // What was kept is of no use any more.
  void forget() { memories_.clear(); }

  // Returns what a process that is about to be started inherits: the file of its rank, or a new
  // one where the rank has none yet, joins anew, or was on another host meanwhile, with what
  // was copied there. Errors: io_error, no_space.
  runtime::expected<state_descriptors> prepare(const policies::agent_orders::start& start,
                                               std::uint64_t token);
  // It has been, or could not be: some of that is needed no more here.
  void started(policies::process_number process);
  void ended(policies::process_number process);

  // Adds what workers ask to be copied, as it is now.
  void read(std::vector<policies::agent_report>& into);
  // The launcher has what this process asked for, up to that request.
  void mirrored(const policies::launched_process& process, std::uint64_t number);
  // Adds descriptors that become readable when read() has something to tell.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct memory {
    std::unique_ptr<runtime::state_file> file;
    std::uint32_t incarnation = 0;  // that was started last
    std::optional<runtime::mirror_channel> line;
    runtime::unique_fd workers_end;
  };

  runtime::expected<std::unique_ptr<runtime::state_file>> make(
      const policies::agent_orders::start& start, const policies::job_spec& job,
      bool has_history, std::uint64_t token) const;
  // Only a host that may be lost loses state.
  bool is_mirrored(const policies::job_spec& job) const {
    return job.state_mirror_every > 0 && spec_.hosts.size() > 1;
  }

  const policies::cluster_spec& spec_;
  std::map<policies::process_number, memory> memories_;
};

}  // namespace tidegate::launch
