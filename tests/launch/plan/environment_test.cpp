#include "launch/plan/environment.hpp"

#include <gmock/gmock.h>

#include "launch/processes/find_program.hpp"
#include "policies/protocol/protocol_version.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

policies::cluster_spec spec_with(const std::string& transport) {
  return *parse_cluster(fashion_yaml(), "c.yaml", {"cluster.transport=" + transport});
}

const run_identity identity{.token = 0xabc, .port = 4711, .run_dir = "/runs/x"};
const process_plan worker_3{.name = {.role = process_role::worker, .job = "mlp", .index = 3},
                            .host = "",
                            .command = {}};

process_plan node(process_role role) {
  return {.name = {.role = role, .job = "", .index = 0}, .host = "", .command = {}};
}

TEST(environment, of_a_worker) {
  const auto all = child_environment({{"HOME", "/h"}}, spec_with("tcp"), worker_3, identity);
  EXPECT_EQ(all.at("HOME"), "/h");
  EXPECT_EQ(all.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(all.at("TIDEGATE_COORDINATOR"), "127.0.0.1:4711");
  EXPECT_EQ(all.at("TIDEGATE_TOKEN"), "0000000000000abc");
  EXPECT_EQ(all.at("TIDEGATE_PROTOCOL"), policies::protocol_text());
  EXPECT_EQ(all.at("TIDEGATE_TRANSPORT"), "tcp");
  EXPECT_EQ(all.at("TIDEGATE_START_TIMEOUT_MS"), "5000");
  EXPECT_EQ(all.at("TIDEGATE_JOB"), "mlp");
  EXPECT_EQ(all.at("TIDEGATE_RANK"), "3");
  EXPECT_EQ(all.at("TIDEGATE_INCARNATION"), "1");
  EXPECT_EQ(all.at("TIDEGATE_RUN_DIR"), "/runs/x");
  EXPECT_EQ(all.at("UCX_MEM_EVENTS"), "n") << "a kill would leave UCX's segment behind";
}

TEST(environment, has_secrets_of_a_store_where_checkpoints_are_written_alone) {
  auto spec = spec_with("tcp");
  const variables base{{"AWS_ACCESS_KEY_ID", "id"},
                       {"AWS_SECRET_ACCESS_KEY", "secret"},
                       {"AWS_SESSION_TOKEN", "token"},
                       {"AWS_REGION", "here"}};
  EXPECT_EQ(child_environment(base, spec, worker_3, identity).count("AWS_SECRET_ACCESS_KEY"),
            1U)
      << "they are the user's affair where no job has a store";
  spec.jobs[0].checkpoint.emplace().path = "s3://bucket/runs";
  for (const auto& process : {worker_3, node(process_role::aggregator)}) {
    const auto all = child_environment(base, spec, process, identity);
    for (const auto* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})
      EXPECT_EQ(all.count(name), 0U) << name;
    EXPECT_EQ(all.at("AWS_REGION"), "here");
  }
  for (const auto role :
       {process_role::coordinator, process_role::shard, process_role::replica})
    EXPECT_EQ(child_environment(base, spec, node(role), identity).at("AWS_SESSION_TOKEN"),
              "token");
  spec.jobs[0].env["AWS_SESSION_TOKEN"] = "its own";
  EXPECT_EQ(child_environment(base, spec, worker_3, identity).at("AWS_SESSION_TOKEN"),
            "its own");
}

