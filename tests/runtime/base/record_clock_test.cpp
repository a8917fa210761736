#include "runtime/base/record_clock.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/unix_time.hpp"

namespace tidegate::runtime {
namespace {

TEST(record_clock, goes_as_fast_as_the_steady_clock) {
  (void)record_now();  // measures
  constexpr std::int64_t span = 50'000'000;
  const auto steady = steady_now();
  const auto begun = record_now();
  while (steady_now() < steady + span) continue;
  const auto took = record_now() - begun;
  const auto real = steady_now() - steady;
  // A machine that is busy may stop this thread between two readings.
  EXPECT_GE(took, span - span / 100);
  EXPECT_LE(took, real + real / 100);
}

TEST(record_clock, does_not_go_back_on_a_thread) {
  auto before = record_now();
  for (int i = 0; i < 100'000; ++i) {
    const auto now = record_now();
    ASSERT_GE(now, before - 1000);
    before = std::max(before, now);
  }
}

}  // namespace
}  // namespace tidegate::runtime
