// Which host takes the replica of what is on which.
#include "policies/placement/hosts.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

// Hosts "a0", "a1", ... in rack "a" and so on, as many as `racks` says of each; a rack "-" is
// none.
cluster_spec cluster_of(std::initializer_list<std::pair<char, int>> racks,
                        std::uint32_t shards) {
  cluster_spec cluster;
  cluster.shards = shards;
  for (const auto& [rack, hosts] : racks)
    for (int i = 0; i < hosts; ++i) {
      auto& host = cluster.hosts.emplace_back();
      host.name = rack + std::to_string(i);
      if (rack != '-') host.rack = rack;
    }
  return cluster;
}

// Of shard 0, 1, ...: its host, and those of its replicas.
std::string places(const cluster_spec& cluster, std::uint32_t replicas) {
  std::string text;
  for (std::uint32_t shard = 0; shard < cluster.shards; ++shard) {
    text += host_of_shard(cluster, shard)->name;
    for (std::uint32_t number = 0; number < replicas; ++number)
      text += ">" + host_of_replica(cluster, number * cluster.shards + shard)->name;
    text += " ";
  }
  return text;
}

TEST(replicas, are_on_the_hosts_after_their_primarys) {
  EXPECT_EQ(places(cluster_of({{'-', 3}}, 3), 2), "-0>-1>-2 -1>-2>-0 -2>-0>-1 ");
  EXPECT_EQ(places(cluster_of({{'-', 2}}, 2), 2), "-0>-1>-0 -1>-0>-1 ") << "there is no third";
  EXPECT_EQ(places(cluster_of({{'-', 1}}, 1), 1), "-0>-0 ");
}

TEST(replicas, are_in_other_racks_and_all_hosts_have_as_many) {
  EXPECT_EQ(places(cluster_of({{'a', 2}, {'b', 2}}, 4), 1), "a0>b0 a1>b1 b0>a0 b1>a1 ");
  EXPECT_EQ(places(cluster_of({{'a', 2}, {'b', 2}, {'c', 2}}, 6), 2),
            "a0>b0>c0 a1>b1>c1 b0>c0>a0 b1>c1>a1 c0>a0>b0 c1>a1>b1 ");
  EXPECT_EQ(places(cluster_of({{'a', 2}, {'b', 1}}, 3), 1), "a0>b0 a1>b0 b0>a0 ");
  EXPECT_EQ(places(cluster_of({{'a', 1}, {'-', 2}}, 3), 1), "a0>-0 -0>-1 -1>a0 ");
}

TEST(replicas, know_a_rack_from_a_host_of_its_name) {
  auto cluster = cluster_of({{'-', 1}, {'a', 2}}, 3);
  cluster.hosts[0].name = "a";
  EXPECT_EQ(places(cluster, 1), "a>a0 a0>a a1>a ");
}

TEST(replicas, share_a_rack_where_there_is_no_other) {
  EXPECT_EQ(places(cluster_of({{'a', 3}}, 3), 1), "a0>a1 a1>a2 a2>a0 ");
  EXPECT_EQ(places(cluster_of({{'a', 2}, {'b', 1}}, 1), 2), "a0>b0>a1 ");
}

TEST(replicas, of_named_shard_hosts_stay_among_them) {
  auto cluster = cluster_of({{'a', 2}, {'b', 2}}, 2);
  cluster.shard_hosts = {"a1", "b0"};
  EXPECT_EQ(places(cluster, 1), "a1>b0 b0>a1 ");
}

}  // namespace
}  // namespace tidegate::policies
