// The part of an agent in surveys of hosts: it listens at the address of its host for the
// agents of others, and connects to theirs, on a thread of its own, as names may take their
// time. The port is open for as long as a survey lasts, and who comes to it and does not prove
// the run's token is a stranger to it as to any control port. All calls from one thread.
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
  ~peer_survey();

  void survey(const policies::agent_orders::survey& step) override;
  // Adds what has come of a step to the turn, and closes connections that agents have made.
  void read(agent_turn& into);
  // Adds descriptors that become readable when read() has something to do.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct result {
    policies::agent_reports::surveyed report;
    std::unique_ptr<agent_door> door = {};
  };

  result listen(std::uint32_t number) const;
  result reach(const policies::agent_orders::survey& step) const;
  // Ends the step that is under way, if one is; what has come of it goes to nobody.
  void stop();

  const policies::cluster_spec& spec_;
  policies::host_number own_;
  const agent_links& links_;
  agent_link_options options_;
  std::unique_ptr<agent_door> door_;
  runtime::unique_fd news_;  // readable when there is a result
  runtime::unique_fd stop_;  // readable when the step is to end
  std::mutex mutex_;         // guards result_
  std::optional<result> result_;
  std::thread thread_;
};

}  // namespace tidegate::launch
