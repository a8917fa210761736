#include "launch/simulate/report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/simulate/scale/model.hpp"

namespace tidegate::simulate {
namespace {

using testing::HasSubstr;

std::vector<modelled> two_runs() {
  std::vector<modelled> runs;
  for (const std::uint32_t workers : {2U, 200U}) {
    sim::scale::setting combination;
    combination.workers = workers;
    combination.clocks = 5;
    combination.compute.mean = 1;
    combination.consistency = {policies::consistency_kind::ssp, 3};
    runs.push_back({combination, sim::scale::run(combination)});
  }
  return runs;
}

TEST(scale_report, has_a_row_and_an_object_per_run) {
  const auto table = scale_table(two_runs());
  EXPECT_THAT(table, HasSubstr("ssp(3)"));
  EXPECT_THAT(table, HasSubstr("compute"));
  const auto json = nlohmann::json::parse(scale_json(two_runs()));
  ASSERT_EQ(json["runs"].size(), 2U);
  const auto& run = json["runs"][1];
  EXPECT_EQ(run["workers"], 200);
  EXPECT_EQ(run["worker_clocks"], 1000);
  EXPECT_DOUBLE_EQ(run["seconds"], 5);
  EXPECT_DOUBLE_EQ(run["of_linear"], 1);
  EXPECT_EQ(run["bottleneck"], "compute");
  EXPECT_DOUBLE_EQ(run["used"]["compute"], 1);
}

TEST(scale_report, draws_a_line_per_policy_and_topology) {
  auto runs = two_runs();
  auto more = two_runs();
  for (auto& run : more) run.setting.shards = 7;
  runs.insert(runs.end(), more.begin(), more.end());
  const auto pictures = scale_pictures(runs);
  ASSERT_EQ(pictures.size(), 4U);
  EXPECT_EQ(pictures[0].first, "-rate.svg");
  for (const auto* text : {"ssp(3), 1 shard<", "ssp(3), 7 shards<", ">workers<", ">100<"})
    EXPECT_THAT(pictures[0].second, HasSubstr(text));
}

}  // namespace
}  // namespace tidegate::simulate
