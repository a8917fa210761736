// The world as the shell of a host's agent sees it: the processes of the host, other hosts, and
// the launcher. The agent's main thread is an adapter, the simulator another; neither decides
// anything. One thread; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/protocol/agent_messages.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

using policies::launched_process;
using policies::process_signal;

// A process that has been started.
struct spawned_process {
  std::int64_t pid = 0;
  std::uint64_t started_at = 0;  // as the kernel of the host counts it
  bool was_spare = false;
};

class process_port {
 public:
  virtual ~process_port() = default;

  // Starts a process, or hands it to the spare that is named, if that lives; its end comes in
  // agent_turn::reports. Errors: the reason why it cannot be started.
  virtual runtime::expected<spawned_process> spawn(
      const policies::agent_orders::start& start) = 0;
  // Starts a process that waits for a place, or has a spare copy itself; agent_turn::reports
  // tell how it goes on, until spawn() has handed it over. Errors: as spawn().
  virtual runtime::status spawn_spare(const policies::agent_orders::start_spare& start) = 0;
  // Ends a spare by force; nothing where it has ended, or is no spare any more.
  virtual void end_spare(policies::spare_number spare) = 0;
  // As agent_orders::signal.
  virtual void signal(const launched_process& process, process_signal content) = 0;
  // As agent_orders::state_mirrored.
  virtual void state_mirrored(const launched_process& process, std::uint64_t number) = 0;
  // Returns what processes have noted of what they did, those that have ended lately, too:
  // `most` spans at most.
  virtual std::vector<policies::agent_reports::spans> spans(std::size_t most) = 0;
  // Ends all processes by force, spares too, and forgets what workers have kept;
  // agent_turn::all_ended tells when they are gone, in a later turn.
  virtual void end_all() = 0;
  // Returns how often each process that lives has beaten.
  virtual std::vector<policies::beat_reading> beats() = 0;
};

// How an agent finds out which other hosts its own reaches.
class survey_port {
 public:
  virtual ~survey_port() = default;
  // Carries out a step, and ends what another survey has left; agent_turn::reports tell what
  // has come of it.
  virtual void survey(const policies::agent_orders::survey& step) = 0;
};

// The connection of an agent to its launcher.
class launcher_port {
 public:
  virtual ~launcher_port() = default;
  // Answered by agent_turn::link.
  virtual void connect() = 0;
  virtual void disconnect() = 0;
  virtual void send(const policies::agent_frame& frame) = 0;
};

}  // namespace tidegate::launch
