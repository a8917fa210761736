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

// Both clocks at one moment.
struct moment {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};

// Reads the ticks before and after, again where the thread was interrupted between them: the
// shortest of some tries.
moment read_both() noexcept {
  constexpr int tries = 20;
  moment best;
  auto shortest = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    const auto before = __rdtsc();
    const auto ns = steady_now();
    const auto took = __rdtsc() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {.ticks = before + took / 2, .ns = ns};
  }
  return best;
}

struct tick_pace {
  std::uint64_t first = 0;
  double ns_per_tick = 0;  // 0: the counter is of no use

  tick_pace() noexcept {
    if (!is_invariant()) return;
    const auto begun = read_both();
    while (steady_now() < begun.ns + measured_for_ns) continue;
    const auto ended = read_both();
    first = begun.ticks;
    ns_per_tick = static_cast<double>(ended.ns - begun.ns) /
                  static_cast<double>(ended.ticks - begun.ticks);
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