TEST(environment, tells_workers_what_torchrun_would) {
  auto spec = spec_with("tcp");
  auto run = identity;
  run.workers_port = 29500;
  spec.jobs[0].workers = 5;
  spec.hosts = {{.name = "a", .address = "10.0.0.7", .prefix = {}},
                {.name = "b", .address = "10.0.0.8", .prefix = {}}};
  const auto all = child_environment({}, spec, worker_3, run);
  EXPECT_EQ(all.at("RANK"), "3");
  EXPECT_EQ(all.at("WORLD_SIZE"), "5");
  EXPECT_EQ(all.at("LOCAL_RANK"), "0");  // ranks 0 to 2 are on a, the others on b
  EXPECT_EQ(all.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(all.at("MASTER_ADDR"), "10.0.0.7");
  EXPECT_EQ(all.at("MASTER_PORT"), "29500");
  spec.hosts.clear();
  const auto alone = child_environment({}, spec, worker_3, run);
  EXPECT_EQ(alone.at("LOCAL_RANK"), "3");
  EXPECT_EQ(alone.at("LOCAL_WORLD_SIZE"), "5");
  EXPECT_EQ(alone.at("MASTER_ADDR"), "127.0.0.1");
  spec.jobs[0].env["MASTER_PORT"] = "1";
  EXPECT_EQ(child_environment({}, spec, worker_3, run).at("MASTER_PORT"), "1");
  EXPECT_EQ(child_environment({}, spec, node(process_role::shard), run).count("RANK"), 0U);
}

TEST(environment, tells_a_process_how_it_is_slow) {
  auto spec = spec_with("auto");
  spec.faults.slow = {{.process = "worker-mlp-3", .factor = 2.5F, .from = 7, .until = 9},
                      {.process = "shard-0", .link_delay_ms = 5}};
  const auto worker = child_environment({}, spec, worker_3, identity);
  EXPECT_EQ(worker.at("TIDEGATE_SLOW"), "2.5 7 9");
  EXPECT_EQ(worker.count("TIDEGATE_LINK_FAULTS"), 0U);
  const auto shard = child_environment({}, spec, node(process_role::shard), identity);
  EXPECT_EQ(shard.count("TIDEGATE_SLOW"), 0U);
  EXPECT_THAT(shard.at("TIDEGATE_LINK_FAULTS"), testing::EndsWith(" 0 0 1 5 5"));
  spec.faults.link.drop = 0.5F;
  EXPECT_THAT(child_environment({}, spec, worker_3, identity).at("TIDEGATE_LINK_FAULTS"),
              testing::EndsWith(" 0.5 0 0 0 20"));
}

TEST(environment, of_nodes_has_no_job) {
  const auto shard =
      child_environment({}, spec_with("auto"), node(process_role::shard), identity);
  EXPECT_EQ(shard.count("TIDEGATE_JOB"), 0U);
  EXPECT_EQ(shard.count("OMP_NUM_THREADS"), 0U);
  EXPECT_EQ(shard.count("TIDEGATE_COORDINATOR"), 1U);
  const auto first =
      child_environment({}, spec_with("auto"), node(process_role::coordinator), identity);
  EXPECT_EQ(first.count("TIDEGATE_COORDINATOR"), 0U);
}

TEST(environment, follows_the_transport_unless_the_user_has_chosen) {
  const auto tls = [](const std::string& transport) {
    return child_environment({}, spec_with(transport), worker_3, identity);
  };
  EXPECT_EQ(tls("auto").at("UCX_TLS"), "tcp,self");
  EXPECT_EQ(tls("shm").at("UCX_TLS"), "self");
  EXPECT_EQ(tls("tcp").at("UCX_TLS"), "tcp,self");
  EXPECT_EQ(tls("rdma").at("UCX_TLS"), "rc,dc,ud,self");
  EXPECT_EQ(tls("tcp").at("UCX_TCP_MAX_IOV"), "16");
  const auto own = child_environment({{"UCX_TLS", "rc"}}, spec_with("tcp"), worker_3, identity);
  EXPECT_EQ(own.at("UCX_TLS"), "rc");
  auto spec = spec_with("tcp");
  spec.jobs[0].env["UCX_TLS"] = "self";
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).at("UCX_TLS"), "self");
}

TEST(environment, says_whether_the_variables_of_ucx_count) {
  const variables chosen{{"UCX_TLS", "tcp"}};
  EXPECT_FALSE(may_send_over_ucx(spec_with("auto"), {}));
  EXPECT_TRUE(may_send_over_ucx(spec_with("auto"), chosen));
  EXPECT_FALSE(may_send_over_ucx(spec_with("tcp"), chosen));
  EXPECT_TRUE(may_send_over_ucx(spec_with("ucx"), {}));
  EXPECT_TRUE(may_send_over_ucx(spec_with("rdma"), {}));
  auto sealed = spec_with("auto");
  sealed.security.encrypt = true;
  EXPECT_FALSE(may_send_over_ucx(sealed, chosen));
}

