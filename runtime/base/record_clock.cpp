#include "runtime/base/record_clock.hpp"

#include "runtime/base/unix_time.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace tidegate::runtime {

#if defined(__x86_64__)

namespace {

constexpr std::int64_t measured_for_ns = 1'000'000;

// Says so of processors whose counter has one pace, whatever they do.
bool is_invariant() noexcept {
  constexpr unsigned power_leaf = 0x80000007U;
  constexpr unsigned invariant_bit = 1U << 8U;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(power_leaf, &a, &b, &c, &d) != 0 && (d & invariant_bit) != 0;
}

struct tick_pace {
  std::uint64_t first = 0;
  double ns_per_tick = 0;  // 0: the counter is of no use

  tick_pace() noexcept {
    if (!is_invariant()) return;
    auto now = steady_now();
    const auto begun = now;
    first = __rdtsc();
    while (now < begun + measured_for_ns) now = steady_now();
    ns_per_tick = static_cast<double>(now - begun) / static_cast<double>(__rdtsc() - first);
  }
};

}  // namespace

std::int64_t record_now() noexcept {
  static const tick_pace pace;
  if (pace.ns_per_tick == 0) return steady_now();
  // Of the difference, which a double holds to the nanosecond for a month.
  return static_cast<std::int64_t>(static_cast<double>(__rdtsc() - pace.first) *
                                   pace.ns_per_tick);
}

#else

std::int64_t record_now() noexcept {
  return steady_now();
}

#endif

}  // namespace tidegate::runtime
