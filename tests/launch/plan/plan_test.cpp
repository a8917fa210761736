#include "launch/plan/plan.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "runtime/base/limits.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

cluster_plan fashion_plan() {
  return make_plan(*parse_cluster(fashion_yaml(), "c.yaml", {}));
}

TEST(plan, starts_coordinator_shards_workers) {
  const auto plan = fashion_plan();
  std::vector<std::string> names;
  for (const auto& p : plan.processes) names.push_back(p.name.to_string());
  EXPECT_THAT(names, testing::ElementsAre("coordinator-0", "shard-0", "shard-1", "worker-mlp-0",
                                          "worker-mlp-1", "worker-mlp-2", "worker-mlp-3"));
  EXPECT_THAT(plan.processes[3].command,
              testing::ElementsAre("fashion_mnist", "--model", "mlp"));
}

TEST(plan, places_workers_in_blocks_and_shards_in_turn) {
  const auto plan = make_plan(*parse_cluster(hosts_yaml(), "c.yaml", {}));
  std::string places;
  for (const auto& p : plan.processes) places += p.name.to_string() + "@" + p.host + " ";
  EXPECT_EQ(places,
            "coordinator-0@a shard-0@b shard-1@c shard-2@b worker-j-0@a worker-j-1@a "
            "worker-j-2@a worker-j-3@b worker-j-4@b ");
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("0..2"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["processes"][2]["host"], "c");
  const auto moved = make_plan(*parse_cluster(
      hosts_yaml(), "c.yaml", {"cluster.coordinator_host=c", "jobs.j.workers=1"}));
  EXPECT_EQ(moved.processes.front().host, "c");
  EXPECT_EQ(moved.processes.back().host, "a");
}

TEST(plan, says_what_starts_the_agent_of_a_host) {
  const auto plan = make_plan(*parse_cluster(
      "cluster: {name: x, hosts: {a: {address: 10.0.0.1}, b: {ssh: me@b, address: 10.0.0.2}}}\n"
      "jobs: {j: {command: run}}\n",
      "c.yaml", {}));
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("10.0.0.1  the launcher, which is there"));
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("-- me@b 'exec tidegate host'"));
  const auto shown = nlohmann::json::parse(plan_json(plan));
  EXPECT_EQ(shown["hosts"][0]["agent"].size(), 0U);
  EXPECT_EQ(shown["hosts"][1]["agent"][0], "ssh");
}

TEST(plan, says_where_shards_keep_their_parameters) {
  const auto plan =
      make_plan(*parse_cluster(fashion_yaml(), "c.yaml", {"cluster.shards.device=cuda:0"}));
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("the shard's on cuda:0"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["device"], "cuda:0");
  EXPECT_THAT(plan_text(fashion_plan()), testing::Not(testing::HasSubstr("the shard's on")));
}

TEST(plan, says_where_a_job_names_a_folder_for_its_checkpoints) {
  const auto plan = make_plan(
      *parse_cluster(fashion_yaml(), "c.yaml",
                     {"jobs.mlp.checkpoint={every: 30s, path: /shared/checkpoints/}"}));
  EXPECT_THAT(plan_text(plan),
              testing::HasSubstr("\n  checkpoints in /shared/checkpoints/mlp\n"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["jobs"][0]["checkpoints"],
            "/shared/checkpoints/mlp");
  EXPECT_THAT(plan_text(fashion_plan()), testing::Not(testing::HasSubstr("checkpoints in")));
}

TEST(plan, places_aggregators_with_those_whom_they_sum) {
  const auto names = [](const std::string& aggregators) {
    const auto plan = make_plan(
        *parse_cluster(hosts_yaml(), "c.yaml", {"jobs.j.aggregators=" + aggregators}));
    std::string places;
    for (const auto& p : plan.processes)
      if (p.name.role == process_role::aggregator)
        places += p.name.to_string() + "@" + p.host + " ";
    EXPECT_EQ(plan.jobs[0].aggregators, std::count(places.begin(), places.end(), '@'));
    return places;
  };
  EXPECT_EQ(names("none"), "");
  // Ranks 0 to 2 on a, 3 and 4 on b.
  EXPECT_EQ(names("per_host"), "aggregator-j-0@a aggregator-j-1@b ");
  const auto in_a_rack = make_plan(*parse_cluster(
      hosts_yaml(), "c.yaml",
      {"jobs.j.aggregators=per_rack", "cluster.hosts.a.rack=r", "cluster.hosts.b.rack=r"}));
  EXPECT_EQ(in_a_rack.jobs[0].aggregators, 3U);
  // {0, 1}, {2, 3}, and over both {0 .. 3}; 4 has nobody to be summed with.
  EXPECT_EQ(names("{fan_in: 2}"), "aggregator-j-0@a aggregator-j-1@a aggregator-j-2@a ");
  const auto plan =
      make_plan(*parse_cluster(hosts_yaml(), "c.yaml", {"jobs.j.aggregators={fan_in: 2}"}));
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("5 workers, bsp, 3 aggregators"));
  EXPECT_THAT(plan_text(plan), testing::HasSubstr("tidegate node aggregator"));
  EXPECT_EQ(
      nlohmann::json::parse(plan_json(plan))["processes"][4]["command"],
      (std::vector<std::string>{"tidegate", "node", "aggregator", "--job=j", "--index", "0"}));
}

