// A run goes on once, in an epoch of its own, and only when something is left to do.
#include "policies/checkpoint/resume.hpp"

#include <limits>

#include <gmock/gmock.h>

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::HasSubstr;

run_remains killed_in(std::uint32_t epoch) {
  run_remains remains;
  remains.has_spec = true;
  remains.last_epoch = epoch;
  return remains;
}

TEST(resume, goes_on_in_the_next_epoch) {
  const auto plan = plan_resume(killed_in(3), "r");
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->is_done);
  EXPECT_EQ(plan->epoch, 4U);
  EXPECT_EQ(plan_resume(killed_in(0), "r")->epoch, 1U)
      << "killed before the first was on record";
}

TEST(resume, a_run_that_has_failed_goes_on_and_one_that_is_done_does_not) {
  auto remains = killed_in(2);
  for (const int failed : {1, 3}) {
    remains.exit_code = failed;
    EXPECT_FALSE(plan_resume(remains, "r")->is_done);
  }
  remains.exit_code = 0;
  EXPECT_TRUE(plan_resume(remains, "r")->is_done);
}

TEST(resume, while_a_launcher_lives_nothing_else_counts) {
  auto remains = killed_in(2);
  remains.has_launcher = true;
  remains.exit_code = 0;
  const auto plan = plan_resume(remains, "runs/x");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), errc::already_exists);
  EXPECT_THAT(plan.error().message(), HasSubstr("runs/x: a launcher of this run lives"));
}

TEST(resume, what_never_began_is_not_resumed) {
  const auto plan = plan_resume({}, "runs/x");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), errc::not_found);
  EXPECT_THAT(plan.error().message(), HasSubstr("no run began here"));
}

TEST(resume, epochs_do_not_wrap) {
  const auto plan = plan_resume(killed_in(std::numeric_limits<std::uint32_t>::max()), "r");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), errc::over_limit);
}

}  // namespace
}  // namespace tidegate::policies
