// The world of an agent that is a process of its own: launch/shell/agent_shell.hpp decides.
// Main thread only (see spawn.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/agents/agent_config.hpp"
#include "launch/agents/agent_door.hpp"
#include "launch/agents/connector.hpp"
#include "launch/agents/frame_connection.hpp"
#include "launch/agents/log_tails.hpp"
#include "launch/agents/peer_survey.hpp"
#include "launch/processes/run_processes.hpp"
#include "launch/processes/signals.hpp"
#include "launch/processes/starter.hpp"
#include "launch/shell/agent_shell.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

class host_loop final : private launcher_port {
 public:
  // All but `tails` outlive it. `folder`: of the run, on this host. `tails`: of logs that the
  // launcher does not see. The launcher hears where this processor is another than its own.
  host_loop(const agent_config& config, const std::string& folder,
            const policies::cluster_spec& spec, const starter& programs,
            const agent_links& links, std::optional<log_tails> tails);

  // Blocks until the agent's work is over. Returns true if the launcher has asked for that; why
  // else is logged.
  bool carry_out();

 private:
  void wait();
  agent_turn collect();
  void read_input(agent_turn& into);
  void read_link(agent_turn& into);
  void read_logs(agent_turn& into);
  bool may_tell_logs() const;

  void connect() override { connector_.start(); }
  void disconnect() override { link_.close(); }
  void send(const policies::agent_frame& frame) override;

  const agent_config& config_;
  signal_source signals_;
  run_processes processes_;
  peer_survey others_;
  agent_shell shell_;
  connector connector_;
  frame_connection link_;
  std::optional<log_tails> tails_;
  std::vector<policies::agent_report> notes_;  // of what was found before it began
  std::string why_not_connected_;              // as was told last
  bool has_input_ = true;
};

}  // namespace tidegate::launch
