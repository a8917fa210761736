#include <gmock/gmock.h>

#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

policies::cluster_spec must(const std::vector<std::string>& sets,
                            const std::string& yaml = fashion_yaml()) {
  auto spec = parse_cluster(yaml, "c.yaml", sets);
  EXPECT_TRUE(spec) << spec.error().message();
  policies::cluster_spec none;
  none.jobs.emplace_back();
  return spec.value_or(none);
}

TEST(overrides, replace_scalars_lists_and_maps) {
  EXPECT_EQ(must({"jobs.mlp.workers=8"}).jobs[0].workers, 8U);
  EXPECT_THAT(must({"jobs.mlp.command=[a, --b, 'c d']"}).jobs[0].command,
              testing::ElementsAre("a", "--b", "c d"));
  EXPECT_EQ(must({"jobs.mlp.optimizer={name: adam}"}).jobs[0].optimizer.kind,
            policies::optimizer_kind::adam);
}

TEST(overrides, create_the_maps_on_the_way) {
  const auto spec = must({"jobs.j.gradients.not_finite=allow"}, with_job(""));
  EXPECT_EQ(spec.jobs[0].not_finite, policies::not_finite_rule::allow);
  EXPECT_EQ(must({"jobs.k.command=b"}, with_job("")).jobs.size(), 2U);
  EXPECT_EQ(must({"jobs.j.env.A=1"}, with_job("    env:\n")).jobs[0].env.at("A"), "1");
}

TEST(overrides, apply_from_left_to_right) {
  EXPECT_EQ(must({"jobs.mlp.workers=8", "jobs.mlp.workers=2"}).jobs[0].workers, 2U);
}

TEST(overrides, find_keys_with_dots) {
  const auto known = must({"jobs.mlp.tables.fc1.weight.shape=[512, 784]"});
  EXPECT_EQ(known.jobs[0].tables[0].shape[0], 512U);
  const auto quoted = must({"jobs.mlp.tables.\"fc2.weight\".shape=[100000]"});
  EXPECT_EQ(quoted.jobs[0].tables.at(2).name, "fc2.weight");
}

TEST(overrides, go_below_a_plain_value_of_a_table_with_dots) {
  const auto yaml = with_job("    tables: {a.b: {shape: [4], optimizer: adam}}\n");
  const auto spec = must({"jobs.j.tables.a.b.optimizer.learning_rate=0.25"}, yaml);
  EXPECT_EQ(spec.jobs[0].tables.at(0).optimizer.kind, policies::optimizer_kind::adam);
}

TEST(overrides, values_may_hold_equals_signs) {
  EXPECT_THAT(must({"jobs.mlp.command=[a, --b=c]"}).jobs[0].command,
              testing::ElementsAre("a", "--b=c"));
}

TEST(overrides, locate_an_unknown_path_as_given) {
  EXPECT_THAT(
      refusal(fashion_yaml(), {"jobs.mlp.foo=1"}),
      StartsWith("--set jobs.mlp.foo=1: unknown key 'foo' in jobs.mlp; allowed: workers, "));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.wokers=1"}),
              HasSubstr("did you mean 'workers'?"));
  EXPECT_THAT(
      refusal(fashion_yaml(), {"clutser.shards=1"}),
      AllOf(StartsWith("--set clutser.shards=1"), HasSubstr("did you mean 'cluster'?")));
}

TEST(overrides, locate_a_bad_value_as_given) {
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.workers=0"}),
              StartsWith("--set jobs.mlp.workers=0: jobs.mlp.workers: 0 is too small"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.workers="}), HasSubstr("has no value"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.other.workers=3"}),
              StartsWith("--set jobs.other.workers=3: jobs.other.command: is missing"));
}

