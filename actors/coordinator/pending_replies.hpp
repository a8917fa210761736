// Those who wait for an answer that the coordinator's core gives later, by the tickets that the
// core knows them by. The shell takes a ticket for a request, and delivers what the core has
// decided. One thread, the port's.
#pragma once

#include <map>

#include "actors/coordinator/control_port.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::actors {

class pending_replies {
 public:
  // Returns the ticket, which was never used before, of an answer that `reply` waits for.
  policies::ticket wait(reply_to reply);
  // Moves the answer out, and replies; nothing if nobody waits for it any more.
  void deliver(policies::coordinator_effects::answer& answer);
  // Nothing will be delivered: all are answered with this.
  void refuse_all(const runtime::status& why);

 private:
  policies::ticket last_ticket_ = 0;
  std::map<policies::ticket, reply_to> waiting_;
};

}  // namespace tidegate::actors
