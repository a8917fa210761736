#include "launch/shell/quiet_ends.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using policies::process_role;
using testing::ElementsAre;
using testing::IsEmpty;

policies::process_name worker(const std::string& job, std::uint32_t rank) {
  return {.role = process_role::worker, .job = job, .index = rank};
}

policies::job_status job_of(const std::string& name) {
  policies::job_status job;
  job.name = name;
  return job;
}

TEST(quiet_ends, are_those_that_have_not_finished) {
  quiet_ends ends;
  ends.ended(3, worker("a", 0), "a0");
  ends.ended(4, worker("a", 1), "a1");
  ends.ended(5, worker("a", 2), "a2");
  ends.ended(6, worker("b", 0), "b0");
  auto job = job_of("a");
  job.ranks_finished = {1};
  job.changes = {{.rank = 2, .clock = 9, .joins = false}};
  EXPECT_THAT(ends.take(job), ElementsAre("a0"));
  EXPECT_THAT(ends.take(job), IsEmpty()) << "each once";
  EXPECT_THAT(ends.take(job_of("b")), ElementsAre("b0"));
}

TEST(quiet_ends, forget_who_is_started_again) {
  quiet_ends ends;
  ends.ended(3, worker("a", 0), "a0");
  ends.ended(4, worker("a", 1), "a1");
  ends.began(3);
  EXPECT_THAT(ends.take(job_of("a")), ElementsAre("a1"));
  ends.ended(3, worker("a", 0), "a0");
  ends.begin_epoch();
  EXPECT_THAT(ends.take(job_of("a")), IsEmpty());
}

}  // namespace
}  // namespace tidegate::launch
