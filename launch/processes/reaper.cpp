#include "launch/processes/reaper.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <utility>

#include "launch/processes/pid_fd.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

namespace {

class reaper {
 public:
  reaper() {
    runtime::start_service_thread([this] { run(); }).detach();
  }

  void add(pid_t child, runtime::unique_fd pid_fd) {
    {
      const std::lock_guard lock(mutex_);
      leaving_.push_back({child, std::move(pid_fd)});
    }
    has_some_.notify_one();
  }

  bool has(pid_t child) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(leaving_, [&](const auto& each) { return each.pid == child; });
  }

 private:
  struct entry {
    pid_t pid = -1;
    runtime::unique_fd pid_fd;
  };

  [[noreturn]] void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      has_some_.wait(lock, [this] { return !leaving_.empty(); });
      const auto child = static_cast<id_t>(leaving_.front().pid_fd.get());
      lock.unlock();
      siginfo_t info = {};
      while (::waitid(by_pid_fd, child, &info, WEXITED) != 0 && errno == EINTR) continue;
      lock.lock();
      leaving_.pop_front();
    }
  }

  std::mutex mutex_;
  std::condition_variable has_some_;
  std::deque<entry> leaving_;
};

// Its thread may be in the kernel when the process ends.
reaper& the_reaper() {
  static auto& only = *new reaper;
  return only;
}

}  // namespace

void take_leave(pid_t child, runtime::unique_fd pid_fd) {
  the_reaper().add(child, std::move(pid_fd));
}

bool is_leaving(pid_t child) {
  return the_reaper().has(child);
}

}  // namespace tidegate::launch
