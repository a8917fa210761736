#include "runtime/base/unix_time.hpp"

#include <chrono>

namespace tidegate::runtime {

namespace {

template <class Clock>
std::int64_t now_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::int64_t unix_now() {
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  static const auto begin = now_of<system_clock>() - now_of<steady_clock>();
  return begin + now_of<steady_clock>();
}

std::int64_t steady_now() {
  return now_of<std::chrono::steady_clock>();
}

}  // namespace tidegate::runtime
