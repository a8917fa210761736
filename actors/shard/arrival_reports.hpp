// Tells the coordinator when pushes have come in, and how busy this process is: now and then,
// as frames come and clocks close, and when a worker has finished. One thread, the home's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "actors/seam/shell_home.hpp"
#include "policies/shard/ingress_core.hpp"

namespace tidegate::actors {

class arrival_reports {
 public:
  arrival_reports(shell_home& home, policies::ingress_core& core) : home_(home), core_(core) {}

  // As long as it lives a frame is handled, or what was put off. What comes while this process
  // works waits to be handled, and is not late for that: arrivals are told by a clock that
  // stands still meanwhile.
  class work {
   public:
    enum class kind : std::uint8_t { frame, farewell, put_off };
    work(arrival_reports& of, kind begun) : of_(of), kind_(begun) {
      of_.begin();
      if (kind_ == kind::frame && of_.is_due()) of_.report();
    }
    // The job may have ended before another report is due.
    ~work() {
      of_.end();
      if (kind_ == kind::farewell) of_.report();
    }
    work(const work&) = delete;
    work& operator=(const work&) = delete;

   private:
    arrival_reports& of_;
    kind kind_;
  };

 private:
  void begin() {
    began_ = home_.record_now();
    if (first_ == 0) first_ = began_;
    core_.set_time(began_ - busy_ns_);
  }
  bool is_due() const noexcept { return began_ >= reported_at_ + pause_ns; }
  void report() {
    reported_at_ = began_;
    auto closed = core_.take_arrivals();
    if (closed.empty()) return;
    home_.report_arrivals({.closed = std::move(closed),
                           .times = {.elapsed_ns = static_cast<std::uint64_t>(began_ - first_),
                                     .busy_ns = static_cast<std::uint64_t>(busy_ns_),
                                     .pressure = home_.pressure()}});
  }
  void end() { busy_ns_ += std::max<std::int64_t>(0, home_.record_now() - began_); }

  static constexpr std::int64_t pause_ns = 1'000'000'000;

  shell_home& home_;
  policies::ingress_core& core_;
  std::int64_t first_ = 0;
  std::int64_t began_ = 0;
  std::int64_t busy_ns_ = 0;
  std::int64_t reported_at_ = 0;
};

}  // namespace tidegate::actors
