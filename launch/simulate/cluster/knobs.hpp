// What may be set one way or another without a promise being broken, so that simulated clusters
// draw it: limits, intervals, orders. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "policies/sending/send_queue.hpp"
#include "policies/supervision/retransmit_timer.hpp"

namespace tidegate::sim {

struct knobs {
  std::uint64_t turn_bytes = 2U << 20U;     // ingress_core's
  std::uint64_t opening_bytes = 1U << 20U;  // of tables, in a turn
  policies::retransmit_limits retransmit;
  nanoseconds look = 500 * millisecond;  // at what is to be asked for again, every so often
  nanoseconds mend = 10 * millisecond;   // between attempts to connect again that may be due
  policies::send_limits sends;
  nanoseconds turn = 0;                       // of a process, until what it adds goes out
  nanoseconds go_on = microsecond;            // until what is put off goes on
  nanoseconds poll = 200 * millisecond;       // the launcher's
  nanoseconds start_most = 20 * millisecond;  // of a process, until it runs
  nanoseconds report = 0;                     // between two reports of a worker's progress
  nanoseconds grain = 0;     // frames arrive at multiples: many in an instant, in any order
  double mistakes = 0;       // calls that a program makes out of order, of those it makes
  std::uint64_t turned = 0;  // bits: which are not as above
};

knobs draw_knobs(draws& chance);
// Of the knobs that are named by no bit.
std::vector<std::string> unturned_knobs(std::uint64_t turned);

}  // namespace tidegate::sim
