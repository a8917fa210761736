// Aggregators change who sums, not what comes out.
#include <algorithm>
#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/environment/own_link.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using policies::aggregators_kind;
using policies::aggregators_spec;
using policies::consistency_kind;
using policies::optimizer_kind;

constexpr aggregators_spec none{aggregators_kind::none, 0};
constexpr aggregators_spec per_host{aggregators_kind::per_host, 0};
constexpr aggregators_spec by_two{aggregators_kind::fan_in, 2};
constexpr aggregators_spec by_four{aggregators_kind::fan_in, 4};

std::string name_of(const aggregators_spec& aggregators) {
  if (aggregators.kind == aggregators_kind::none) return "none";
  if (aggregators.kind == aggregators_kind::per_host) return "per_host";
  return "fan_in " + std::to_string(aggregators.fan_in);
}

struct setting {
  std::uint32_t workers = 5;
  aggregators_spec aggregators;
  std::uint32_t hosts = 1;
  std::uint32_t shards = 2;
  optimizer_kind optimizer = optimizer_kind::sgd;
  policies::consistency_spec consistency;
  workload_options work;
  bool windows = true;
  std::size_t expected_aggregators = 0;
};

policies::job_status run(const setting& options, const actors::link_factory& make_link) {
  auto spec = small_cluster(options.shards, options.workers, options.consistency, 320);
  auto& job = spec.jobs[0];
  job.optimizer.kind = options.optimizer;
  job.optimizer.learning_rate = 0.1F;
  job.aggregators = options.aggregators;
  for (std::uint32_t host = 0; options.hosts > 1 && host < options.hosts; ++host)
    spec.hosts.push_back({"host-" + std::to_string(host), "", {}});
  local_cluster cluster(spec, make_link, options.windows);
  if (options.expected_aggregators != 0) {
    EXPECT_EQ(cluster.aggregators(), options.expected_aggregators);
  }
  std::atomic<std::uint32_t> finished{0};
  cluster.run_workers("job", [&](tidegate::session& session) {
    const auto done = run_workload(session, options.work);
    EXPECT_TRUE(done.ok()) << done.to_string();
    finished += done.ok() ? 1 : 0;
  });
  EXPECT_EQ(finished, options.workers);
  const auto status = cluster.status();
  EXPECT_EQ(status.jobs[0].state, policies::job_state::done) << status.jobs[0].failure;
  return status.jobs[0];
}

