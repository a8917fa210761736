// What keeps a reactor from spinning when its link wakes it again and again and then has
// nothing to do: UCX 1.13 asks for sockets that are ready to send while it waits for the other
// side of a connection to answer, which may take seconds (of a host that is gone, until
// supervision.unreachable). A value; one thread.
#pragma once

#include <algorithm>
#include <chrono>

namespace tidegate::actors {

class futile_wakeups {
 public:
  using duration = std::chrono::microseconds;

  // There was something to do.
  void worked() noexcept { count_ = 0; }
  // The reactor woke after so long.
  void woken(std::chrono::nanoseconds slept) noexcept {
    count_ = slept < pause_max ? count_ + 1 : 0;
  }
  // Returns how long to leave the link alone before the reactor sleeps; 0: not at all.
  duration pause() const noexcept {
    if (count_ < free_of_charge) return duration(0);
    const auto doublings = std::min((count_ - free_of_charge) / per_doubling, doublings_max);
    return std::min(pause_min * (1U << doublings), pause_max);
  }

  // Wake-ups in a row that may have nothing to do: several frames make one message.
  static constexpr unsigned free_of_charge = 64;
  static constexpr duration pause_min{30};
  static constexpr duration pause_max{1000};

 private:
  static constexpr unsigned per_doubling = 8;
  static constexpr unsigned doublings_max = 10;

  unsigned count_ = 0;
};

}  // namespace tidegate::actors
