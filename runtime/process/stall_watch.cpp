#include "runtime/process/stall_watch.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/unique_fd.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/fork_count.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::chrono::milliseconds pause{100};
// A thread that is woken runs a little late on any machine.
constexpr std::int64_t late_least_ns = 50'000'000;

}  // namespace

stall_watch::stall_watch() : thread_(pause, [this] { look(); }) {}

std::shared_ptr<stall_watch> stall_watch::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<stall_watch> present;
  static std::uint32_t forks = 0;
  const std::lock_guard lock(mutex);
  // A forked child has the object, and not its thread.
  auto watch = forks == fork_count() ? present.lock() : nullptr;
  forks = fork_count();
  if (!watch) present = watch = std::make_shared<stall_watch>();
  return watch;
}

void stall_watch::look() {
  const auto now = steady_now();
  const auto starved = starved_ns_of_thread();
  if (looked_at_ != 0 && starved && starved_ns_) {
    const auto late = now - looked_at_ - std::chrono::nanoseconds(pause).count() -
                      static_cast<std::int64_t>(*starved - *starved_ns_);
    if (late >= late_least_ns)
      stopped_ns_.fetch_add(static_cast<std::uint64_t>(late), std::memory_order_relaxed);
  }
  looked_at_ = now;
  starved_ns_ = starved;
}

// "CPU_NS DELAY_NS SLICES". The file is of the thread that opened it, which a fork leaves
// behind.
std::optional<std::uint64_t> starved_ns_of_thread() noexcept {
  constexpr auto open_own = [] {
    return unique_fd(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  };
  thread_local auto file = open_own();
  thread_local auto forks = fork_count();
  if (std::exchange(forks, fork_count()) != fork_count()) file = open_own();
  char text[96];
  const auto bytes = file ? ::pread(file.get(), text, sizeof text, 0) : -1;
  if (bytes <= 0) return std::nullopt;
  const std::string_view line(text, static_cast<std::size_t>(bytes));
  const auto begin = line.find(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t delay = 0;
  const auto read = std::from_chars(line.data() + begin + 1, line.data() + line.size(), delay);
  return read.ec == std::errc() ? std::optional(delay) : std::nullopt;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS", and a line "full".
std::uint64_t pressure_ns_in(std::string_view text) noexcept {
  const auto line = text.substr(0, text.find('\n'));
  constexpr std::string_view name = "total=";
  const auto at = line.find(name);
  if (!line.starts_with("some ") || at == std::string_view::npos) return 0;
  std::uint64_t microseconds = 0;
  const auto* const begin = line.data() + at + name.size();
  const auto read = std::from_chars(begin, line.data() + line.size(), microseconds);
  return read.ec == std::errc() ? microseconds * 1000 : 0;
}

std::uint64_t memory_stalls_ns_of_host() noexcept {
  const unique_fd file(::open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC));
  char text[192];
  const auto bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  const auto now = bytes <= 0 ? 0 : pressure_ns_in({text, static_cast<std::size_t>(bytes)});
  static const auto first = now;
  return now - std::min(first, now);
}

std::uint64_t disk_faults_of_process() noexcept {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.ru_majflt);
}

}  // namespace tidegate::runtime
