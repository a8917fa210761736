// What declared tables take is counted by what it is for, and what the machine has not is
// refused with what to do about it.
#include "policies/placement/memory_needs.hpp"

#include <gmock/gmock.h>

namespace tidegate::policies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t mib = 1U << 20U;

// A table of 64 MiB on two shards.
cluster_spec cluster_of(std::uint32_t workers, consistency_kind kind) {
  cluster_spec cluster;
  cluster.shards = 2;
  cluster.jobs.resize(1);
  auto& job = cluster.jobs[0];
  job.name = "mlp";
  job.workers = workers;
  job.consistency.kind = kind;
  job.tables.push_back({"w", {16 * mib}, default_optimizer(optimizer_kind::adam), {}});
  return cluster;
}

memory_needs needs_of(const cluster_spec& cluster, const std::string& process) {
  for (const auto& one : memory_needs_of(cluster))
    if (one.process == process) return one;
  ADD_FAILURE() << process;
  return {};
}

TEST(memory_needs, of_a_shard_are_its_part_with_versions_and_state) {
  const auto shard = needs_of(cluster_of(4, consistency_kind::bsp), "shard-1");
  EXPECT_EQ(shard.parameters, 32 * mib);
  EXPECT_EQ(shard.versions, 32 * mib) << "one is kept for a worker that comes back";
  EXPECT_EQ(shard.states, 64 * mib);
  EXPECT_EQ(shard.gradients, 0U) << "they are read where workers have them";
  EXPECT_EQ(shard.checkpoint, 0U);
  EXPECT_EQ(shard.total(), 128 * mib);
}

TEST(memory_needs, count_a_version_for_each_worker_that_may_read_its_own) {
  EXPECT_EQ(needs_of(cluster_of(8, consistency_kind::ssp), "shard-0").versions, 8 * 32 * mib);
  auto cluster = cluster_of(8, consistency_kind::async);
  cluster.jobs[0].max_workers = 12;
  EXPECT_EQ(needs_of(cluster, "shard-0").versions, 12 * 32 * mib);
}

TEST(memory_needs, count_replicas_and_checkpoints) {
  auto cluster = cluster_of(4, consistency_kind::bsp);
  cluster.replicas = 1;
  cluster.jobs[0].checkpoint = checkpoint_spec{.every_clocks = 10, .every_ms = 0, .keep = 3};
  const auto replica = needs_of(cluster, "replica-0");
  EXPECT_EQ(replica.versions, 64 * mib);
  EXPECT_EQ(replica.sums, 64 * mib);
  EXPECT_EQ(replica.checkpoint, 96 * mib) << "when it is the primary";
}

TEST(memory_needs, of_a_worker_are_two_gradients_and_what_it_receives) {
  auto cluster = cluster_of(4, consistency_kind::bsp);
  EXPECT_EQ(needs_of(cluster, "worker-mlp-3").total(), 128 * mib);
  cluster.transport = transport_kind::tcp;
  EXPECT_EQ(needs_of(cluster, "worker-mlp-3").total(), 192 * mib);
  EXPECT_EQ(needs_of(cluster, "shard-0").gradients, 4 * 2 * 32 * mib);
  cluster.jobs[0].state_bytes = 16 * mib;
  EXPECT_EQ(needs_of(cluster, "worker-mlp-3").kept / mib, 64U) << "four versions";
}

TEST(memory_needs, that_the_machine_has_not_are_refused) {
  const auto cluster = cluster_of(4, consistency_kind::bsp);
  const auto all = 2 * 128 * mib + 4 * 128 * mib;
  EXPECT_EQ(bytes_beside_launcher(memory_needs_of(cluster)), all);
  EXPECT_TRUE(check_memory(cluster, all).ok());
  const auto refused = check_memory(cluster, all - 1);
  EXPECT_EQ(refused.code(), runtime::errc::over_limit);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("may take 768 MiB"), HasSubstr("shard-0"),
                                       HasSubstr("cluster.memory_check: ignore")));
}

TEST(memory_needs, of_hosts_behind_a_prefix_are_not_of_this_machine) {
  auto cluster = cluster_of(4, consistency_kind::bsp);
  cluster.hosts = {{.name = "a", .address = "10.0.0.1", .prefix = {}},
                   {.name = "b", .address = "10.0.0.2", .prefix = {"remote"}}};
  cluster.jobs[0].hosts = {"b"};
  cluster.shard_hosts = {"b"};
  EXPECT_TRUE(check_memory(cluster, 0).ok());
}

}  // namespace
}  // namespace tidegate::policies
