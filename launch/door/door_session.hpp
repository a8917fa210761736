// One connection at a door. Once its peer, a relay, has proven the key, the session starts an
// agent of the host, and hands on what goes to its standard input and what it says. The agent's
// standard input ends with the connection, and the agent with that. Main thread; does not
// block.
#pragma once

#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "launch/processes/spawn.hpp"
#include "runtime/sockets/tls_channel.hpp"

namespace tidegate::launch {

class door_session {
 public:
  // `agent`: starts it; its input and output are the session's to give. `peer`: for people.
  door_session(runtime::tls_channel channel, std::string peer, const spawn_request& agent,
               std::int64_t now);

  bool is_proven() const noexcept { return channel_.is_proven(); }
  std::int64_t since() const noexcept { return since_; }
  const std::string& peer() const noexcept { return peer_; }
  // Returns true once there is nothing more to do; why_refused() says so of a stranger.
  bool is_over() const noexcept { return is_over_; }
  const std::string& why_refused() const noexcept { return why_refused_; }
  bool is_agent(pid_t pid) const noexcept { return agent_ && agent_->pid == pid; }

  void add_to(std::vector<pollfd>& fds) const;
  void advance(std::int64_t now);
  // Returns when advance() is due although nothing has happened.
  std::int64_t next_wake() const noexcept { return due_; }
  // Ends the agent's standard input, as the end of the connection does.
  void let_go(std::int64_t now);
  // Ends the agent now, with all that it has started.
  void end();

 private:
  void start_agent(std::int64_t now);
  void refuse_agent(const std::string& why, std::int64_t now);
  void hand_on(std::int64_t now);
  bool take_messages(std::int64_t now);
  void feed_agent();
  void hear_agent();
  void take_end(std::int64_t now);
  void say(const std::string& text) { channel_.send(text); }

  runtime::tls_channel channel_;
  std::string peer_;
  spawn_request request_;
  std::int64_t since_ = 0;
  std::int64_t due_ = 0;

  std::optional<spawned> agent_;
  runtime::unique_fd to_agent_;
  runtime::unique_fd from_agent_;
  std::string input_;  // not written yet
  bool input_ends_ = false;
  bool is_peer_gone_ = false;
  bool has_ended_ = false;  // the agent
  bool is_over_ = false;
  std::string why_refused_;
};

}  // namespace tidegate::launch
