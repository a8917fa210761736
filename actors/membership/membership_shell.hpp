// Keeps a process in its cluster: it finds the coordinator, joins it, stays until it is lost,
// and does the same with the next coordinator.
//
// One step at a time: begin() returns the first, the adapter carries it out, tells with next()
// how that went, and gets the following one, until `give_up`. An adapter may block (CAF) or be
// called back (the simulator); it decides nothing. One thread. Time is an argument: nanoseconds
// of a clock that never goes back.
#pragma once

#include <cstdint>

#include "policies/supervision/retry_backoff.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

struct membership_step {
  enum class action : std::uint8_t {
    find,     // connect to where the coordinator listens; unavailable: nobody does
    join,     // ask the one that was found last to let this process in; unavailable: it is gone
    rest,     // for `pause_ns`
    stay,     // until the one that was found last is lost
    give_up,  // there is no place in the cluster for this process: `why`
  };
  action kind = action::stay;
  std::int64_t pause_ns = 0;
  runtime::status why;
};

class membership_shell {
 public:
  // `give_up_ms`: for so long nobody may be found, or be too busy to let the process in.
  explicit membership_shell(std::uint32_t give_up_ms) : give_up_ms_(give_up_ms) {}

  membership_step begin(std::int64_t now);
  // Begins where a coordinator has been found already.
  membership_step begin_found(std::int64_t now);
  // Takes the result of the step; of `rest` and `stay`, that they are over.
  membership_step next(std::int64_t now, const runtime::status& result = {});

 private:
  using action = membership_step::action;

  membership_step go(action kind) { return {.kind = at_ = kind, .pause_ns = 0, .why = {}}; }
  membership_step failed(std::int64_t now, const runtime::status& why);

  std::uint32_t give_up_ms_;
  action at_ = action::give_up;
  policies::retry_backoff backoff_{0, 0};
};

}  // namespace tidegate::actors
