// What the session of a simulated worker notes in the program's thread: pushes, which take no
// time here, and waits. One thread.
#pragma once

#include <cstdint>

#include "actors/seam/shell_home.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::sim {

class program_spans {
 public:
  // `home` outlives it.
  explicit program_spans(actors::shell_home& home) : home_(home) {}

  // The program computes from now on: what it has waited for is there.
  void computes(nanoseconds now) { end_wait(now); }
  // It has computed, and may wait for room.
  void computed(nanoseconds now) { since_ = now; }
  // It pushes now, in this clock of a job.
  void pushes(nanoseconds now, std::uint64_t job, std::uint64_t clock) {
    end_wait(now);
    has_pushed_ = true;
    home_.record({.begin_ns = now,
                  .end_ns = now,
                  .job = job,
                  .clock = clock,
                  .table = runtime::whole_job,
                  .count = 0,
                  .kind = runtime::span_kind::call,
                  .detail = static_cast<std::uint8_t>(runtime::traced_call::exchange),
                  .extra = runtime::unknown_staleness});
  }

 private:
  void end_wait(nanoseconds now) {
    if (has_pushed_ && now > since_)
      home_.record({.begin_ns = since_, .end_ns = now, .kind = runtime::span_kind::wait});
    since_ = now;
  }

  actors::shell_home& home_;
  nanoseconds since_ = 0;  // when it computed or pushed last
  bool has_pushed_ = false;
};

}  // namespace tidegate::sim
