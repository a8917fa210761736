#include <fstream>
#include <tuple>

#include <gmock/gmock.h>

#include "launch/config/write_yaml.hpp"
#include "launch/config/yaml_tree.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

using policies::consistency_kind;
using policies::optimizer_kind;

TEST(parse_cluster, reads_every_key) {
  const auto spec = parse_cluster(fashion_yaml(), "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->name, "fashion-mnist");
  EXPECT_EQ(spec->shards, 2U);
  EXPECT_EQ(spec->transport, policies::transport_kind::tcp);
  EXPECT_EQ(spec->chunk_bytes, 64U * 1024);
  EXPECT_EQ(spec->control_host, "127.0.0.1");
  EXPECT_EQ(spec->control_port, 7070);
  EXPECT_EQ(spec->start_timeout_ms, 5000U);
  ASSERT_EQ(spec->jobs.size(), 1U);
  const auto& job = spec->jobs[0];
  EXPECT_EQ(job.name, "mlp");
  EXPECT_EQ(job.workers, 4U);
  EXPECT_THAT(job.command, testing::ElementsAre("fashion_mnist", "--model", "mlp"));
  EXPECT_THAT(job.env, testing::ElementsAre(testing::Pair("OMP_NUM_THREADS", "1")));
  EXPECT_EQ(job.consistency.kind, consistency_kind::ssp);
  EXPECT_EQ(job.consistency.staleness, 3U);
  EXPECT_EQ(job.optimizer.kind, optimizer_kind::momentum);
  EXPECT_EQ(job.optimizer.learning_rate, 0.05F);
  EXPECT_EQ(job.optimizer.momentum, 0.8F);
  EXPECT_EQ(job.reduce, policies::reduce_kind::sum);
  EXPECT_EQ(job.not_finite, policies::not_finite_rule::allow);
  EXPECT_EQ(job.seed, 7U);
}

// Each key is looked up as the map grows: by hash, or 40,000 tables take seconds to read.
TEST(parse_cluster, finds_keys_of_large_maps_by_hash) {
  constexpr std::size_t keys = 10'000;
  std::string text = "{";
  for (std::size_t i = 0; i < keys; ++i) text += "k" + std::to_string(i) + ": 1, ";
  problems found;
  auto map = parse_yaml(text + "k7: 2}", "c.yaml", false, found);
  ASSERT_EQ(map.entries.size(), keys);
  EXPECT_EQ(map.index.size(), keys);
  EXPECT_EQ(found.size(), 1U) << "a key is given twice";
  EXPECT_EQ(map.find("k9999"), &map.entries.back());
  EXPECT_EQ(map.find("k10000"), nullptr);
  map.add("k10000", {}, {});
  EXPECT_EQ(map.find("k10000"), &map.entries.back());
}

TEST(parse_cluster, reads_tables_in_the_order_of_the_file) {
  const auto spec = parse_cluster(fashion_yaml(), "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  ASSERT_EQ(spec->jobs[0].tables.size(), 2U);
  const auto& weight = spec->jobs[0].tables[0];
  EXPECT_EQ(weight.name, "fc1.weight");
  EXPECT_THAT(weight.shape, testing::ElementsAre(256, 784));
  EXPECT_EQ(weight.init.kind, policies::init_kind::uniform);
  EXPECT_EQ(weight.init.value, 0.0875F);
  EXPECT_EQ(weight.optimizer, spec->jobs[0].optimizer);
  const auto& bias = spec->jobs[0].tables[1];
  EXPECT_EQ(bias.init, policies::init_spec{});
  EXPECT_EQ(bias.optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(bias.optimizer.beta1, 0.8F);
  EXPECT_EQ(bias.optimizer.learning_rate, 0.05F) << "a table keeps what the job says";
}

TEST(parse_cluster, reads_tables_of_rows) {
  const auto spec = parse_cluster(
      with_job(
          "    tables:\n"
          "      few: {rows: dynamic, dim: 8}\n"
          "      many: {rows: dynamic, dim: 8, parts: 4, capacity: 1000, admit: {count: 3}}\n"
          "      some: {rows: dynamic, dim: 8, evict: {unseen: 50 clocks, rows: 900, by: l2},\n"
          "             admit: {count: 2, candidates: 70}, optimizer: {name: ftrl, l1: 2}}\n"),
      "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  const auto& tables = spec->jobs[0].tables;
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].rows, (policies::rows_spec{.dim = 8, .capacity = 1U << 24U}));
  EXPECT_THAT(tables[0].shape, testing::ElementsAre(64));
  EXPECT_EQ(
      tables[1].rows,
      (policies::rows_spec{
          .dim = 8, .capacity = 1000, .lifetime = {.admit_count = 3, .candidates = 1000}}));
  EXPECT_THAT(tables[1].shape, testing::ElementsAre(4));
  EXPECT_EQ(tables[2].rows,
            (policies::rows_spec{.dim = 8,
                                 .capacity = 900,
                                 .lifetime = {.admit_count = 2,
                                              .candidates = 70,
                                              .unseen = 50,
                                              .rows = 900,
                                              .by = runtime::eviction_order::l2}}));
  EXPECT_EQ(tables[2].optimizer.l1, 2.0F);
}

TEST(parse_cluster, reads_segments_of_rows) {
  const auto text = with_job(
      "    optimizer: {name: adagrad, learning_rate: 0.5}\n"
      "    tables:\n"
      "      wide:\n"
      "        rows: dynamic\n"
      "        segments:\n"
      "          - {columns: 1, optimizer: ftrl, init: {constant: 0}}\n"
      "          - {columns: 32, optimizer: {epsilon: 0.25}}\n");
  const auto spec = parse_cluster(text, "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  const auto& table = spec->jobs[0].tables.at(0);
  EXPECT_EQ(table.rows.dim, 33U);
  ASSERT_EQ(table.rows.segments.size(), 2U);
  const auto& [first, second] = std::tie(table.rows.segments[0], table.rows.segments[1]);
  EXPECT_EQ(first.columns, 1U);
  EXPECT_EQ(first.optimizer.kind, optimizer_kind::ftrl);
  EXPECT_EQ(first.init, (policies::init_spec{policies::init_kind::constant, 0.0F}));
  EXPECT_EQ(second.optimizer.kind, optimizer_kind::adagrad);
  EXPECT_EQ(second.optimizer.learning_rate, 0.5F);
  EXPECT_EQ(second.optimizer.epsilon, 0.25F);
  EXPECT_EQ(second.init, policies::rows_spec().init);
  EXPECT_EQ(table.optimizer, first.optimizer);
  const auto again = parse_cluster(write_yaml(*spec), "again.yaml", {});
  ASSERT_TRUE(again) << again.error().message() << write_yaml(*spec);
  EXPECT_EQ(again->jobs[0].tables, spec->jobs[0].tables);
}

TEST(parse_cluster, reads_an_optimizer_that_is_a_name_alone) {
  const auto spec = parse_cluster(
      with_job("    optimizer: adam\n    tables: {t: {shape: [2], optimizer: adagrad}}\n"),
      "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->jobs[0].optimizer, policies::default_optimizer(optimizer_kind::adam));
  EXPECT_EQ(spec->jobs[0].tables[0].optimizer.kind, optimizer_kind::adagrad);
}

TEST(parse_cluster, gives_each_optimizer_its_own_defaults) {
  const auto read = [](const std::string& optimizer) {
    const auto spec =
        parse_cluster(with_job("    optimizer: " + optimizer + "\n"), "c.yaml", {});
    EXPECT_TRUE(spec) << optimizer;
    return spec ? spec->jobs[0].optimizer : policies::optimizer_spec{};
  };
  EXPECT_EQ(read("{name: nesterov}").kind, optimizer_kind::nesterov);
  EXPECT_EQ(read("{name: nesterov}").momentum, 0.9F);
  EXPECT_EQ(read("{name: nesterov, momentum: 0.5}").momentum, 0.5F);
  EXPECT_EQ(read("{name: adagrad}").epsilon, 1e-10F);
  EXPECT_EQ(read("{name: adagrad, epsilon: 0.5}").epsilon, 0.5F);
  EXPECT_EQ(read("{name: adam}").epsilon, 1e-8F);
  EXPECT_EQ(read("{name: adam}").weight_decay, 0.0F);
  EXPECT_EQ(read("{name: adamw}").weight_decay, 0.01F);
  EXPECT_EQ(read("{name: adamw, weight_decay: 0}").weight_decay, 0.0F);
  EXPECT_EQ(read("{name: adamw, learning_rate: 0.5}").learning_rate, 0.5F);
}

TEST(parse_cluster, a_schedule_has_the_defaults_of_its_kind_and_tables_keep_the_jobs) {
  using runtime::rate_schedule;
  using runtime::schedule_kind;
  const auto spec = parse_cluster(
      with_job(
          "    optimizer: {name: momentum, clip_value: 2, lazy: true, schedule: {kind: step, "
          "clocks: 30, warmup: 5}}\n"
          "    tables:\n"
          "      same: {shape: [1]}\n"
          "      other: {shape: [1], optimizer: {name: adam}}\n"
          "      sums: {shape: [1], optimizer: {name: assign}}\n"
          "      own: {shape: [1], optimizer: {clip_value: 0, lazy: false, schedule: {kind: "
          "cosine, "
          "clocks: 8}}}\n"),
      "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  const rate_schedule step{
      .kind = schedule_kind::step, .warmup = 5, .clocks = 30, .factor = 0.1F};
  const auto& job = spec->jobs[0];
  EXPECT_EQ(job.optimizer.schedule, step);
  EXPECT_EQ(job.optimizer.clip_value, 2.0F);
  ASSERT_EQ(job.tables.size(), 4u);
  auto sums = policies::default_optimizer(optimizer_kind::assign);
  sums.lazy = true;
  EXPECT_EQ(job.tables[2].optimizer, sums);
  for (const auto* name : {"same", "other", "own"}) {
    const auto table = std::find_if(job.tables.begin(), job.tables.end(),
                                    [&](const auto& t) { return t.name == name; });
    ASSERT_NE(table, job.tables.end()) << name;
    const bool own = table->name == "own";
    EXPECT_EQ(table->optimizer.clip_value, own ? 0.0F : 2.0F) << name;
    EXPECT_EQ(table->optimizer.lazy, !own) << name;
    EXPECT_EQ(table->optimizer.schedule,
              own ? (rate_schedule{.kind = schedule_kind::cosine, .clocks = 8}) : step)
        << name;
  }
}

TEST(parse_cluster, options_without_a_name_are_those_of_the_default_optimizer_or_of_the_job) {
  const auto spec = parse_cluster(with_job("    optimizer: {learning_rate: 0.5}\n"
                                           "    tables:\n"
                                           "      t: {shape: [1], optimizer: "
                                           "{learning_rate: 0.25}}\n"),
                                  "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  auto expected = policies::default_optimizer(optimizer_kind::sgd);
  expected.learning_rate = 0.5F;
  EXPECT_EQ(spec->jobs[0].optimizer, expected);
  expected.learning_rate = 0.25F;
  EXPECT_EQ(spec->jobs[0].tables[0].optimizer, expected);
  const auto refused = parse_cluster(
      with_job("    optimizer: {learning_rate: 0.5, momentum: 0.5}\n"), "c.yaml", {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("does not belong to this optimizer"),
            std::string::npos);
}

TEST(parse_cluster, a_table_with_another_optimizer_takes_over_the_learning_rate_alone) {
  const auto spec = parse_cluster(
      with_job("    optimizer: {name: adam, learning_rate: 0.5, beta1: 0.7, epsilon: 0.125}\n"
               "    tables:\n"
               "      same: {shape: [1], optimizer: {name: adam, beta2: 0.5}}\n"
               "      other: {shape: [1], optimizer: {name: adagrad}}\n"),
      "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  const auto& same = spec->jobs[0].tables[0].optimizer;
  EXPECT_EQ(same.beta1, 0.7F);
  EXPECT_EQ(same.beta2, 0.5F);
  EXPECT_EQ(same.epsilon, 0.125F);
  auto expected = policies::default_optimizer(optimizer_kind::adagrad);
  expected.learning_rate = 0.5F;
  EXPECT_EQ(spec->jobs[0].tables[1].optimizer, expected);
}

TEST(parse_cluster, shards_that_may_move_are_more_than_processes) {
  const auto read = [](const std::string& keys) {
    const auto spec =
        parse_cluster("cluster: {name: x, " + keys + "}\njobs: {j: {command: a}}\n", "c", {});
    EXPECT_TRUE(spec) << spec.error().message();
    const auto again = parse_cluster(write_yaml(*spec), "again", {});
    EXPECT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->shards, spec->shards);
    EXPECT_EQ(again->slots, spec->slots);
    return std::pair(spec->shards, spec->slots);
  };
  EXPECT_EQ(read("shards: 2"), std::pair(2U, 0U));
  EXPECT_EQ(read("shards: 2, max_shards: 6"), std::pair(6U, 2U));
  EXPECT_EQ(read("shards: 2, max_shards: 2"), std::pair(2U, 2U)) << "they may be fewer";
}

TEST(parse_cluster, fills_in_the_defaults_of_the_spec) {
  const auto spec = parse_cluster(with_job(""), "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  const policies::cluster_spec plain;
  EXPECT_EQ(spec->shards, plain.shards);
  EXPECT_EQ(spec->chunk_bytes, plain.chunk_bytes);
  EXPECT_EQ(spec->start_timeout_ms, plain.start_timeout_ms);
  const auto& job = spec->jobs.at(0);
  EXPECT_THAT(job.command, testing::ElementsAre("run"));
  EXPECT_EQ(job.workers, 1U);
  EXPECT_EQ(job.consistency, policies::consistency_spec{});
  EXPECT_EQ(job.optimizer, policies::optimizer_spec{});
  EXPECT_EQ(job.seed, 1U);
  EXPECT_EQ(job.state_bytes_max(), 1U << 20U);
  EXPECT_TRUE(job.tables.empty());
}

TEST(parse_cluster, follows_aliases) {
  const auto spec = parse_cluster(
      "cluster: {name: x}\njobs:\n  a: &base\n    command: run\n    seed: 3\n  b: *base\n",
      "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->jobs.at(1).seed, 3U);
}

TEST(parse_cluster, takes_a_scalar_table_and_the_largest_one) {
  const auto spec = parse_cluster(
      with_job("    tables: {t: {shape: []}, big: {shape: [1024, 1048576, 1024]}}\n"), "c.yaml",
      {"cluster.chunk_bytes=64MiB"});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->jobs[0].tables[0].size(), 1U);
  EXPECT_EQ(spec->jobs[0].tables[1].size(), 1ULL << 40U);
}

TEST(load_cluster, reads_a_file_and_names_it_in_messages) {
  const auto path = testing::TempDir() + "load_cluster_test.yaml";
  std::ofstream(path) << fashion_yaml();
  EXPECT_TRUE(load_cluster(path, {}));
  std::ofstream(path) << "cluster: {name: x, shards: 0}\njobs: {j: {command: a}}\n";
  const auto bad = load_cluster(path, {});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), testing::StartsWith(path + ":1:28: cluster.shards: 0"));
}

TEST(load_cluster, says_why_a_file_cannot_be_read) {
  const auto gone = load_cluster("/no/such.yaml", {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), runtime::errc::not_found);
  EXPECT_THAT(gone.error().message(), testing::HasSubstr("/no/such.yaml"));
  const auto folder = load_cluster("/tmp", {});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), runtime::errc::io_error);
}

TEST(parse_cluster, chunks_are_larger_where_they_cross_a_network) {
  EXPECT_EQ(parse_cluster(with_job(""), "c.yaml", {})->chunk_bytes, 256U << 10U);
  EXPECT_EQ(parse_cluster(hosts_yaml(), "c.yaml", {})->chunk_bytes, 512U << 10U);
  EXPECT_EQ(parse_cluster(hosts_yaml(), "c.yaml", {"cluster.chunk_bytes=64"})->chunk_bytes,
            64U);
}

}  // namespace
}  // namespace tidegate::launch