policies::job_status run_loopback(const setting& settings,
                                  runtime::loopback_options options = {}) {
  runtime::loopback_network network(options);
  return run(settings, [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
}

std::string hash_of(const setting& settings, runtime::loopback_options options = {}) {
  const auto job = run_loopback(settings, options);
  EXPECT_EQ(job.staleness_max, 0u);
  return job.parameters_sha256;
}

TEST(aggregators, same_bits_for_one_to_nine_workers_however_they_are_summed) {
  for (std::uint32_t workers = 1; workers <= 9; ++workers)
    for (const auto optimizer : {optimizer_kind::sgd, optimizer_kind::adam}) {
      setting options;
      options.workers = workers;
      options.optimizer = optimizer;
      options.work.clocks = 6;
      options.aggregators = none;
      const auto reference = hash_of(options);
      ASSERT_EQ(reference.size(), 64u);
      for (const auto& aggregators : {per_host, by_two, by_four})
        for (const bool windows : {false, true}) {
          options.aggregators = aggregators;
          options.windows = windows;
          options.work.way = windows ? workload_way::exchange : workload_way::spans;
          EXPECT_EQ(hash_of(options), reference)
              << workers << " workers, " << name_of(aggregators) << ", windows " << windows;
        }
    }
}

// Hosts of three and two workers: groups that are no single block of the tree.
TEST(aggregators, same_bits_for_hosts_whose_ranks_are_several_blocks) {
  setting options;
  for (const std::uint32_t workers : {5u, 6u, 9u}) {
    options.workers = workers;
    options.hosts = 1;
    options.aggregators = none;
    options.windows = true;
    options.expected_aggregators = 0;
    const auto reference = hash_of(options);
    options.aggregators = per_host;
    for (const std::uint32_t hosts : {2u, 3u})
      for (const bool windows : {false, true}) {
        options.hosts = hosts;
        options.windows = windows;
        options.expected_aggregators = workers == 5 && hosts == 3 ? 2 : hosts;
        EXPECT_EQ(hash_of(options), reference)
            << workers << " workers on " << hosts << " hosts, windows " << windows;
      }
  }
}

TEST(aggregators, same_bits_under_delays_and_reordering_in_every_way_of_use) {
  setting options;
  options.workers = 7;
  options.optimizer = optimizer_kind::momentum;
  options.work.shapes = {{90, 100}, {5}, {2048}};
  options.aggregators = none;
  const auto reference = hash_of(options);
  std::uint64_t seed = 0;
  for (const auto& aggregators : {per_host, by_two, by_four})
    for (const bool windows : {false, true})
      for (const auto way :
           {workload_way::spans, workload_way::in_place, workload_way::exchange}) {
        options.aggregators = aggregators;
        options.hosts = aggregators.kind == aggregators_kind::per_host ? 2 : 1;
        options.windows = windows;
        options.work.way = way;
        options.work.pause_us_max = 500;
        options.work.pause_seed = ++seed;
        EXPECT_EQ(hash_of(options, {seed, 3}), reference)
            << name_of(aggregators) << " windows " << windows << " way "
            << static_cast<int>(way);
      }
}

// Every update arrives, once, and no pull is staler than its bound.
TEST(aggregators, ssp_keeps_its_bound_and_async_comes_to_its_end) {
  for (const auto& consistency : {policies::consistency_spec{consistency_kind::ssp, 0},
                                  policies::consistency_spec{consistency_kind::ssp, 2},
                                  policies::consistency_spec{consistency_kind::async, 0}})
    for (const auto& aggregators : {per_host, by_two})
      for (const bool windows : {false, true}) {
        setting options;
        options.workers = 6;
        options.aggregators = aggregators;
        options.hosts = 2;
        options.consistency = consistency;
        options.windows = windows;
        options.work.way = windows ? workload_way::exchange : workload_way::spans;
        options.work.clocks = 20;
        options.work.pause_us_max = 500;
        const auto job = run_loopback(options, {7, 3});
        EXPECT_EQ(job.parameters_sha256.size(), 64u);
        if (consistency.kind == consistency_kind::ssp) {
          EXPECT_LE(job.staleness_max, consistency.staleness) << name_of(aggregators);
        }
      }
}

TEST(aggregators, same_bits_over_the_links_of_processes) {
  setting options;
  options.workers = 4;
  options.work.shapes = {{300, 300}, {10}};
  options.aggregators = none;
  const auto reference = hash_of(options);
  options.aggregators = by_two;
  for (const bool windows : {false, true}) {
    options.windows = windows;
    options.work.way = windows ? workload_way::exchange : workload_way::spans;
    EXPECT_EQ(run(options, actors::make_own_link).parameters_sha256, reference);
  }
}

TEST(aggregators, a_failure_reaches_who_waits_in_every_group) {
  for (const bool windows : {false, true}) {
    auto spec = small_cluster(2, 6, {consistency_kind::bsp, 0}, 320);
    spec.jobs[0].aggregators = by_two;
    runtime::loopback_network network;
    local_cluster cluster(
        spec,
        [&] { return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link()); },
        windows);
    std::atomic<int> reported{0};
    std::latch all_in(6);
    cluster.run_workers("job", [&](tidegate::session& session) {
      all_in.arrive_and_wait();
      if (session.info().rank == 3) {
        session.fail({runtime::errc::invalid_argument, "no more data"});
        return;
      }
      const auto done = run_workload(session, {});
      EXPECT_FALSE(done.ok());
      reported += done.ok() ? 0 : 1;
    });
    EXPECT_EQ(reported, 5);
    const auto status = cluster.status();
    EXPECT_EQ(status.jobs[0].state, policies::job_state::failed);
    EXPECT_NE(status.jobs[0].failure.find("no more data"), std::string::npos);
  }
}

// Gradients are small whole numbers, so that every order of summing gives the same floats: what
// is lost or doubled shows, under ssp and async, too.
class whole_numbers : public testing::TestWithParam<policies::consistency_spec> {};

runtime::status count_up(tidegate::session& session, std::uint64_t clocks, float& last) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  std::vector<float> parameters(table->size);
  std::vector<std::vector<float>> gradients(2, std::vector<float>(table->size));
  const auto rank = session.info().rank;
  for (std::uint64_t c = 0; c < clocks; ++c) {
    if (auto pulled = session.pull(*table, parameters).wait(); !pulled.ok()) return pulled;
    // Some clocks of some workers are skipped, clock 3 by all.
    const bool skips = c == 3 || (rank + c) % 5 == 0;
    auto& gradient = gradients[c % 2];
    std::fill(gradient.begin(), gradient.end(), -static_cast<float>(rank + c));
    if (!skips) session.push(*table, gradient);
    if (auto ended = session.clock(); !ended.ok()) return ended;
  }
  if (auto pulled = session.pull_final(*table, parameters).wait(); !pulled.ok()) return pulled;
  for (const auto parameter : parameters)
    if (parameter != parameters[0]) return {runtime::errc::corrupt, "a torn table"};
  last = parameters[0];
  return session.finish();
}

TEST_P(whole_numbers, every_update_arrives_once_and_the_end_holds_all) {
  constexpr std::uint64_t clocks = 10;
  constexpr std::uint32_t workers = 6;
  float expected = 0;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    for (std::uint64_t c = 0; c < clocks; ++c)
      if (c != 3 && (rank + c) % 5 != 0) expected += static_cast<float>(rank + c);
  for (const auto& aggregators : {none, per_host, by_two})
    for (const bool windows : {false, true}) {
      auto spec = small_cluster(2, workers, GetParam(), 320);
      spec.jobs[0].optimizer.learning_rate = 1.0F;
      spec.jobs[0].reduce = policies::reduce_kind::sum;
      spec.jobs[0].aggregators = aggregators;
      spec.hosts = {{.name = "a", .address = "", .prefix = {}},
                    {.name = "b", .address = "", .prefix = {}}};
      runtime::loopback_network network({5, 3});
      local_cluster cluster(
          spec,
          [&] {
            return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
          },
          windows);
      cluster.run_workers("job", [&](tidegate::session& session) {
        float last = 0;
        const auto done = count_up(session, clocks, last);
        EXPECT_TRUE(done.ok()) << done.to_string();
        EXPECT_EQ(last, expected) << name_of(aggregators) << " windows " << windows;
      });
    }
}

std::string policy_name(const testing::TestParamInfo<policies::consistency_spec>& of) {
  switch (of.param.kind) {
    case consistency_kind::bsp:
      return "bsp";
    case consistency_kind::ssp:
      return "ssp";
    case consistency_kind::async:
      return "async";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(policies, whole_numbers,
                         testing::Values(policies::consistency_spec{consistency_kind::bsp, 0},
                                         policies::consistency_spec{consistency_kind::ssp, 1},
                                         policies::consistency_spec{consistency_kind::async,
                                                                    0}),
                         policy_name);

}  // namespace
}  // namespace tidegate::tests
