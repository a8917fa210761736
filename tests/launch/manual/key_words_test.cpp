#include "launch/manual/key_words.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

using texts = std::vector<std::string>;

texts words_of(const std::vector<suggestion>& all) {
  texts words;
  for (const auto& each : all) words.push_back(each.word);
  return words;
}

constexpr const char* file = R"(
cluster: {name: c}
jobs:
  mlp:
    tables: {fc1.weight: {shape: [2]}, plain: {shape: [3]}}
  other: {}
)";

TEST(key_words, for_help_are_paths_and_their_ends) {
  EXPECT_THAT(words_of(keys_for_help("jobs.*.consistency.")),
              ElementsAre("jobs.*.consistency.policy", "jobs.*.consistency.staleness"));
  EXPECT_THAT(words_of(keys_for_help("stale")), ElementsAre("staleness"));
  EXPECT_EQ(keys_for_help("").size(), known_keys().size());
}

TEST(key_words, for_set_go_down_part_by_part) {
  EXPECT_THAT(words_of(keys_for_set("", file)), IsSupersetOf({"cluster.", "jobs.", "faults."}));
  EXPECT_THAT(words_of(keys_for_set("cluster.sh", file)),
              ElementsAre("cluster.shards=", "cluster.shards.", "cluster.shard_hosts="));
  EXPECT_THAT(words_of(keys_for_set("cluster.shards.", file)),
              IsSupersetOf({"cluster.shards.count=", "cluster.shards.device="}));
  EXPECT_THAT(words_of(keys_for_set("cluster.nothing.", file)), IsEmpty());
}

TEST(key_words, for_set_have_the_names_of_the_file) {
  EXPECT_THAT(words_of(keys_for_set("jobs.", file)), ElementsAre("jobs.mlp.", "jobs.other."));
  EXPECT_THAT(words_of(keys_for_set("jobs.mlp.tables.", file)),
              ElementsAre("jobs.mlp.tables.\"fc1.weight\".", "jobs.mlp.tables.plain."));
  EXPECT_THAT(words_of(keys_for_set("jobs.mlp.consistency.", file)),
              ElementsAre("jobs.mlp.consistency.policy=", "jobs.mlp.consistency.staleness="));
  EXPECT_THAT(words_of(keys_for_set("jobs.", "")), IsEmpty());
  EXPECT_THAT(words_of(keys_for_set("jobs.", "no: [yaml")), IsEmpty());
}

TEST(key_words, for_set_have_the_values_of_a_choice) {
  EXPECT_THAT(words_of(keys_for_set("jobs.mlp.consistency.policy=", file)),
              ElementsAre("jobs.mlp.consistency.policy=bsp", "jobs.mlp.consistency.policy=ssp",
                          "jobs.mlp.consistency.policy=async"));
  EXPECT_THAT(words_of(keys_for_set("cluster.shards=", file)), IsEmpty());
}

}  // namespace
}  // namespace tidegate::launch
