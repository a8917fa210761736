// The loop around policies::agent_core, without the world: it tells the core in one order all
// that has happened on a host, and carries out all that the core decides, through
// host_port.hpp. It looks for processes that hang. The launcher's own host has one in the
// launcher's process. One thread. Time is an argument: nanoseconds of a clock that never goes
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch/shell/awake_clock.hpp"
#include "launch/shell/host_port.hpp"
#include "policies/agent/core.hpp"
#include "policies/supervision/hang_detector.hpp"

namespace tidegate::launch {

// What has happened since the last turn.
struct agent_turn {
  enum class link_news : std::uint8_t { connected, not_connected, disconnected };
  std::vector<link_news> link = {};
  std::vector<policies::launcher_frame> frames =
      {};  // of the connection that there is, in order
  // What is told of processes and spares, but that they hang and that they could be started.
  std::vector<policies::agent_report> reports = {};
  bool all_ended = false;
  std::string closed = {};  // why the agent is to end; empty: it is not
};

class agent_shell {
 public:
  // `heartbeat_timeout_ms` 0: nobody beats, and nobody hangs. The ports outlive it.
  agent_shell(const policies::agent_options& options, process_port& processes,
              survey_port& others, launcher_port& launcher, std::uint32_t heartbeat_timeout_ms)
      : processes_(processes),
        others_(others),
        launcher_(launcher),
        core_(options),
        hangs_(heartbeat_timeout_ms) {}

  void begin(std::int64_t now);
  void turn(std::int64_t now, agent_turn happened);
  // Returns when a turn is due although nothing has happened; agent_core::never if none is.
  std::int64_t next_wake() const;

  // As agent_core::reports_kept().
  std::size_t reports_kept() const noexcept { return core_.reports_kept(); }
  // Returns true once the agent's work is over; why() says why, and is empty where the launcher
  // has asked for it.
  bool is_over() const noexcept { return core_.is_over(); }
  const std::string& why() const noexcept { return why_; }

 private:
  using effects = policies::agent_effects;

  void look_for_hangs();
  void carry_out();
  void act(const effects::connect&) { launcher_.connect(); }
  void act(const effects::disconnect&) { launcher_.disconnect(); }
  void act(const effects::send& send) { launcher_.send(send.frame); }
  void act(const effects::carry_out& order);
  void act(const effects::end_all&);
  void act(const effects::quit& quit) { why_ = quit.why; }
  void obey(const policies::agent_orders::start& start);
  void obey(const policies::agent_orders::start_spare& start);
  void obey(const policies::agent_orders::end_spare& end) { processes_.end_spare(end.spare); }
  void obey(const policies::agent_orders::signal& signal) {
    processes_.signal(signal.process, signal.content);
  }
  void obey(const policies::agent_orders::state_mirrored& state) {
    processes_.state_mirrored(state.process, state.number);
  }
  void obey(const policies::agent_orders::survey& step) { others_.survey(step); }
  void obey(const policies::agent_orders::tell_spans& wanted);
  void obey(const policies::agent_orders::leave&) {}  // the core's own

  process_port& processes_;
  survey_port& others_;
  launcher_port& launcher_;
  policies::agent_core core_;
  policies::hang_detector hangs_;
  std::map<policies::process_number, std::uint32_t> incarnations_;  // that were started last
  awake_clock clock_;
  effects todo_;
  std::string why_;
};

}  // namespace tidegate::launch