TEST(overrides, refuse_what_is_no_assignment) {
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.workers"}), HasSubstr("has no '='"));
  EXPECT_THAT(refusal(fashion_yaml(), {"=3"}), HasSubstr("empty key"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs..workers=3"}), HasSubstr("empty key"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.\"mlp.workers=3"}), HasSubstr("has no '='"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.workers=[1"}),
              StartsWith("--set jobs.mlp.workers=[1: not valid YAML: "));
  EXPECT_THAT(refusal(fashion_yaml(), {"cluster.name.x=1"}),
              StartsWith("--set cluster.name.x=1: cluster.name is a plain value, not a map"));
  EXPECT_THAT(refusal(fashion_yaml(), {"jobs.mlp.command.0=x"}),
              HasSubstr("is a list, not a map"));
}

TEST(overrides, of_the_shards_keep_their_number) {
  const auto spec = must({"cluster.shards=3", "cluster.shards.device=emulated:2",
                          "cluster.shards.device_memory=8MiB"});
  EXPECT_EQ(spec.shards, 3U);
  EXPECT_EQ(spec.device, "emulated:2");
  EXPECT_EQ(spec.device_memory, 8U << 20);
  EXPECT_THAT(refusal(fashion_yaml(), {"cluster.shards.device=gpu"}), HasSubstr("cuda:N"));
  EXPECT_THAT(
      refusal(fashion_yaml(),
              {"cluster.shards.device=emulated:2", "cluster.shards.device_memory=64KiB",
               "cluster.chunk_bytes=8KiB"}),
      AllOf(HasSubstr("is 64KiB, and a chunk is 8KiB"), HasSubstr("16 * cluster.chunk_bytes")));
  EXPECT_THAT(refusal(fashion_yaml(), {"cluster.shards.device_memory=8MiB"}),
              HasSubstr("is for shards on a device"));
}

TEST(overrides, of_the_device_make_chunks_as_large_as_its_memory_allows) {
  const auto chunk_bytes = [](std::vector<std::string> sets) {
    return must(sets, with_job("")).chunk_bytes;
  };
  const std::string device = "cluster.shards.device=emulated:2";
  EXPECT_EQ(chunk_bytes({"cluster.shards=3"}), 256U << 10);
  EXPECT_EQ(chunk_bytes({device}), 16U << 20);
  EXPECT_EQ(chunk_bytes({device, "cluster.shards.device_memory=256MiB"}), 16U << 20);
  EXPECT_EQ(chunk_bytes({device, "cluster.shards.device_memory=255MiB"}), 8U << 20);
  EXPECT_EQ(chunk_bytes({device, "cluster.shards.device_memory=1KiB"}), 64U);
  EXPECT_EQ(chunk_bytes({device, "cluster.chunk_bytes=1MiB"}), 1U << 20);
}

// Small tables are shared out among the shards.
TEST(overrides, of_the_device_leave_a_chunk_for_each_shard) {
  const auto spec = must({"cluster.shards={count: 4, device: 'emulated:2'}"},
                         with_job("    tables: {w: {shape: [1048576]}}\n"));
  EXPECT_EQ(spec.chunk_bytes, 1U << 20);
}

TEST(overrides, go_below_an_optimizer_that_is_a_name_alone) {
  const auto text =
      with_job("    optimizer: adam\n    tables: {t: {shape: [2], optimizer: adagrad}}\n");
  const auto spec = must(
      {"jobs.j.optimizer.beta1=0.5", "jobs.j.tables.t.optimizer.learning_rate=0.25"}, text);
  EXPECT_EQ(spec.jobs[0].optimizer.kind, policies::optimizer_kind::adam);
  EXPECT_EQ(spec.jobs[0].optimizer.beta1, 0.5F);
  EXPECT_EQ(spec.jobs[0].tables[0].optimizer.kind, policies::optimizer_kind::adagrad);
  EXPECT_EQ(spec.jobs[0].tables[0].optimizer.learning_rate, 0.25F);
}

TEST(overrides, list_all_problems_too) {
  const auto text =
      refusal(fashion_yaml(), {"cluster.shards=0", "nonsense", "jobs.mlp.seed=x"});
  EXPECT_THAT(text, AllOf(HasSubstr("cluster.shards: 0"), HasSubstr("has no '='"),
                          HasSubstr("'x' is no number")));
}

TEST(overrides, of_the_policy_drop_the_staleness_of_the_file) {
  const auto bsp = must({"jobs.mlp.consistency.policy=bsp"});
  EXPECT_EQ(bsp.jobs[0].consistency, policies::consistency_spec{});
  const auto async = must({"jobs.mlp.consistency.policy=async"});
  EXPECT_EQ(async.jobs[0].consistency.staleness, 0U);
  EXPECT_THAT(refusal(fashion_yaml(),
                      {"jobs.mlp.consistency.policy=bsp", "jobs.mlp.consistency.staleness=2"}),
              HasSubstr("no meaning with policy bsp"));
}

TEST(overrides, of_the_policy_say_how_to_give_a_staleness) {
  EXPECT_THAT(refusal(with_job(""), {"jobs.j.consistency.policy=ssp"}),
              HasSubstr("add --set jobs.j.consistency.staleness=3"));
  const auto both =
      must({"jobs.j.consistency.policy=ssp", "jobs.j.consistency.staleness=3"}, with_job(""));
  EXPECT_EQ(both.jobs[0].consistency.staleness, 3U);
}

TEST(overrides, of_the_optimizer_drop_what_the_file_says_of_another) {
  const auto spec = must({"jobs.mlp.optimizer.name=sgd"});
  EXPECT_EQ(spec.jobs[0].optimizer.kind, policies::optimizer_kind::sgd);
  EXPECT_EQ(spec.jobs[0].optimizer.learning_rate, 0.05F);
}

}  // namespace
}  // namespace tidegate::launch