TEST(environment, says_whether_processes_encrypt) {
  auto spec = spec_with("auto");
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).count("TIDEGATE_ENCRYPT"), 0U);
  spec.security.encrypt = true;
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).at("TIDEGATE_ENCRYPT"), "1");
}

TEST(environment, forgets_an_outer_run) {
  const auto all = child_environment({{"TIDEGATE_RANK", "9"}, {"TIDEGATE_LOG", "debug"}},
                                     spec_with("auto"), node(process_role::shard), identity);
  EXPECT_EQ(all.count("TIDEGATE_RANK"), 0U);
  EXPECT_EQ(all.at("TIDEGATE_LOG"), "debug");
}

TEST(environment, tells_whether_all_are_on_one_host) {
  auto spec = spec_with("auto");
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).at("TIDEGATE_ONE_HOST"), "1");
  spec.hosts = {{.name = "a", .address = "10.0.0.7", .prefix = {}}};
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).at("TIDEGATE_ONE_HOST"), "1");
  spec.hosts.push_back({"b", "10.0.0.8", {}});
  EXPECT_EQ(child_environment({}, spec, worker_3, identity).count("TIDEGATE_ONE_HOST"), 0U);
}

TEST(environment, reads_and_writes_entries) {
  const char* const raw[] = {"A=1", "B=x=y", "odd", "=C", "E=", nullptr};
  const auto all = parse_environment(raw);
  EXPECT_THAT(format_environment(all), testing::ElementsAre("A=1", "B=x=y", "E="));
}

TEST(environment, tokens_both_ways) {
  std::uint64_t token = 0;
  EXPECT_TRUE(parse_token(format_token(~0ULL), token));
  EXPECT_EQ(token, ~0ULL);
  for (const auto* bad : {"", "xyz", "00000000000000000", "12 "})
    EXPECT_FALSE(parse_token(bad, token));
}

TEST(environment, wildcard_addresses_are_reached_at_the_coordinators_host) {
  policies::cluster_spec spec;
  const auto reached = [&](const std::string& control_host) {
    spec.control_host = control_host;
    return reachable_host(spec);
  };
  EXPECT_EQ(reached("0.0.0.0"), "127.0.0.1");
  EXPECT_EQ(reached("::"), "::1");
  EXPECT_EQ(reached("10.0.0.1"), "10.0.0.1");
  spec.hosts = {{.name = "a", .address = "10.0.0.7", .prefix = {}}};
  EXPECT_EQ(reached("0.0.0.0"), "10.0.0.7");
  EXPECT_EQ(reached("10.0.0.1"), "10.0.0.1");
}

TEST(environment, names_the_host_of_a_process) {
  auto spec = *parse_cluster(hosts_yaml(), "c.yaml", {});
  auto process = node(process_role::shard);
  process.host = "b";
  auto all = child_environment({}, spec, process, identity);
  EXPECT_EQ(all.at("TIDEGATE_HOST"), "b");
  EXPECT_EQ(all.at("TIDEGATE_ADDRESS"), "10.0.0.2");
  EXPECT_EQ(all.at("TIDEGATE_COORDINATOR"), "10.0.0.1:4711");
  spec.hosts[1].rails = {"10.1.0.2", "fd00::2"};
  all = child_environment({}, spec, process, identity);
  EXPECT_EQ(all.at("TIDEGATE_ADDRESS"), "10.0.0.2,10.1.0.2,fd00::2");
}

TEST(find_program, looks_beside_then_in_path) {
  EXPECT_EQ(*find_program("sh", "/nowhere", "/also/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(*find_program("sh", "/bin", ""), "/bin/sh");
  EXPECT_EQ(*find_program("/bin/sh", "", ""), "/bin/sh");
  const auto gone = find_program("no_such_program", "/opt/t", "/bin");
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message(), testing::HasSubstr("neither in /opt/t"));
  EXPECT_FALSE(find_program("/etc/passwd", "", "")) << "cannot be executed";
  EXPECT_FALSE(find_program("/bin", "", "")) << "a folder";
}

}  // namespace
}  // namespace tidegate::launch
