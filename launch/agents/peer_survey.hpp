// The part of an agent in surveys of hosts: it listens at the addresses of its host for the
// agents of others, and connects to theirs, on a thread of its own, as names may take their
// time; a step that is over for the launcher is left to end by itself. The port is open for as
// long as a survey lasts, and who comes to it and does not prove the run's token is a stranger
// to it as to any control port. All calls from one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include "launch/agents/agent_door.hpp"
#include "launch/shell/agent_shell.hpp"
#include "launch/shell/host_port.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class peer_survey final : public survey_port {
 public:
  // `own`: the number of the agent's host. `spec` and `links` outlive it. `options` encrypt
  // nothing: nothing is said beyond the proof.
  peer_survey(const policies::cluster_spec& spec, policies::host_number own,
              const agent_links& links, const agent_link_options& options);
  peer_survey(const peer_survey&) = delete;
  peer_survey& operator=(const peer_survey&) = delete;
  // Waits for whoever knows names, where a step does: some seconds at most.
  ~peer_survey();

  void survey(const policies::agent_orders::survey& step) override;
  // Adds what has come of a step to the turn, and closes connections that agents have made.
  void read(agent_turn& into);
  // Adds descriptors that become readable when read() has something to do.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct result {
    policies::agent_reports::surveyed report;
    std::vector<std::unique_ptr<agent_door>> doors = {};
  };

  // A step on its thread.
  struct task {
    policies::agent_orders::survey step;
    runtime::unique_fd stop;  // readable when it is to end
    std::mutex mutex;         // guards the rest
    std::optional<result> outcome;
    bool is_done = false;
    std::thread thread = {};
  };

  void carry_out(task& of) const;
  result listen(std::uint32_t number) const;
  result reach(const task& of) const;
  // Ends the step that is under way, if one is; what has come of it goes to nobody.
  void stop();
  void join_ended();

  const policies::cluster_spec& spec_;
  policies::host_number own_;
  const agent_links& links_;
  agent_link_options options_;
  std::vector<std::unique_ptr<agent_door>> doors_;  // by address of the host, at one port
  runtime::unique_fd news_;                         // readable when a step is done
  std::unique_ptr<task> under_way_;
  std::vector<std::unique_ptr<task>> ending_;  // nobody waits for them
};

}  // namespace tidegate::launch