TEST(plan, counts_chunks_and_bytes_of_tables) {
  const auto plan = fashion_plan();
  ASSERT_EQ(plan.jobs.at(0).tables.size(), 2U);
  EXPECT_EQ(plan.jobs[0].policy, "ssp(3)");
  const auto& weight = plan.jobs[0].tables[0];
  EXPECT_EQ(weight.elements, 256U * 784);
  EXPECT_EQ(weight.bytes, 256U * 784 * 4);
  EXPECT_EQ(weight.chunks, 13U);  // 802,816 bytes in 65,536
  EXPECT_EQ(weight.chunks_per_shard[0] + weight.chunks_per_shard[1], 13U);
}

// As the coordinator places them.
TEST(plan, spreads_the_parts_of_tables_of_rows) {
  const auto plan = make_plan(*parse_cluster(
      fashion_yaml(), "c.yaml",
      {"jobs.mlp.optimizer={name: adagrad}",
       "jobs.mlp.tables={user: {rows: dynamic, dim: 16, parts: 9, evict: {rows: 900}}}"}));
  const auto& user = plan.jobs.at(0).tables.at(0);
  EXPECT_EQ(user.chunks, 9U);
  EXPECT_THAT(user.chunks_per_shard, testing::UnorderedElementsAre(4, 5));
  EXPECT_EQ(user.bytes + plan.shards[0].parameter_bytes, 0U) << "nobody knows how many";
  EXPECT_THAT(plan_text(plan), testing::ContainsRegex("user +rows of 16 +as made +9"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["jobs"][0]["tables"][0]["row_dim"], 16);
}

TEST(plan, says_how_much_of_a_table_of_rows_is_in_memory) {
  const auto plan = make_plan(*parse_cluster(
      fashion_yaml(), "c.yaml",
      {"jobs.mlp.optimizer={name: adagrad}",
       "jobs.mlp.tables={user: {rows: dynamic, dim: 16, parts: 9, memory: 48MiB}}"}));
  EXPECT_THAT(
      plan_text(plan),
      testing::ContainsRegex("user +rows of 16 +as made, 48.0 MiB in memory of each shard +9"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["jobs"][0]["tables"][0]["row_memory"],
            48 << 20);
  for (const auto& shard : plan.memory) {
    if (shard.process.starts_with("shard")) {
      EXPECT_EQ(shard.parameters, 48U << 20U) << "and that is all it takes";
    }
  }
}

TEST(plan, adds_up_memory_per_shard) {
  const auto plan = fashion_plan();
  const std::uint64_t weight = 256 * 784 * 4;
  const std::uint64_t bias = 256 * 4;
  std::uint64_t parameters = 0;
  std::uint64_t state = 0;
  for (const auto& s : plan.shards) {
    parameters += s.parameter_bytes;
    state += s.state_bytes;
    EXPECT_EQ(s.receive_bytes_max,
              s.parameter_bytes * 4 * runtime::limits::clocks_in_flight_max);
  }
  EXPECT_EQ(parameters, weight + bias);
  EXPECT_EQ(state, weight + 2 * bias) << "momentum keeps one copy, adam two";
}

TEST(plan, sgd_keeps_no_state) {
  const auto plan =
      make_plan(*parse_cluster(with_job("    tables: {t: {shape: [10]}}\n"), "c.yaml", {}));
  EXPECT_EQ(plan.shards[0].state_bytes, 0U);
  EXPECT_EQ(plan.shards[0].parameter_bytes, 40U);
}

TEST(plan, knows_the_state_of_every_optimizer) {
  const auto state = [](const std::string& name) {
    const auto job = "    optimizer: {name: " + name + "}\n    tables: {t: {shape: [10]}}\n";
    return make_plan(*parse_cluster(with_job(job), "c.yaml", {})).shards[0].state_bytes;
  };
  for (const auto* name : {"momentum", "nesterov", "adagrad"}) EXPECT_EQ(state(name), 40U);
  for (const auto* name : {"adam", "adamw"}) EXPECT_EQ(state(name), 80U);
}

TEST(plan, text_shows_processes_tables_and_memory) {
  const auto text = plan_text(fashion_plan());
  for (const auto* part : {"cluster fashion-mnist: 7 processes, chunks of 64.0 KiB", "0..3",
                           "fashion_mnist --model mlp", "job mlp: 4 workers, ssp(3)",
                           "fc1.weight", "784.0 KiB", "receive buffers, at most"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
  const auto none = plan_text(make_plan(*parse_cluster(with_job(""), "c.yaml", {})));
  EXPECT_THAT(none, testing::HasSubstr("no tables declared"));
}

TEST(plan, json_holds_the_same) {
  const auto root = nlohmann::json::parse(plan_json(fashion_plan()));
  EXPECT_EQ(root["cluster"], "fashion-mnist");
  EXPECT_EQ(root["processes"].size(), 7U);
  EXPECT_EQ(root["processes"][6]["role"], "worker");
  EXPECT_EQ(root["processes"][6]["index"], 3);
  EXPECT_EQ(root["jobs"][0]["tables"][0]["chunks"], 13);
  EXPECT_EQ(root["shards"].size(), 2U);
  EXPECT_GT(root["shards"][0]["receive_bytes_max"], 0);
}

}  // namespace
}  // namespace tidegate::launch
