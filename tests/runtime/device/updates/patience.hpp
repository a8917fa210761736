// How long a test polls for what must come. A device that a thread paces may wait for a core.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace tidegate::tests {

class patience {
 public:
  // Called after each poll in vain. Returns true if nothing will come any more.
  bool is_over() {
    if (++polls_ % polls_per_look != 0) return false;
    std::this_thread::yield();
    return std::chrono::steady_clock::now() - began_ > limit;
  }

 private:
  static constexpr std::uint64_t polls_per_look = 4096;
  static constexpr std::chrono::seconds limit{20};

  std::uint64_t polls_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace tidegate::tests
