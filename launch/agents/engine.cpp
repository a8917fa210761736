#include "launch/agents/engine.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <unistd.h>

#include "launch/agents/pods.hpp"
#include "launch/config/section.hpp"
#include "launch/processes/output_of.hpp"
#include "launch/text/nearest.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

mpi_kind mpi_of_version(std::string_view text) {
  for (const auto* word : {"Open MPI", "OpenRTE", "PRRTE"})
    if (text.find(word) != std::string_view::npos) return mpi_kind::open_mpi;
  return mpi_kind::mpich;
}

namespace {

using policies::engine_kind;
using runtime::errc;

// Up to its first dot, as engines name hosts.
std::string short_name_of_this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string text(name.data());
  return text.substr(0, text.find('.'));
}

std::string program_of(const policies::cluster_spec& spec) {
  if (!spec.engine_program.empty()) return spec.engine_program;
  return spec.engine == engine_kind::slurm ? "srun" : "mpirun";
}

runtime::expected<engine_facts> find_slurm(const variables& environment) {
  const auto list = variable_in(environment, "SLURM_JOB_NODELIST");
  if (list.empty())
    return runtime::fail(errc::unavailable,
                         "cluster.engine is slurm, and this is no allocation of Slurm: run "
                         "`tidegate launch` in a batch script (sbatch) or under salloc");
  const auto names = output_of({"scontrol", "show", "hostnames", list});
  if (!names) return runtime::fail(names.error());
  engine_facts facts;
  std::istringstream lines(*names);
  for (std::string name; std::getline(lines, name);)
    if (is_plain_name(name)) facts.nodes.push_back(name);  // not a warning
  if (facts.nodes.empty())
    return runtime::fail(errc::unavailable,
                         "scontrol names no nodes of " + list + ": " + *names);
  facts.own_host = variable_in(environment, "SLURMD_NODENAME");
  if (facts.own_host.empty()) facts.own_host = short_name_of_this_host();
  return facts;
}

runtime::expected<engine_facts> find_mpi(const policies::cluster_spec& spec) {
  const auto program = program_of(spec);
  const auto version = output_of({program, "--version"});
  if (!version) return runtime::fail(version.error());
  engine_facts facts;
  facts.own_host = short_name_of_this_host();
  facts.mpi = mpi_of_version(*version);
  return facts;
}

// An agent is neither bound to one processor, nor the end of the others when it ends.
std::vector<std::string> command_for(const policies::cluster_spec& spec,
                                     const engine_facts& facts, const std::string& host) {
  // Only in plans: the package tidegate.ray has the command.
  if (spec.engine == engine_kind::ray) return {"ray-actor", host};
  const auto program = program_of(spec);
  if (spec.engine == engine_kind::slurm)
    return {program,           "--overlap",          "--nodes=1", "--ntasks=1",
            "--cpu-bind=none", "--nodelist=" + host, "--no-kill", "--quit-on-interrupt"};
  if (facts.mpi == mpi_kind::open_mpi)
    return {program, "--bind-to", "none", "-np", "1", "--host", host};
  return {program, "-bind-to", "none", "-n", "1", "-hosts", host};
}

}  // namespace

runtime::expected<policies::cluster_spec> with_hosts_of(const policies::cluster_spec& spec,
                                                        const engine_facts& facts) {
  auto cluster = spec;
  cluster.engine = engine_kind::local;
  if (cluster.hosts.empty())
    for (const auto& node : facts.nodes)
      cluster.hosts.push_back({.name = node, .address = node, .prefix = {}});
  if (spec.engine == engine_kind::kubernetes)
    if (auto named = name_pods(cluster); !named.ok()) return runtime::fail(named);
  for (auto& host : cluster.hosts) {
    const bool is_there =
        spec.engine != engine_kind::slurm ||
        std::find(facts.nodes.begin(), facts.nodes.end(), host.name) != facts.nodes.end();
    if (!is_there)
      return runtime::fail(errc::invalid_argument,
                           "cluster.hosts." + host.name +
                               " is not in the allocation of Slurm, which has " +
                               join(facts.nodes));
    if (host.address.empty()) host.address = host.name;
    if (host.name != facts.own_host)
      host.prefix = spec.engine == engine_kind::kubernetes
                        ? relay_to_pod(cluster, host.address)
                        : command_for(spec, facts, host.name);
  }
  const auto* own = policies::find_host(cluster, facts.own_host);
  if (own == nullptr) {
    std::vector<std::string> names;
    for (const auto& host : cluster.hosts) names.push_back(host.name);
    return runtime::fail(errc::invalid_argument,
                         "this host, " + facts.own_host + ", is not among the cluster's: " +
                             join(names) + "; run `tidegate launch` on one of them");
  }
  // The coordinator is beside the launcher, which reaches it in any case.
  if (cluster.coordinator_host.empty()) cluster.coordinator_host = own->name;
  const auto* home = policies::host_of_coordinator(cluster);
  if (home != nullptr && cluster.control_host == policies::cluster_spec().control_host)
    cluster.control_host = home->address;
  if (cluster.transport == policies::transport_kind::shm && cluster.hosts.size() > 1)
    return runtime::fail(errc::invalid_argument,
                         "cluster.transport is shm, which reaches no other host, and the "
                         "cluster has " +
                             std::to_string(cluster.hosts.size()));
  return cluster;
}

runtime::expected<policies::cluster_spec> on_engine(const policies::cluster_spec& spec,
                                                    const variables& environment) {
  if (spec.engine == engine_kind::local) return spec;
  if (spec.engine == engine_kind::ray)
    return runtime::fail(errc::unavailable,
                         "cluster.engine is ray, whose actors hold the agents of hosts: launch "
                         "it from Python, with tidegate.ray.launch(\"cluster.yaml\")");
  if (spec.engine == engine_kind::kubernetes)
    return runtime::fail(errc::unavailable,
                         "cluster.engine is kubernetes, whose pods are the hosts: `tidegate "
                         "render kubernetes FILE` writes what starts them, launcher and all");
  const auto facts =
      spec.engine == engine_kind::slurm ? find_slurm(environment) : find_mpi(spec);
  if (!facts) return runtime::fail(facts.error());
  return with_hosts_of(spec, *facts);
}

runtime::expected<policies::cluster_spec> as_if_on_engine(const policies::cluster_spec& spec,
                                                          std::uint32_t nodes) {
  if (spec.engine == engine_kind::local && nodes == 0) return spec;
  if (spec.engine == engine_kind::local)
    return runtime::fail(errc::invalid_argument,
                         "nodes are of an engine, and cluster.engine is local");
  engine_facts facts;
  for (const auto& host : spec.hosts) facts.nodes.push_back(host.name);
  if (!facts.nodes.empty() && nodes > 0 && nodes != facts.nodes.size())
    return runtime::fail(errc::invalid_argument,
                         "cluster.hosts names " + std::to_string(facts.nodes.size()) +
                             " nodes, and " + std::to_string(nodes) + " are asked for");
  if (spec.hosts.empty())
    for (std::uint32_t node = 1; node <= nodes; ++node)
      facts.nodes.push_back("node" + std::to_string(node));
  if (facts.nodes.empty())
    return runtime::fail(errc::invalid_argument,
                         "cluster.hosts names no nodes: say how many there are, --nodes N");
  facts.own_host = facts.nodes.front();
  return with_hosts_of(spec, facts);
}

}  // namespace tidegate::launch
