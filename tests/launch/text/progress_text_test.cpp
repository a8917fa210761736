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
  job.metrics = {{"test_accuracy", 0.8812}, {"f1", 1e-9}};
  job.parameters_sha256 = "51f358bd98dc84d62806662830e4b6ec";
  job.staleness_max = 3;
  job.restarts = 2;
  auto silent = policies::job_status{};
  silent.name = "silent";
  silent.policy = "bsp";
  EXPECT_EQ(result_table({job, silent}),
            "job     policy  state       time  samples/s  clocks  restarts  parameters\n"
            "mlp     ssp(3)  done     10.00 s     51,200     120         2  51f358bd98dc\n"
            "silent  bsp     waiting   0.00 s          -       0         0  -\n"
            "\n"
            "mlp: loss 0.43117, f1 1e-09, test_accuracy 0.8812, staleness 3\n");
}

TEST(result_table, fits_eighty_columns) {
  auto job = running();
  job.name = "fashion-mnist";
  job.state = job_state::done;
  job.seconds = 3600;
  job.samples = 9'999'999ULL * 3600;
  job.clock_slowest = 123'456;
  job.parameters_sha256 = "51f358bd98dc84d62806662830e4b6ec";
  for (int i = 0; i < 64; ++i) job.metrics["metric_" + std::to_string(i)] = i / 7.0;
  const auto table = result_table({job});
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < table.size();) {
    const auto end = table.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(longest, 80U) << table;
  EXPECT_THAT(table, HasSubstr("metric_63 9, metric_7 1, "));
}

TEST(result_table, obeys_no_name_of_a_metric) {
  auto job = running();
  job.metrics["a\x1b[2J\nb"] = 1;
  EXPECT_THAT(result_table({job}), HasSubstr("a [2J b 1"));
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
