// A service thread (service_thread.hpp) that does the same thing again and again until it is
// ended.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tidegate::runtime {

class periodic_thread {
 public:
  // Calls `turn` on a thread of its own: at once, and again a `pause` after each turn.
  periodic_thread(std::chrono::milliseconds pause, std::function<void()> turn);
  ~periodic_thread() { end(); }
  periodic_thread(const periodic_thread&) = delete;
  periodic_thread& operator=(const periodic_thread&) = delete;

  // Waits for a turn that is under way, but for no pause; no turn comes after it. May be called
  // again. Not from a turn, and by one thread at a time.
  void end();

 private:
  void run();

  std::chrono::milliseconds pause_;
  std::function<void()> turn_;
  std::mutex mutex_;  // guards ending_
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tidegate::runtime
