// Tells the coordinator when pushes have come in: once in a while, whatever happens, and as
// frames come. One thread, the home's.
#pragma once

#include <cstdint>

#include "actors/seam/shell_home.hpp"
#include "policies/shard/ingress_core.hpp"

namespace tidegate::actors {

class arrival_reports {
 public:
  arrival_reports(shell_home& home, policies::ingress_core& core) : home_(home), core_(core) {}

  // Before the core hears of the frame.
  void frame_comes() {
    const auto now = home_.record_now();
    core_.set_time(now);
    if (now < reported_at_ + pause_ns) return;
    reported_at_ = now;
    if (const auto closed = core_.take_arrivals(); !closed.empty())
      home_.report_arrivals(closed);
  }

 private:
  static constexpr std::int64_t pause_ns = 1'000'000'000;

  shell_home& home_;
  policies::ingress_core& core_;
  std::int64_t reported_at_ = 0;
};

}  // namespace tidegate::actors
