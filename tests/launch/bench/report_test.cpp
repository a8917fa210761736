#include "launch/bench/report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/bench/device_bench.hpp"
#include "launch/bench/statistics.hpp"

namespace tidegate::bench {
namespace {

using testing::HasSubstr;

exchange_result result_of(std::vector<double> seconds) {
  exchange_result result;
  result.bytes = 1U << 20U;
  result.seconds = std::move(seconds);
  result.workers_cpu_seconds = 0.003;
  result.servers_cpu_seconds = 0.001;
  result.verified = 6;
  return result;
}

TEST(statistics, of_few_values) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 9}), 3);
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3, 1, 2}, 0), 1);
  EXPECT_EQ(percentile({3, 1, 2}, 1), 3);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.5), 50);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
}

TEST(report, payload_and_cpu_count_all_workers_and_servers) {
  bench_options options;
  options.workers = 2;
  const auto json =
      nlohmann::json::parse(exchange_json(options, {result_of({2e-3, 1e-3, 4e-3})}));
  const auto& size = json["sizes"][0];
  EXPECT_EQ(size["median_seconds"], 2e-3);
  EXPECT_EQ(size["min_seconds"], 1e-3);
  EXPECT_EQ(size["max_seconds"], 4e-3);
  EXPECT_NEAR(size["payload_gb_per_s"].get<double>(), 2 * 1.048576e6 / 2e-3 / 1e9, 1e-9);
  EXPECT_NEAR(size["cpu_seconds_per_gb"].get<double>(), 4e-3 / (3 * 2 * 1.048576e-3), 1e-9);
  EXPECT_TRUE(size["payload_bytes_copied"].is_null());
  EXPECT_THAT(exchange_table(options, {result_of({2e-3, 1e-3, 4e-3})}), HasSubstr("2000.0"));
}

TEST(report, a_step_of_a_device_is_a_share_of_its_copy) {
  const device_rate kernel{.step = {.inputs = 2},
                           .bytes_moved = 400,
                           .copy_bytes = 200,
                           .steps = 7,
                           .seconds = {2, 4, 5},
                           .copy_seconds = {1, 1, 2}};
  auto host = kernel;
  host.step.path = step_path::host;
  host.step.chunk_bytes = 1U << 20U;
  const device_options options{.device = "emulated:0", .bytes = 100, .repeats = 3};
  const auto json = nlohmann::json::parse(device_json(options, {kernel, host}));
  EXPECT_EQ(json["device"], "emulated:0");
  const auto& step = json["steps"][0];
  EXPECT_EQ(step["path"], "kernel");
  EXPECT_EQ(step["optimizer"], "sgd");
  EXPECT_EQ(step["batch_steps"], 7);
  EXPECT_EQ(step["median_seconds"], 4);
  EXPECT_DOUBLE_EQ(step["gb_per_s"].get<double>(), 400 / 4 / 1e9);
  EXPECT_DOUBLE_EQ(step["copy_gb_per_s"].get<double>(), 200 / 1e9);
  // In each repeat: 200 beside 200, 100 beside 200, 80 beside 100.
  EXPECT_DOUBLE_EQ(step["share"].get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(step["share_min"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(step["share_max"].get<double>(), 1.0);
  EXPECT_EQ(step["seconds"].size(), 3U);
  EXPECT_EQ(step["copy_seconds"].size(), 3U);
  EXPECT_EQ(json["steps"][1]["path"], "host");
  EXPECT_EQ(json["steps"][1]["chunk_bytes"], 1U << 20U);
  EXPECT_THAT(device_table({kernel, host}), HasSubstr("1MiB"));
}

TEST(report, latency) {
  bench_options options;
  const auto json = nlohmann::json::parse(latency_json(options, {result_of({1e-6, 2e-6})}));
  EXPECT_EQ(json["sizes"][0]["p50_seconds"], 1e-6);
  EXPECT_EQ(json["sizes"][0]["p99_seconds"], 2e-6);
  EXPECT_THAT(latency_table({result_of({1e-6, 2e-6})}), HasSubstr("p99 us"));
}

}  // namespace
}  // namespace tidegate::bench
