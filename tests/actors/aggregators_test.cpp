// Aggregators change who sums, not what comes out.
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"
#include "runtime/ucx/ucx_link.hpp"
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

std::string name_of(const aggregators_spec& how) {
  if (how.kind == aggregators_kind::none) return "none";
  if (how.kind == aggregators_kind::per_host) return "per_host";
  return "fan_in " + std::to_string(how.fan_in);
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

policies::job_status run(const setting& how, const actors::link_factory& make_link) {
  auto spec = small_cluster(how.shards, how.workers, how.consistency, 320);
  auto& job = spec.jobs[0];
  job.optimizer.kind = how.optimizer;
  job.optimizer.learning_rate = 0.1F;
  job.aggregators = how.aggregators;
  for (std::uint32_t host = 0; how.hosts > 1 && host < how.hosts; ++host)
    spec.hosts.push_back({"host-" + std::to_string(host), "", {}});
  local_cluster cluster(spec, make_link, how.windows);
  if (how.expected_aggregators != 0) {
    EXPECT_EQ(cluster.aggregators(), how.expected_aggregators);
  }
  std::atomic<std::uint32_t> finished{0};
  cluster.run_workers("job", [&](actors::session& session) {
    const auto done = run_workload(session, how.work);
    EXPECT_TRUE(done.ok()) << done.to_string();
    finished += done.ok() ? 1 : 0;
  });
  EXPECT_EQ(finished, how.workers);
  const auto status = cluster.status();
  EXPECT_EQ(status.jobs[0].state, policies::job_state::done) << status.jobs[0].failure;
  return status.jobs[0];
}

policies::job_status run_loopback(const setting& how, runtime::loopback_options options = {}) {
  runtime::loopback_network network(options);
  return run(how, [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
}

std::string hash_of(const setting& how, runtime::loopback_options options = {}) {
  const auto job = run_loopback(how, options);
  EXPECT_EQ(job.staleness_max, 0u);
  return job.parameters_sha256;
}

TEST(aggregators, same_bits_for_one_to_nine_workers_however_they_are_summed) {
  for (std::uint32_t workers = 1; workers <= 9; ++workers)
    for (const auto optimizer : {optimizer_kind::sgd, optimizer_kind::adam}) {
      setting how;
      how.workers = workers;
      how.optimizer = optimizer;
      how.work.clocks = 6;
      how.aggregators = none;
      const auto reference = hash_of(how);
      ASSERT_EQ(reference.size(), 64u);
      for (const auto& aggregators : {per_host, by_two, by_four})
        for (const bool windows : {false, true}) {
          how.aggregators = aggregators;
          how.windows = windows;
          how.work.way = windows ? workload_way::exchange : workload_way::spans;
          EXPECT_EQ(hash_of(how), reference)
              << workers << " workers, " << name_of(aggregators) << ", windows " << windows;
        }
    }
}

}  // namespace
}  // namespace tidegate::tests
