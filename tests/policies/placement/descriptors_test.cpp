// What processes need is counted, and what nobody can have is refused with what to do about it.
#include "policies/placement/descriptors.hpp"

#include <gmock/gmock.h>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {
namespace {

using runtime::limits::host_peers_max;
using testing::AllOf;
using testing::HasSubstr;

cluster_spec cluster_of(std::uint32_t workers, std::uint32_t shards) {
  cluster_spec cluster;
  cluster.shards = shards;
  cluster.jobs.resize(1);
  cluster.jobs[0].name = "mlp";
  cluster.jobs[0].workers = workers;
  return cluster;
}

process_needs limits_of(const cluster_spec& cluster, const std::string& process) {
  for (const auto& one : process_needs_of(cluster))
    if (one.process == process) return one;
  ADD_FAILURE() << process;
  return {};
}

TEST(descriptors, grow_with_those_a_process_talks_to) {
  const auto cluster = cluster_of(8, 2);
  EXPECT_EQ(limits_of(cluster, "shard-0").peers, 9U);
  EXPECT_EQ(limits_of(cluster, "shard-0").host_peers, 9U);
  EXPECT_EQ(limits_of(cluster, "shard-0").descriptors, 64U + 4 * 9);
  EXPECT_EQ(limits_of(cluster, "worker-mlp-0").host_peers, 2U);
  EXPECT_EQ(limits_of(cluster, "coordinator-0").descriptors, 64U + 2 * 11);
  EXPECT_EQ(limits_of(cluster, "the launcher").descriptors, 64U + 2 * 11);
}

TEST(descriptors, count_replicas_and_workers_that_may_join) {
  auto cluster = cluster_of(8, 2);
  cluster.replicas = 1;
  cluster.jobs[0].max_workers = 16;
  EXPECT_EQ(limits_of(cluster, "shard-0").peers, 16U + 3);
}

TEST(descriptors, count_a_link_for_each_part_of_a_process) {
  auto cluster = cluster_of(8, 6);
  cluster.slots = 2;
  EXPECT_EQ(limits_of(cluster, "shard-0").descriptors, 3 * (64U + 4 * 9));
  EXPECT_GE(descriptors_wanted(cluster), 6 * (64U + 4 * 9)) << "one process may have all";
}

// 1,000 chunks in turn on two shards, in three versions; behind an aggregator and over tcp
// workers read nothing in place.
TEST(descriptors, come_with_the_mappings_of_declared_tables) {
  auto cluster = cluster_of(8, 2);
  cluster.chunk_bytes = 4096;
  cluster.jobs[0].tables.push_back({"w", {1000 * 1024}, {}, {}});
  EXPECT_EQ(limits_of(cluster, "worker-mlp-0").mappings, 3000U);
  EXPECT_EQ(limits_of(cluster, "shard-0").mappings, 0U);
  // A part of a table of rows is a mapping of its own.
  auto& rows = cluster.jobs[0].tables.emplace_back();
  rows.name = "user";
  rows.shape = {40};
  rows.rows.dim = 8;
  EXPECT_EQ(limits_of(cluster, "worker-mlp-0").mappings, 3040U);
  // A file lies in the middle of it, where it is larger than memory.
  rows.rows.memory = 1U << 30U;
  EXPECT_EQ(limits_of(cluster, "worker-mlp-0").mappings, 3120U);
  cluster.transport = transport_kind::tcp;
  EXPECT_EQ(limits_of(cluster, "worker-mlp-0").mappings, 0U);
}

TEST(descriptors, are_fewer_behind_aggregators) {
  auto cluster = cluster_of(64, 1);
  cluster.jobs[0].aggregators = {aggregators_kind::fan_in, 8};
  EXPECT_EQ(limits_of(cluster, "shard-0").peers, 8U);
  EXPECT_GE(limits_of(cluster, "aggregator-mlp-0").peers, 9U);
}

TEST(descriptors, more_than_a_process_may_have_are_refused) {
  const auto cluster = cluster_of(64, 1);
  EXPECT_TRUE(check_process_needs(cluster, 64 + 4 * 64).ok());
  const auto refused = check_process_needs(cluster, 64 + 4 * 64 - 1);
  EXPECT_EQ(refused.code(), runtime::errc::over_limit);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("shard-0 needs 320 file descriptors"),
                    HasSubstr("may have 319 here"), HasSubstr("ulimit -Hn")));
}

TEST(descriptors, a_job_with_all_its_workers_fits_on_one_host_and_two_do_not) {
  constexpr std::uint64_t plenty = 1'000'000;
  auto cluster = cluster_of(runtime::limits::workers_max, 1);
  EXPECT_TRUE(check_process_needs(cluster, plenty).ok());
  cluster.jobs.push_back(cluster.jobs[0]);
  cluster.jobs[1].name = "cnn";
  const auto refused = check_process_needs(cluster, plenty);
  EXPECT_EQ(refused.code(), runtime::errc::over_limit);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("shard-0 would share memory with 2048 processes of its host"),
                    HasSubstr("allowed: " + std::to_string(host_peers_max))));
  cluster.transport = transport_kind::tcp;
  EXPECT_TRUE(check_process_needs(cluster, plenty).ok()) << "nothing is shared then";
}

}  // namespace
}  // namespace tidegate::policies
