// Where the time of a simulated worker goes, as a session tells it: from its first push on.
// Plain sums, by the worker's own clock.
#pragma once

#include <cstdint>
#include <span>

#include "launch/simulate/cluster/schedule.hpp"
#include "policies/protocol/control_calls.hpp"

namespace tidegate::sim {

class session_times {
 public:
  void pushes(nanoseconds now) noexcept {
    if (since_ != 0) return;
    since_ = now;
    computed_ = credits_ = collected_ = 0;
  }
  void computed(nanoseconds takes) noexcept { computed_ += takes; }
  // Of what it computes.
  void collected_garbage(nanoseconds takes) noexcept { collected_ += takes; }
  void waited_for_credits(nanoseconds takes) noexcept { credits_ += takes; }

  policies::worker_progress report(nanoseconds now, std::uint64_t clock,
                                   const policies::process_pressure& pressure,
                                   std::span<const policies::rank_arrivals> answers) const {
    policies::worker_progress all;
    all.clock = clock;
    all.times = {.elapsed_ns = static_cast<std::uint64_t>(now - since_),
                 .wait_ns = static_cast<std::uint64_t>(now - since_ - computed_),
                 .credit_ns = static_cast<std::uint64_t>(credits_),
                 .garbage_ns = static_cast<std::uint64_t>(collected_),
                 .pressure = pressure};
    all.answers.assign(answers.begin(), answers.end());
    return all;
  }

 private:
  nanoseconds since_ = 0;  // 0: it has not pushed
  nanoseconds computed_ = 0;
  nanoseconds credits_ = 0;
  nanoseconds collected_ = 0;
};

}  // namespace tidegate::sim
