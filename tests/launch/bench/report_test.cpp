#include "launch/bench/report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

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

TEST(report, latency) {
  bench_options options;
  const auto json = nlohmann::json::parse(latency_json(options, {result_of({1e-6, 2e-6})}));
  EXPECT_EQ(json["sizes"][0]["p50_seconds"], 1e-6);
  EXPECT_EQ(json["sizes"][0]["p99_seconds"], 2e-6);
  EXPECT_THAT(latency_table({result_of({1e-6, 2e-6})}), HasSubstr("p99 us"));
}

}  // namespace
}  // namespace tidegate::bench
