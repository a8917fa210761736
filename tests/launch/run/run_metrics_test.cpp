#include "launch/run/run_metrics.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

constexpr std::int64_t second = 1'000'000'000;

policies::cluster_status at_clock(std::uint64_t clock) {
  policies::cluster_status status;
  status.epoch = 3;
  auto& job = status.jobs.emplace_back();
  job.name = "mlp";
  job.state = policies::job_state::running;
  job.clock_slowest = clock;
  job.clock_fastest = clock + 1;
  job.staleness_max = 2;
  job.metrics["accuracy"] = 0.75;
  job.members.push_back(
      {.rank = 0, .incarnation = 1, .clock = clock, .times = {.elapsed_ns = clock + 1}});
  return status;
}

std::vector<nlohmann::json> lines_in(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream from(path);
  for (std::string text; std::getline(from, text);)
    lines.push_back(nlohmann::json::parse(text, nullptr, false));
  return lines;
}

TEST(run_metrics, has_a_line_for_each_second_of_a_job_that_runs) {
  const tests::temporary_folder folder;
  run_metrics metrics(folder.path(""));
  EXPECT_EQ(metrics.rates("mlp").seconds, 0);
  for (int poll = 0; poll <= 50; ++poll)
    ASSERT_TRUE(
        metrics.add((poll + 5) * second / 5, poll, at_clock(static_cast<unsigned>(poll) * 2))
            .ok());
  EXPECT_NEAR(metrics.rates("mlp").clocks_per_second, 10, 1e-6);
  auto over = at_clock(100);
  over.jobs[0].state = policies::job_state::done;
  ASSERT_TRUE(metrics.add(56 * second / 5, 100, over).ok());
  EXPECT_EQ(metrics.rates("mlp").seconds, 0);
  const auto lines = lines_in(folder.path("metrics.jsonl"));
  EXPECT_GE(lines.size(), 9U);
  EXPECT_LE(lines.size(), 11U);
  double seconds = 0;
  for (const auto& line : lines) {
    EXPECT_EQ(line["version"], 1);
    EXPECT_EQ(line["job"], "mlp");
    EXPECT_EQ(line["epoch"], 3);
    EXPECT_EQ(line["loss"], nullptr);
    EXPECT_EQ(line["staleness_max"], 2);
    EXPECT_EQ(line["metrics"], nlohmann::json({{"accuracy", 0.75}}));
    EXPECT_EQ(line["workers"].size(), 1U);
    seconds += line["seconds"].get<double>();
  }
  EXPECT_NEAR(seconds, 10.2, 1e-2) << "each covers the time since the one before, to the end";
}

TEST(run_metrics, keeps_the_file_below_a_size) {
  const tests::temporary_folder folder;
  run_metrics metrics(folder.path(""), 2000);
  for (int poll = 0; poll <= 200; ++poll)
    ASSERT_TRUE(
        metrics.add((poll + 5) * second / 2, poll, at_clock(static_cast<unsigned>(poll))).ok());
  for (const auto* name : {"metrics.jsonl", "metrics.1.jsonl"}) {
    EXPECT_LE(std::filesystem::file_size(folder.path(name)), 2000U);
    for (const auto& line : lines_in(folder.path(name))) EXPECT_EQ(line["job"], "mlp");
  }
  // Who goes on in the folder adds to it.
  const auto before = lines_in(folder.path("metrics.jsonl")).size();
  run_metrics next(folder.path(""), 200'000);
  ASSERT_TRUE(next.add(second, 1, at_clock(1)).ok());
  ASSERT_TRUE(next.add(3 * second, 2, at_clock(2)).ok());
  EXPECT_EQ(lines_in(folder.path("metrics.jsonl")).size(), before + 1);
}

TEST(run_metrics, says_when_it_cannot_write) {
  run_metrics metrics("/nowhere/at/all");
  ASSERT_TRUE(metrics.add(second, 1, at_clock(1)).ok());
  EXPECT_EQ(metrics.add(3 * second, 2, at_clock(2)).code(), runtime::errc::io_error);
}

}  // namespace
}  // namespace tidegate::launch
