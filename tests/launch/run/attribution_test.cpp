#include "launch/run/attribution.hpp"

#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/run/run_metrics.hpp"

namespace tidegate::launch {
namespace {

using testing::HasSubstr;
using cause = policies::held_up_by::cause;

// Three workers whose clocks take 20 ms but for what is changed.
struct second {
  policies::job_status job;
  policies::job_rates rates;
  explicit second(std::uint64_t clock) {
    job.name = "mlp";
    job.clock_slowest = job.clock_fastest = clock;
    rates.seconds = 1;
    rates.clocks_per_second = 50;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      job.members.push_back({.rank = rank, .incarnation = 1, .clock = clock});
      rates.workers.push_back({.rank = rank,
                               .seconds = 1,
                               .clocks = 50,
                               .clocks_per_second = 50,
                               .computes = 0.9,
                               .calls = 0.05,
                               .waits = 0.05,
                               .comes_last = rank == 0 ? 0.4 : 0.3,
                               .late_seconds = 0.0002,
                               .late = rank == 0 ? 0.004 : 0.003});
    }
  }
  // The clock waits for it, so many milliseconds of 50; the others wait meanwhile.
  second& late(std::uint32_t rank, double ms) {
    const double clocks = 1000 / (20 + ms);
    rates.clocks_per_second = clocks;
    for (auto& of : rates.workers) {
      const double whole = 1 / clocks;
      of.clocks_per_second = of.clocks = clocks;
      of.computes = 0.018 / whole;
      of.calls = 0.001 / whole;
      of.waits = 1 - of.computes - of.calls;
      of.comes_last = of.rank == rank ? 1 : 0;
      of.late_seconds = of.rank == rank ? ms / 1000 : 0;
      of.late = of.late_seconds * clocks;
    }
    return *this;
  }
  std::string line() const { return metrics_line(1, 1, job, rates) + "\n"; }
};

runtime::expected<job_attribution> attribute(const std::string& lines, const std::string& job,
                                             const attribution_range& range = {}) {
  metrics_record record;
  std::istringstream from(lines);
  if (auto read = record.read(from); !read.ok()) return runtime::fail(std::move(read));
  return record.attribute(job, range);
}

job_attribution of(const std::string& lines, const attribution_range& range = {}) {
  const auto found = attribute(lines, "mlp", range);
  EXPECT_TRUE(found) << found.error().message();
  return found.value_or(job_attribution());
}

TEST(attribution, names_nobody_where_all_are_alike) {
  std::string lines;
  for (std::uint64_t i = 1; i <= 10; ++i) lines += second(50 * i).line();
  const auto found = of(lines);
  EXPECT_TRUE(found.held_up.empty());
  EXPECT_EQ(found.first_clock, 50U);
  EXPECT_EQ(found.last_clock, 500U);
  EXPECT_DOUBLE_EQ(found.seconds, 10);
  EXPECT_THAT(attribution_text(found), HasSubstr("nobody held it up"));
}

TEST(attribution, a_worker_that_computes_longer) {
  std::string lines;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    auto slow = second(20 * i).late(1, 30);
    slow.rates.workers[1].computes = 0.96;
    slow.rates.workers[1].waits = 0.02;
    lines += slow.line();
  }
  const auto found = of(lines);
  ASSERT_EQ(found.held_up.size(), 1U);
  const auto& worst = found.held_up[0];
  EXPECT_EQ(worst.number, 1U);
  EXPECT_EQ(worst.because, cause::computes);
  EXPECT_NEAR(worst.own_seconds, 0.048, 1e-4);
  EXPECT_NEAR(worst.others_seconds, 0.018, 1e-4);
  EXPECT_NEAR(worst.late_seconds, 0.030, 1e-4);
  EXPECT_NEAR(worst.faster, 2.5, 0.01);
  EXPECT_DOUBLE_EQ(worst.of_the_time, 1);
  EXPECT_THAT(
      attribution_text(found),
      HasSubstr("worker 1 holds the job up by 30.0 ms a clock: it computes 48.0 ms a "
                "clock, the others 18.0 ms. It came last in 100% of the clocks, and held "
                "it up in 100% of the seconds; without that the job would be 2.50 times "
                "as fast"));
  EXPECT_EQ(nlohmann::json::parse(attribution_json(found))["held_up_by"][0]["because"],
            "computes");
}

