// A host as the launcher knows it: whether its agent is there, what it was ordered to do, and
// what it has reported. The counterpart of agent_core (policies/agent/core.hpp).
//
//   starting, away --hello of an agent that follows this launcher--> up
//   up --no word for `unreachable`, or the agent ends, or another one says hello--> away
//   starting --the agent ends, or has not said hello within `start_timeout`--> away
//
// What is ordered before the agent is up waits for it; away, nothing is ordered, and what was
// is forgotten with the processes of the host. An agent that ends is started again, after a
// pause that doubles, as long as the run lasts; others than the one that was started last are
// dismissed. Where somebody else starts agents (mpirun, say), the first that comes is the
// host's until it is gone.
//
// Each call appends effects. One thread; time is an argument.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/protocol/agent_messages.hpp"
#include "policies/protocol/message_stream.hpp"

namespace tidegate::policies {

using agent_connection = std::uint64_t;  // counts the connections of agents from 1

struct host_options {
  std::string name;
  std::uint64_t launcher = 0;  // drawn by this launcher; not 0
  bool starts_agent = true;    // else somebody else does
  // supervision.unreachable; 0: its agent is in the launcher's process, always within reach.
  std::int64_t unreachable_ns = 0;
  std::int64_t start_ns = 0;  // cluster.start_timeout: an agent is there within it
};

struct host_effects {
  // Start the agent of this host, which is told this number of its start; agent_ended() follows
  // when it ends or cannot be started.
  struct start_agent {
    host_number host = 0;
    std::uint64_t start = 0;
  };
  // End what start_agent has started, by force; agent_ended() follows.
  struct end_agent {
    host_number host = 0;
  };
  struct send {
    agent_connection over = 0;
    launcher_frame frame;
  };
  struct close {
    agent_connection connection = 0;
  };
  // What the agent has reported, each once and in order, between up and down.
  struct reported {
    host_number host = 0;
    agent_report content;
  };
  // The host may be used; or all its processes count as dead, for this reason.
  struct up {
    host_number host = 0;
  };
  struct down {
    host_number host = 0;
    std::string why;
  };
  // The host that is down has still no agent: what was started as one has ended, too.
  struct stays_down {
    host_number host = 0;
    std::string why;
  };
  std::vector<std::variant<start_agent, end_agent, send, close, reported, up, down, stays_down>>
      all;
};

class host_contact {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  host_contact(host_number host, host_options options)
      : host_(host), options_(std::move(options)) {}

  void begin(std::int64_t now, host_effects& out);
  // An agent of this host has said hello, over this connection, for the first time or again.
  void greeted(std::int64_t now, agent_connection over, const agent_frame::hello& hello,
               std::uint64_t taken, host_effects& out);
  // Takes what the agent has sent over a connection that has greeted.
  void heard(std::int64_t now, agent_connection over, const agent_frame& frame,
             host_effects& out);
  void disconnected(agent_connection connection);
  // Its agent, which has not said hello yet, copies files that the host lacks: it has
  // `start_timeout` again.
  void copies(std::int64_t now) noexcept;
  // What was started last as its agent has ended, or could not be started.
  void agent_ended(std::int64_t now, const std::string& why, host_effects& out);
  // Asserted: the host is not away.
  void order(std::int64_t now, agent_order content, host_effects& out);
  // Everything is over: the agent is told to leave, and is not started again. One that has not
  // gone within `unreachable` is ended by force.
  void leave(std::int64_t now, host_effects& out);
  // Ends what was started as its agent, if that has not ended.
  void end_by_force(host_effects& out);
  void tick(std::int64_t now, host_effects& out);
  std::int64_t next_wake() const;

  const std::string& name() const noexcept { return options_.name; }
  bool is_up() const noexcept { return phase_ == phase::up; }
  // Returns true if processes may be ordered here: it is up, or is expected to come up soon.
  bool may_order() const noexcept { return phase_ == phase::starting || is_up(); }
  // Returns true once its agent has ended after leave().
  bool is_gone() const noexcept { return is_leaving_ && !has_agent_; }

 private:
  enum class phase : std::uint8_t { starting, up, away };

  // Returns true if this is the agent that the host is to have.
  bool admits(agent_connection over, const agent_frame::hello& hello, host_effects& out) const;
  void come_up(host_effects& out);
  void go_down(const std::string& why, host_effects& out);
  std::string about(const std::string& why) const {
    return "host " + options_.name + ": " + why;
  }
  void start_agent(std::int64_t now, host_effects& out);
  void sign(std::int64_t now, host_effects& out);
  template <class Content>
  void send(std::int64_t now, Content content, host_effects& out);
  std::int64_t sign_interval() const noexcept { return options_.unreachable_ns / 8; }

  host_number host_;
  host_options options_;
  phase phase_ = phase::starting;
  bool has_agent_ = false;  // something that was started as one has not ended
  bool is_leaving_ = false;
  std::uint64_t start_ = 0;          // of the agent that was started last
  std::uint64_t agent_ = 0;          // the one that is up; 0: none is
  agent_connection connection_ = 0;  // 0: it has no connection
  std::int64_t heard_at_ = 0;
  std::int64_t sent_at_ = 0;
  std::int64_t start_at_ = never;  // the agent is started again
  std::int64_t end_at_ = never;    // it is ended by force
  std::int64_t pause_ = 0;
  message_outbox<agent_order> orders_;
  message_inbox reports_;
  std::uint64_t told_taken_ = 0;  // reports, by what was sent last
};

}  // namespace tidegate::policies
