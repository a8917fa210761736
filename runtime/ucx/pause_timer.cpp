#include "runtime/ucx/pause_timer.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

status pause_timer::open() {
  fd_ = unique_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (fd_) return {};
  return {errc::over_limit, std::string("making a timer: ") + std::strerror(errno)};
}

void pause_timer::start(std::uint32_t pause_ms) {
  itimerspec pause{};
  pause.it_value.tv_sec = pause_ms / 1000;
  pause.it_value.tv_nsec = static_cast<long>(pause_ms % 1000) * 1'000'000;
  const bool started = ::timerfd_settime(fd_.get(), 0, &pause, nullptr) == 0;
  TIDEGATE_ASSERT(started, "a timer takes a pause");
  runs_ = true;
}

bool pause_timer::over() {
  std::uint64_t times = 0;
  if (!runs_ || ::read(fd_.get(), &times, sizeof times) < 0) return false;  // EAGAIN: not yet
  runs_ = false;
  return true;
}

}  // namespace tidegate::runtime
