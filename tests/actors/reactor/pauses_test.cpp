// How long a reactor keeps from yielding, and from its link.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "actors/reactor/core_contention.hpp"
#include "actors/reactor/futile_wakeups.hpp"

namespace tidegate::tests {
namespace {

TEST(core_contention, is_believed_for_longer_each_time_that_it_comes_again) {
  using contention = actors::core_contention;
  contention core;
  contention::clock::time_point now(std::chrono::hours(1));
  EXPECT_FALSE(core.is_likely(now));
  core.yielded(now - contention::yield_long, now);
  EXPECT_FALSE(core.is_likely(now)) << "a yield of usual length";

  auto believed = contention::believed_min;
  for (int i = 0; i < 10; ++i) {
    now += 2 * contention::yield_long;
    core.yielded(now - 2 * contention::yield_long, now);
    EXPECT_TRUE(core.is_likely(now + believed - std::chrono::microseconds(1)));
    now += believed;
    EXPECT_FALSE(core.is_likely(now));
    believed = std::min(2 * believed, contention::believed_max);
  }
  EXPECT_EQ(believed, contention::believed_max);

  // As late as that it still counts as the same.
  now += contention::forgotten_after - std::chrono::microseconds(1);
  core.yielded(now, now + 2 * contention::yield_long);
  now += 2 * contention::yield_long + contention::believed_max;
  EXPECT_TRUE(core.is_likely(now - std::chrono::microseconds(1)));

  // After a time without, a single long yield is believed for a moment again.
  now += contention::forgotten_after + 2 * contention::yield_long;
  core.yielded(now - 2 * contention::yield_long, now);
  EXPECT_FALSE(core.is_likely(now + contention::believed_min));
}

TEST(futile_wakeups, make_a_reactor_rest_longer_and_longer) {
  actors::futile_wakeups wakeups;
  using std::chrono::nanoseconds;
  for (unsigned i = 0; i < actors::futile_wakeups::free_of_charge; ++i) {
    EXPECT_EQ(wakeups.pause().count(), 0);
    wakeups.woken(nanoseconds(100));
  }
  EXPECT_EQ(wakeups.pause(), actors::futile_wakeups::pause_min);
  auto longest = wakeups.pause();
  for (int i = 0; i < 1000; ++i) {
    wakeups.woken(nanoseconds(100));
    EXPECT_GE(wakeups.pause(), longest);
    longest = wakeups.pause();
  }
  EXPECT_EQ(longest, actors::futile_wakeups::pause_max);
  wakeups.woken(actors::futile_wakeups::pause_max);  // it has slept, and all is well
  EXPECT_EQ(wakeups.pause().count(), 0);
  for (int i = 0; i < 1000; ++i) wakeups.woken(nanoseconds(100));
  wakeups.worked();
  EXPECT_EQ(wakeups.pause().count(), 0);
}

}  // namespace
}  // namespace tidegate::tests
