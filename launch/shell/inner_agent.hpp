// The agent of the launcher's own host, in the launcher's process: the same as any other, with
// a connection that is a call. One thread, the launcher's.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "launch/shell/agent_shell.hpp"
#include "launch/shell/run_port.hpp"

namespace tidegate::launch {

class inner_agent final : private launcher_port {
 public:
  // `processes` and `others` outlive it. `heartbeat_timeout_ms`: see agent_shell.
  inner_agent(process_port& processes, survey_port& others, std::uint32_t heartbeat_timeout_ms)
      : processes_(processes), others_(others), heartbeat_timeout_ms_(heartbeat_timeout_ms) {}

  // run_port::start_agent(), end_agent(), send(). What the agent answers is in take_events()
  // when they return; what processes do comes with a later turn().
  void start(std::int64_t now, std::uint64_t start);
  void end();
  void send(std::int64_t now, const policies::launcher_frame& frame);
  // What has happened to processes. To be called at next_wake(), too.
  void turn(std::int64_t now, agent_turn happened);
  std::vector<agent_event> take_events() { return std::exchange(events_, {}); }
  std::int64_t next_wake() const;

  static constexpr policies::host_number host = 0;
  static constexpr policies::agent_connection connection = 1;

 private:
  void connect() override;
  void disconnect() override;
  void send(const policies::agent_frame& frame) override;
  void carry_out(std::int64_t now);

  process_port& processes_;
  survey_port& others_;
  std::uint32_t heartbeat_timeout_ms_;
  std::unique_ptr<agent_shell> shell_;  // while it was started
  agent_turn todo_;
  bool has_todo_ = false;
  bool is_busy_ = false;  // in a turn of the shell
  std::vector<agent_event> events_;
};

}  // namespace tidegate::launch
