// Scale files: what is read, and what is said about what is wrong.
#include "launch/simulate/read_scale.hpp"

#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "launch/simulate/keys.hpp"
#include "launch/simulate/simulate.hpp"
#include "launch/simulate/units.hpp"

namespace tidegate::simulate {
namespace {

using policies::aggregators_kind;
using policies::consistency_kind;
using testing::HasSubstr;

TEST(units, of_time_and_rate) {
  EXPECT_DOUBLE_EQ(*parse_seconds("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(*parse_seconds("0"), 0);
  EXPECT_DOUBLE_EQ(*parse_rate("10Gbit/s"), 1.25e9);
  EXPECT_DOUBLE_EQ(*parse_rate("12.5GB/s"), 12.5e9);
  for (const auto* text : {"", "5", "us", "-1s", "1 s", "nans", "infs", "1e999s"})
    EXPECT_FALSE(parse_seconds(text)) << text;
  for (const auto* text : {"", "0GB/s", "5GB", "-1GB/s", "GB/s"})
    EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(read_scale, every_combination_of_what_is_listed) {
  const auto plan = parse_scale(
      "scale:\n"
      "  workers: [10, 20]\n"
      "  shards: 4\n"
      "  policies: [bsp, {ssp: 3}, async]\n"
      "  aggregators: [none, {fan_in: 8}]\n"
      "  clocks: 7\n"
      "  parameters: 1MiB\n"
      "  compute: {time: 5ms, exponential: 0.5, slow: {fraction: 0.1, factor: 2}}\n"
      "  hosts: {workers: 8, link: 10Gbit/s, latency: 30us}\n"
      "  shard: {sum: 20GB/s, frame: 5us}\n",
      "s.yaml");
  ASSERT_TRUE(plan) << plan.error().message();
  const auto settings = plan->settings();
  ASSERT_EQ(settings.size(), 2U * 3U * 2U);
  const auto& last = settings.back();
  EXPECT_EQ(last.workers, 20U);
  EXPECT_EQ(last.shards, 4U);
  EXPECT_EQ(last.consistency.kind, consistency_kind::async);
  EXPECT_EQ(last.aggregators, (policies::aggregators_spec{aggregators_kind::fan_in, 8}));
  EXPECT_EQ(last.clocks, 7U);
  EXPECT_EQ(last.bytes, 1U << 20);
  EXPECT_EQ(last.compute.shape, sim::scale::compute_spec::kind::exponential);
  EXPECT_DOUBLE_EQ(last.compute.mean, 5e-3);
  EXPECT_DOUBLE_EQ(last.compute.slow_factor, 2);
  EXPECT_EQ(last.workers_per_host, 8U);
  EXPECT_DOUBLE_EQ(last.link_rate, 1.25e9);
  EXPECT_DOUBLE_EQ(last.seconds_per_frame, 5e-6);
  EXPECT_EQ(settings[2].consistency, (policies::consistency_spec{consistency_kind::ssp, 3}));
}

TEST(read_scale, says_where_and_what) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{}", "s.yaml:1:1: scale: is missing"},
      {"[]", "no map"},
      {"scale: {shards: 1}", "scale.workers: is missing"},
      {"scale:\n  workers: [10, 0]", "s.yaml:2:17: scale.workers: '0' is not allowed"},
      {"scale:\n  workers: []", "s.yaml:2:12: scale.workers: is empty"},
      {"scale: {workers: 1, polices: bsp}", "did you mean 'policies'?"},
      {"scale: {workers: 1, policies: ssp}", "'ssp' is not allowed; allowed: bsp, async"},
      {"scale: {workers: 1, policies: {ssp: -1}}", "a map is not allowed"},
      {"scale: {workers: 1, aggregators: {fan_in: 6}}", "a power of two"},
      {"scale: {workers: 1, compute: {time: 5}}", "with us, ms or s"},
      {"scale: {workers: 1, compute: {lognormal: 1, exponential: 1}}", "does not go with"},
      {"scale: {workers: 1, compute: {slow: {fraction: 2}}}", "0 to 1"},
      {"scale: {workers: 1, hosts: {link: fast}}", "'fast' is not allowed"},
      {"scale: {workers: 1, one_host: maybe}", "true, false"},
      {"scale: {workers: 100000, clocks: 1000000}", "too many"},
      {"scale: {workers: 1, compute: {time: 0}}", "neither sums nor links take time"},
  };
  for (const auto& [yaml, message] : wrong) {
    const auto plan = parse_scale(yaml, "s.yaml");
    ASSERT_FALSE(plan) << yaml;
    EXPECT_THAT(plan.error().message(), HasSubstr(message)) << yaml;
  }
}

TEST(scale_keys, and_docs_scaling_md_say_the_same) {
  std::ifstream docs(TIDEGATE_DOCS_DIR "/scaling.md");
  ASSERT_TRUE(docs.good());
  std::set<std::string> documented, known;
  for (std::string line; std::getline(docs, line);)
    if (line.starts_with("| `scale")) documented.insert(line);
  for (const auto& key : scale_keys()) known.insert(launch::markdown_row(key));
  EXPECT_EQ(documented, known);
}

TEST(parse_simulate, options) {
  const auto options =
      parse_simulate({"s.yaml", "--json", "-", "--svg", "docs/x", "--seed", "9"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->file, "s.yaml");
  EXPECT_EQ(options->json, "-");
  EXPECT_EQ(options->svg, "docs/x");
  EXPECT_EQ(options->seed, "9");
  EXPECT_TRUE(parse_simulate({"--help"})->help);
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "which file?"},
      {{"a", "b"}, "not also b"},
      {{"a", "--sed", "1"}, "did you mean --seed?"},
      {{"a", "--json"}, "--json needs a value"},
      {{"a", "--seed", "x"}, "--seed x; allowed"},
  };
  for (const auto& [args, message] : wrong) {
    const auto bad = parse_simulate(args);
    ASSERT_FALSE(bad) << message;
    EXPECT_THAT(bad.error().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace tidegate::simulate
