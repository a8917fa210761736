#include "launch/page/run_history.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/launch/page/metrics_lines.hpp"

namespace tidegate::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json answer(const run_history& history, const std::string& since = "") {
  return json::parse(series_json("mlp", *history.find("mlp"), since));
}

TEST(run_history, has_columns_of_each_second) {
  run_history history;
  for (int second = 0; second < 3; ++second) history.add(metrics_lines::line(second, 3));
  const auto all = answer(history);
  EXPECT_EQ(all["from"], 0);
  EXPECT_EQ(all["t_ms"], json({1000, 2000, 3000}));
  EXPECT_EQ(all["clock_slowest"], json({10, 20, 30}));
  EXPECT_EQ(all["samples_per_second"], json({960, 960, 960}));
  EXPECT_EQ(all["loss"], json({nullptr, 0.5, 0.5}));
  EXPECT_EQ(all["staleness"], json({2, 2, 2}));
  EXPECT_EQ(all["metrics"]["accuracy"], json({0.25, 0.25, 0.25}));
  ASSERT_EQ(all["workers"].size(), 3U);
  EXPECT_EQ(all["workers"][1]["late_ms"], json({30, 30, 30}));
  EXPECT_EQ(all["workers"][0]["late_ms"], json({0, 0, 0}));
  EXPECT_EQ(all["workers"][1]["waits"], json({0, 0, 0}));
  EXPECT_NEAR(all["waits"][0].get<double>(), 0.4, 1e-3);  // 0.6, 0 and 0.6
}

TEST(run_history, sends_what_has_come_since) {
  run_history history;
  for (int second = 0; second < 3; ++second) history.add(metrics_lines::line(second, 3));
  const auto position = answer(history)["position"].get<std::string>();
  history.add(metrics_lines::line(3, 3));
  const auto more = answer(history, position);
  EXPECT_EQ(more["from"], 2);  // the last may have grown
  EXPECT_EQ(more["t_ms"], json({3000, 4000}));
  EXPECT_EQ(more["workers"][1]["clock"].size(), 2U);
  for (const auto* stale : {"", "0-0", "99-1", "1-", "-", "1-2x", "1-99999", "-1-1"})
    EXPECT_EQ(answer(history, stale)["from"], 0) << stale;
}

TEST(run_history, passes_over_what_is_no_line) {
  run_history history;
  const auto whole = metrics_lines::line(0, 2);
  for (const auto& bad :
       {std::string(), std::string("{"), std::string("[1]"), std::string("null"),
        whole.substr(0, whole.size() / 2), std::string(R"({"version":1})"),
        std::string(R"({"version":1,"job":1,"workers":[],"seconds":1})"),
        std::string(R"({"version":1,"job":"mlp","workers":{},"seconds":1})"),
        std::string(R"({"version":1,"job":"mlp","workers":[],"seconds":-1})"),
        std::string(R"({"version":1,"job":"mlp","workers":[],"seconds":1e300})")})
    history.add(bad);
  EXPECT_TRUE(history.jobs().empty());
  history.add(R"({"version":1,"job":"mlp","workers":[7,null],"seconds":1,"loss":"x"})");
  history.add(whole);
  EXPECT_EQ(history.find("mlp")->points().size(), 2U);
  EXPECT_EQ(history.problem(), "");
}

TEST(run_history, says_that_lines_are_of_another_version) {
  run_history history;
  history.add(R"({"version":2,"job":"mlp","workers":[],"seconds":1})");
  EXPECT_TRUE(history.jobs().empty());
  EXPECT_THAT(history.problem(),
              HasSubstr("lines of version 2; this Tidegate reads version 1"));
}

TEST(run_history, holds_no_more_jobs_than_it_has_room_for) {
  run_history history;
  for (std::size_t i = 0; i < run_history::jobs_most + 50; ++i)
    history.add(metrics_lines::line(0, 1, "job" + std::to_string(i)));
  EXPECT_EQ(history.jobs().size(), run_history::jobs_most);
}

// There are 200 workers, for longer than there are points; a day has no more.
TEST(run_history, answers_in_bounded_size_of_a_long_run) {
  run_history history;
  for (int second = 0; second < 700; ++second) history.add(metrics_lines::line(second, 200));
  const auto text = series_json("mlp", *history.find("mlp"), "");
  EXPECT_LT(text.size(), 400'000U);
  EXPECT_LT(history.find("mlp")->points().size(), thinned_series::points_most);
  const auto all = json::parse(text);
  EXPECT_EQ(all["workers_count"], 200);
  EXPECT_EQ(all["workers"].size(), thinned_series::ranks_most);
}

}  // namespace
}  // namespace tidegate::launch
