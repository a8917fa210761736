// What the agent of a host decides: when it reaches for its launcher, which orders it carries
// out and what it reports, whose orders it follows, and when it ends everything.
//
//   open --welcome of another launcher--> clearing --all gone--> open, follows that one
//   open, clearing --no word for `unreachable`, dismissed, closed(), an order to leave-->
//   leaving --all gone--> over
//
// While it is open it connects, again and again, says hello, and follows the launcher that
// welcomes it by the name that it knows.
//
// Processes of a host outlive neither their agent (their kernel ends them with it) nor the
// launcher that they belong to: an agent that has heard nothing of it for `unreachable` ends
// them, and the launcher counts them as dead when it has heard nothing for as long, and starts
// others in their places. So does an agent that a later launcher of the run finds: that one
// begins anew from a checkpoint.
//
// Each call appends effects, which the shell carries out in their order. One thread; time is an
// argument: nanoseconds of a clock that never goes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "policies/protocol/agent_messages.hpp"
#include "policies/protocol/message_stream.hpp"

namespace tidegate::policies {

struct agent_options {
  std::uint64_t agent = 0;  // drawn; not 0
  std::uint64_t start = 0;  // as the launcher that has started it said; 0: none has
  // supervision.unreachable; 0: it is in the launcher's own process, always within reach.
  std::int64_t unreachable_ns = 0;
};

struct agent_effects {
  // Connect to the launcher; answered by connected() or not_connected().
  struct connect {};
  // Close the connection; no answer follows.
  struct disconnect {};
  // Send this over the connection.
  struct send {
    agent_frame frame;
  };
  // Do as ordered; what comes of it is told by report().
  struct carry_out {
    agent_order order;
  };
  // End all processes by force; answered by all_ended(). Their ends are not reported.
  struct end_all {};
  // The agent's work is over; `why`: empty where it was asked to go.
  struct quit {
    std::string why;
  };
  std::vector<std::variant<connect, disconnect, send, carry_out, end_all, quit>> all;
};

class agent_core {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  explicit agent_core(const agent_options& options) : options_(options) {}

  // To be called once, before anything else.
  void begin(std::int64_t now, agent_effects& out);
  void connected(std::int64_t now, agent_effects& out);
  void not_connected(std::int64_t now, agent_effects& out);
  // The connection broke.
  void disconnected(std::int64_t now, agent_effects& out);
  // Takes what the launcher has sent over the connection.
  void heard(std::int64_t now, const launcher_frame& frame, agent_effects& out);
  // Tells the launcher, now or when it is there again. What is reported while everything is
  // being ended goes to nobody.
  void report(std::int64_t now, agent_report content, agent_effects& out);
  void all_ended(std::int64_t now, agent_effects& out);
  // Whoever has started this agent is gone, or wants it to end.
  void closed(std::int64_t now, const std::string& why, agent_effects& out);
  // To be called at next_wake().
  void tick(std::int64_t now, agent_effects& out);
  std::int64_t next_wake() const;

  // Returns how many reports the launcher has not taken yet, as far as is known: whoever has
  // much to report waits while there are many.
  std::size_t reports_kept() const noexcept { return reports_.size(); }
  bool is_over() const noexcept { return phase_ == phase::over; }

 private:
  enum class phase : std::uint8_t { open, clearing, leaving, over };

  bool is_following() const noexcept { return is_welcome_ && phase_ == phase::open; }
  void try_to_connect(std::int64_t now, agent_effects& out);
  void welcomed(std::int64_t now, const launcher_frame::welcome& by, std::uint64_t taken,
                agent_effects& out);
  void ordered(std::int64_t now, const launcher_frame::order& order, agent_effects& out);
  void say_hello(std::int64_t now, agent_effects& out);
  void leave(std::string why, agent_effects& out);
  template <class Content>
  void send(std::int64_t now, Content content, agent_effects& out);
  std::int64_t sign_interval() const noexcept { return options_.unreachable_ns / 8; }

  agent_options options_;
  phase phase_ = phase::open;
  bool is_connected_ = false;
  bool is_connecting_ = false;
  bool is_welcome_ = false;     // by the launcher that it follows, over this connection
  std::uint64_t launcher_ = 0;  // that it follows; 0: none
  std::uint64_t next_ = 0;      // that it will follow when all is cleared
  std::int64_t heard_at_ = 0;   // the launcher, last
  std::int64_t joined_at_ = 0;  // the connection was made
  std::int64_t sent_at_ = 0;
  std::int64_t connect_at_ = never;
  std::int64_t pause_ = 0;
  std::string why_;  // it leaves
  message_outbox<agent_report> reports_;
  message_inbox orders_;
};

}  // namespace tidegate::policies
