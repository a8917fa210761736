#include "policies/supervision/restarts.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::int64_t ms = 1'000'000;

TEST(restart_intensity, the_first_is_at_once_then_pauses_double_up_to_the_last) {
  restart_intensity intensity;
  const restart_spec limits{.max_restarts = 9,
                            .within_ms = 60'000,
                            .backoff_first_ms = 100,
                            .backoff_last_ms = 1'000};
  std::vector<std::int64_t> pauses;
  for (std::int64_t i = 0; i < 7; ++i)
    pauses.push_back(intensity.died(i * ms, limits).value() / ms);
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{0, 100, 200, 400, 800, 1000, 1000}));
}

TEST(restart_intensity, too_many_deaths_within_the_time_are_the_end) {
  restart_intensity intensity;
  const restart_spec limits{
      .max_restarts = 3, .within_ms = 1'000, .backoff_first_ms = 1, .backoff_last_ms = 1};
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_TRUE(intensity.died(i * ms, limits));
  EXPECT_FALSE(intensity.died(4 * ms, limits));
  EXPECT_EQ(intensity.recent_deaths(), 4U);
}

TEST(restart_intensity, what_is_long_ago_is_forgiven) {
  restart_intensity intensity;
  const restart_spec limits{
      .max_restarts = 1, .within_ms = 1'000, .backoff_first_ms = 100, .backoff_last_ms = 100};
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(intensity.died(i * 1'001 * ms, limits), 0);
  EXPECT_FALSE(intensity.died(50 * 1'001 * ms - 1 * ms, limits));
}

TEST(restart_intensity, none_may_be_allowed) {
  restart_intensity intensity;
  EXPECT_FALSE(intensity.died(0, {0, 60'000, 100, 100}));
}

}  // namespace
}  // namespace tidegate::policies
