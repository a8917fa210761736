#include "launch/agents/engine.hpp"

#include <gmock/gmock.h>

#include "launch/config/read_spec.hpp"

namespace tidegate::launch {
namespace {

using policies::engine_kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

policies::cluster_spec cluster(engine_kind engine) {
  policies::cluster_spec spec;
  spec.engine = engine;
  return spec;
}

TEST(engine, of_slurm_has_the_nodes_of_the_allocation) {
  const auto spec = with_hosts_of(cluster(engine_kind::slurm),
                                  {.own_host = "n2", .nodes = {"n1", "n2", "n3"}});
  ASSERT_TRUE(spec) << spec.error().message();
  ASSERT_EQ(spec->hosts.size(), 3U);
  EXPECT_EQ(spec->engine, engine_kind::local) << "it has done its part";
  EXPECT_EQ(spec->hosts[0].address, "n1");
  EXPECT_THAT(spec->hosts[0].prefix,
              IsSupersetOf({"srun", "--overlap", "--ntasks=1", "--nodelist=n1"}));
  EXPECT_THAT(spec->hosts[1].prefix, IsEmpty()) << "the launcher's own";
  EXPECT_EQ(spec->coordinator_host, "n2");
  EXPECT_EQ(spec->control_host, "n2");
}

TEST(engine, of_kubernetes_has_pods_behind_doors) {
  auto named = cluster(engine_kind::kubernetes);
  named.name = "mine";
  const auto spec = as_if_on_engine(named, 3);
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->hosts[0].address, "mine-launcher-0-0.mine");
  EXPECT_EQ(spec->control_host, spec->hosts[0].address);
  EXPECT_THAT(spec->hosts[0].prefix, IsEmpty()) << "the launcher's own";
  EXPECT_EQ(spec->hosts[2].name, "node3");
  EXPECT_THAT(spec->hosts[2].prefix,
              ElementsAre("tidegate", "relay", "--key-file", "/run/tidegate/key/key", "--wait",
                          "10m", "mine-hosts-0-1.mine"));
  EXPECT_EQ(spec->start_timeout_ms, 600'000U) << "images have to be loaded";
  const auto here = on_engine(named, {});
  ASSERT_FALSE(here);
  EXPECT_THAT(here.error().message(), HasSubstr("tidegate render kubernetes FILE"));
  named.name = "My_run";
  EXPECT_THAT(as_if_on_engine(named, 3).error().message(), HasSubstr("cannot name pods"));
}

TEST(engine, of_slurm_takes_the_hosts_of_the_file_if_they_are_in_the_allocation) {
  auto named = cluster(engine_kind::slurm);
  named.hosts = {{.name = "n1", .address = "10.0.0.1", .prefix = {}},
                 {.name = "n2", .address = "", .prefix = {}, .room = 2}};
  const auto spec = with_hosts_of(named, {.own_host = "n1", .nodes = {"n1", "n2", "n3"}});
  ASSERT_TRUE(spec) << spec.error().message();
  ASSERT_EQ(spec->hosts.size(), 2U);
  EXPECT_EQ(spec->hosts[0].address, "10.0.0.1");
  EXPECT_EQ(spec->hosts[1].address, "n2");
  EXPECT_EQ(spec->hosts[1].room, 2U);
  const auto gone = with_hosts_of(named, {.own_host = "n1", .nodes = {"n1", "n3"}});
  ASSERT_FALSE(gone);
  EXPECT_THAT(
      gone.error().message(),
      HasSubstr("cluster.hosts.n2 is not in the allocation of Slurm, which has n1, n3"));
}

TEST(engine, of_mpi_binds_no_agent_to_a_processor) {
  auto named = cluster(engine_kind::mpi);
  named.hosts = {{.name = "a", .address = "", .prefix = {}},
                 {.name = "b", .address = "", .prefix = {}}};
  const auto open_mpi = with_hosts_of(named, {.own_host = "a", .mpi = mpi_kind::open_mpi});
  ASSERT_TRUE(open_mpi);
  EXPECT_THAT(open_mpi->hosts[1].prefix,
              ElementsAre("mpirun", "--bind-to", "none", "-np", "1", "--host", "b"));
  named.engine_program = "mpirun.mpich";
  const auto mpich = with_hosts_of(named, {.own_host = "a", .mpi = mpi_kind::mpich});
  ASSERT_TRUE(mpich);
  EXPECT_THAT(mpich->hosts[1].prefix,
              ElementsAre("mpirun.mpich", "-bind-to", "none", "-n", "1", "-hosts", "b"));
}

TEST(engine, knows_open_mpi_under_all_its_names) {
  EXPECT_EQ(mpi_of_version("mpirun (Open MPI) 4.1.4\n"), mpi_kind::open_mpi);
  EXPECT_EQ(mpi_of_version("mpirun.openmpi (OpenRTE) 4.1.4\n"), mpi_kind::open_mpi);
  EXPECT_EQ(mpi_of_version("HYDRA build details:\n    Version: 4.0.2\n"), mpi_kind::mpich);
}

// Also where that is not the first of the file.
TEST(engine, has_the_coordinator_listen_at_the_launchers_address_unless_the_file_says_where) {
  const auto listens_at = [](const std::string& control) {
    const auto read =
        parse_cluster("cluster: {name: x, engine: mpi, " + control +
                          "hosts: {a: {address: 10.0.0.1}, b: {address: 10.0.0.2}}}\n"
                          "jobs: {j: {command: run}}\n",
                      "c.yaml", {});
    if (!read) return read.error().message();
    const auto spec = with_hosts_of(*read, {.own_host = "b"});
    return spec ? spec->coordinator_host + " at " + spec->control_host : spec.error().message();
  };
  EXPECT_EQ(listens_at(""), "b at 10.0.0.2");
  EXPECT_EQ(listens_at("control: {host: 0.0.0.0}, "), "b at 0.0.0.0");
}

TEST(engine, needs_a_launcher_on_one_of_its_hosts) {
  const auto elsewhere =
      with_hosts_of(cluster(engine_kind::slurm), {.own_host = "login", .nodes = {"n1", "n2"}});
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message(),
              HasSubstr("this host, login, is not among the cluster's: n1, n2"));
}

TEST(engine, is_not_asked_for_a_plan) {
  const auto spec = as_if_on_engine(cluster(engine_kind::slurm), 3);
  ASSERT_TRUE(spec) << spec.error().message();
  ASSERT_EQ(spec->hosts.size(), 3U);
  EXPECT_THAT(spec->hosts[0].prefix, IsEmpty());
  EXPECT_THAT(spec->hosts[2].prefix, IsSupersetOf({"srun", "--nodelist=node3"}));
  auto named = cluster(engine_kind::mpi);
  named.hosts = {{.name = "a", .address = "", .prefix = {}}};
  EXPECT_EQ(as_if_on_engine(named, 0)->hosts.size(), 1U);
  const auto refusal = [](const policies::cluster_spec& of, std::uint32_t nodes) {
    const auto planned = as_if_on_engine(of, nodes);
    return planned ? "planned" : planned.error().message();
  };
  EXPECT_THAT(refusal(named, 2), HasSubstr("names 1 nodes, and 2 are asked for"));
  EXPECT_THAT(refusal(cluster(engine_kind::ray), 0), HasSubstr("--nodes N"));
  EXPECT_TRUE(as_if_on_engine(cluster(engine_kind::local), 0)) << "plan --engine local";
  EXPECT_THAT(refusal(cluster(engine_kind::local), 2), HasSubstr("cluster.engine is local"));
}

TEST(engine, is_not_asked_where_there_is_no_allocation) {
  const auto none = on_engine(cluster(engine_kind::slurm), {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("this is no allocation of Slurm"));
  EXPECT_TRUE(on_engine(cluster(engine_kind::local), {}));
  const auto ray = on_engine(cluster(engine_kind::ray), {});
  ASSERT_FALSE(ray);
  EXPECT_THAT(ray.error().message(), HasSubstr("tidegate.ray.launch(\"cluster.yaml\")"));
  auto mpi = cluster(engine_kind::mpi);
  mpi.engine_program = "no_such_mpirun";
  const auto missing = on_engine(mpi, {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("no_such_mpirun"));
}

}  // namespace
}  // namespace tidegate::launch
