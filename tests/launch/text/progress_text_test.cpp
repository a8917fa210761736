#include "launch/text/progress_text.hpp"

#include <limits>

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using policies::job_state;
using testing::HasSubstr;

policies::job_status running() {
  policies::job_status job;
  job.name = "mlp";
  job.policy = "ssp(3)";
  job.state = job_state::running;
  job.epoch = 2.44;
  job.clock_slowest = 120;
  job.clock_fastest = 123;
  job.clocks_total = 480;
  job.loss = 0.43117;
  job.samples = 512'000;
  job.seconds = 10;
  return job;
}

TEST(progress_line, of_a_running_job) {
  EXPECT_EQ(
      progress_line(
          running(), 4,
          {.seconds = 5, .clocks_per_second = 12, .samples_per_second = 51'200, .workers = {}},
          0),
      "mlp  ssp(3)  epoch 2.4  clock 120..123 of 480  loss 0.4312  51,200 samples/s  30s left");
}

TEST(progress_line, leaves_out_what_is_unknown) {
  auto job = running();
  job.clocks_total = 0;
  job.samples = 0;
  job.epoch = 0;
  job.clock_fastest = 120;
  EXPECT_EQ(progress_line(job, 4, {}, 0), "mlp  ssp(3)  clock 120");
}

TEST(progress_line, of_every_other_state) {
  auto job = running();
  job.state = job_state::waiting;
  job.workers_joined = 3;
  EXPECT_EQ(progress_line(job, 4, {}, 0), "mlp  ssp(3)  waiting: 3 of 4 workers joined");
  job.state = job_state::done;
  EXPECT_EQ(progress_line(job, 4, {}, 0), "mlp  ssp(3)  done in 10s  clock 120..123 of 480");
  job.state = job_state::failed;
  job.failure = "NaN\nin\x1b[31m w";
  EXPECT_EQ(progress_line(job, 4, {}, 0), "mlp  ssp(3)  failed: NaN in [31m w");
}

TEST(progress_line, is_cut_to_the_width) {
  EXPECT_EQ(progress_line(running(), 4, {}, 10), "mlp  ssp(3");
}

TEST(result_table, shows_what_was_reported) {
  auto job = running();
  job.state = job_state::done;
  job.metrics = {{"test_accuracy", 0.8812}};
  job.parameters_sha256 = "abc";
  job.staleness_max = 3;
  auto silent = policies::job_status{};
  silent.name = "silent";
  const auto table = result_table({job, silent});
  for (const auto* part :
       {"test accuracy", "0.8812", "0.4312", "10.00 s", "51,200", "abc", "silent"}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
}

TEST(durations, for_people) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(59.4), "59s");
  EXPECT_EQ(duration_text(72), "1m12s");
  EXPECT_EQ(duration_text(7500), "2h05m");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(grouped, puts_commas) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace tidegate::launch