TEST(attribution, a_worker_whose_calls_take_longer) {
  auto slow = second(20).late(2, 30);
  slow.rates.workers[2].calls = 0.6;
  const auto found = of(slow.line());
  ASSERT_EQ(found.held_up.size(), 1U);
  EXPECT_EQ(found.held_up[0].because, cause::calls);
}

TEST(attribution, a_worker_whose_pushes_arrive_late) {
  const auto found = of(second(20).late(0, 30).line());
  ASSERT_EQ(found.held_up.size(), 1U);
  EXPECT_EQ(found.held_up[0].number, 0U);
  EXPECT_EQ(found.held_up[0].because, cause::arrives);
  EXPECT_THAT(attribution_text(found), HasSubstr("its link, or its host"));
}

TEST(attribution, nobody_is_held_up_who_does_not_wait) {
  auto behind = second(20).late(1, 30);
  for (auto& of : behind.rates.workers) {
    of.computes += of.waits;
    of.waits = 0;
  }
  EXPECT_TRUE(of(behind.line()).held_up.empty()) << "as under async";
}

TEST(attribution, what_was_done_before_a_job_went_back_does_not_count) {
  auto before = second(900).late(1, 30);
  const auto lines = before.line() + metrics_line(2, 2, second(50).job, second(50).rates);
  EXPECT_TRUE(of(lines).held_up.empty());
  EXPECT_EQ(of(lines).first_clock, 50U);
}

TEST(attribution, once_or_always) {
  std::string lines;
  for (std::uint64_t i = 1; i <= 10; ++i) lines += second(50 * i).line();
  lines += second(520).late(1, 80).line();
  const auto all = of(lines);
  ASSERT_EQ(all.held_up.size(), 1U);
  EXPECT_NEAR(all.held_up[0].of_the_time, 1.0 / 11, 1e-9);
  EXPECT_TRUE(of(lines, {.clock = 100, .last_clocks = 0}).held_up.empty());
  EXPECT_EQ(of(lines, {.clock = 510, .last_clocks = 0}).held_up.size(), 1U);
  EXPECT_EQ(of(lines, {.clock = {}, .last_clocks = 10}).first_clock, 520U);
}

TEST(attribution, passes_over_what_is_no_line_of_the_job) {
  auto other = second(50);
  other.job.name = "other";
  const auto lines = "{\"half\": \n" + other.line() + second(50).line() + "[]\nnull\n{}\n";
  metrics_record record;
  std::istringstream from(lines);
  ASSERT_TRUE(record.read(from).ok());
  EXPECT_EQ(record.jobs(), (std::vector<std::string>{"other", "mlp"}));
  EXPECT_DOUBLE_EQ(of(lines).seconds, 1);
  EXPECT_EQ(attribute(lines, "no").error().code(), runtime::errc::not_found);
  EXPECT_EQ(attribute("", "mlp").error().code(), runtime::errc::not_found);
  auto newer = second(50).line();
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_THAT(attribute(newer, "mlp").error().message(), HasSubstr("version 2"));
}

TEST(attribution, a_disk_that_is_slow_at_checkpoints) {
  auto late = second(20);
  late.rates.checkpoint = {.count = 1,
                           .late_ns = 400'000'000,
                           .clock = 10,
                           .round_ns = 3'000'000'000,
                           .shard = 1,
                           .part_ns = 2'500'000'000,
                           .part_bytes = 3'000'000,
                           .others_ns = 100'000'000,
                           .others_bytes = 2'000'000,
                           .manifest_ns = 0};
  const auto found = of(late.line());
  ASSERT_TRUE(found.checkpoint);
  const auto text = attribution_text(found);
  EXPECT_THAT(text, HasSubstr("nobody held it up"));
  EXPECT_THAT(text, HasSubstr("checkpoints come late, by 0.4 s in all: that of clock 10 took "
                              "3.0 s; shard 1 wrote 2.9 MiB for 2.5 s, another 0.1 s at "
                              "most: its disk, or the store\n"));
  const auto all = nlohmann::json::parse(attribution_json(found));
  EXPECT_EQ(all["late_checkpoint"]["writer"], "shard");
  EXPECT_EQ(all["late_checkpoint"]["shard"], 1);
  late.rates.checkpoint->late_ns = 0;
  EXPECT_FALSE(of(late.line()).checkpoint);
}

}  // namespace
}  // namespace tidegate::launch
