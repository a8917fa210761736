// A question that whoever waits asks now and then: is the wait to end?
//
// A session's program sets it (session::connect), so that Ctrl-C, say, ends a wait. One thread
// at a time.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

class interrupt_check {
 public:
  // How often it is asked at most, and how long a waiter that has it sleeps at most.
  static constexpr std::chrono::milliseconds interval{100};

  // Returns the outcome of what was interrupted.
  static runtime::status status_of(const std::string& doing) {
    return {runtime::errc::cancelled, doing + ": interrupted"};
  }

  interrupt_check() = default;  // never interrupts
  explicit interrupt_check(std::function<bool()> interrupted)
      : interrupted_(std::move(interrupted)) {}

  bool is_set() const noexcept { return interrupted_ != nullptr; }
  // Asks when it is due; returns true if the wait is to end.
  bool operator()() {
    if (!interrupted_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < due_) return false;
    due_ = now + interval;
    return interrupted_();
  }

 private:
  std::function<bool()> interrupted_;
  std::chrono::steady_clock::time_point due_{};
};

}  // namespace tidegate::actors
