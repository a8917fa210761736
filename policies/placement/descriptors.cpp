#include "policies/placement/descriptors.hpp"

#include <algorithm>
#include <map>

#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/mappings.hpp"
#include "policies/placement/shard_map.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

namespace {

namespace limits = runtime::limits;

// Measured: a process without peers has 25 and a coordinator 12; a peer of the same host costs
// three for its ring, its wake-up pipe and its gradients, and one while it connects; a process
// costs its coordinator a connection and its launcher a descriptor of it, and a worker another
// of what it keeps.
constexpr std::uint64_t own_descriptors = 64;
constexpr std::uint64_t descriptors_per_peer = 4;
constexpr std::uint64_t descriptors_per_process = 2;
// Under TLS a control connection goes through a pair of sockets
// (runtime/sockets/tls_tunnels.hpp).
constexpr std::uint64_t descriptors_per_tunnel = 2;
// One per 4 MiB of received payload (runtime/memory/segment_memory.hpp).
constexpr std::uint64_t payload_descriptors = 8192;

std::string name_of(const host_spec* host) {
  return host == nullptr ? "" : host->name;
}

struct census {
  std::uint64_t shard_processes = 0;
  std::uint64_t pushers = 0;    // workers and aggregators that push to shards
  std::uint64_t processes = 1;  // the coordinator
  std::map<std::string, std::uint64_t> shard_processes_on;  // by host
  std::map<std::string, std::uint64_t> pushers_on;
};

const host_spec* host_of(const cluster_spec& cluster, const process_name& name) {
  return name.role == process_role::shard ? host_of_shard(cluster, name.index)
                                          : host_of_replica(cluster, name.index);
}

std::vector<process_name> shard_processes_of(const cluster_spec& cluster) {
  const auto slots = cluster.slots > 0 ? cluster.slots : cluster.shards;
  return processes_of(slots, cluster.shards, cluster.replicas);
}

census count(const cluster_spec& cluster) {
  census all;
  for (const auto& name : shard_processes_of(cluster)) {
    ++all.shard_processes;
    ++all.shard_processes_on[name_of(host_of(cluster, name))];
  }
  for (const auto& job : cluster.jobs) {
    const auto sums = plan_aggregation(cluster, job);
    auto ranks = sums.top;
    // Who joins later pushes to shards itself.
    for (auto rank = job.workers; rank < job.capacity(); ++rank) ranks.push_back(rank);
    for (const auto rank : ranks) {
      ++all.pushers;
      ++all.pushers_on[name_of(host_of_worker(cluster, job, rank))];
    }
    all.processes += sums.aggregators.size() + job.capacity();
  }
  all.processes += all.shard_processes;
  return all;
}

// `links`: each has descriptors of its own.
process_needs with_peers(std::string process, std::uint64_t peers, std::uint64_t host_peers,
                         std::uint64_t links) {
  return {.process = std::move(process),
          .peers = peers,
          .host_peers = host_peers,
          .descriptors = links * (own_descriptors + descriptors_per_peer * peers),
          .mappings = 0};
}

process_needs with_processes(std::string process, const cluster_spec& cluster,
                             std::uint64_t processes) {
  const auto each =
      descriptors_per_process + (cluster.security.encrypt ? descriptors_per_tunnel : 0);
  return {.process = std::move(process),
          .peers = 0,
          .host_peers = 0,
          .descriptors = own_descriptors + each * processes,
          .mappings = 0};
}

const process_needs& more_of(const process_needs& needs, const process_needs& other) {
  const bool less =
      needs.host_peers < other.host_peers ||
      (needs.host_peers == other.host_peers && needs.descriptors < other.descriptors);
  return less ? other : needs;
}

// Returns those of the shard that has most: a part has some for its rows, its file and the ids
// that it counts.
std::uint64_t descriptors_of_rows(const cluster_spec& cluster) {
  placement places(cluster.shards, cluster.chunk_bytes);
  std::vector<std::uint64_t> all(cluster.shards);
  for (const auto& job : cluster.jobs) {
    const auto placed = places.add(job.tables);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const auto& rows = job.tables[i].rows;
      if (!job.tables[i].has_rows()) continue;
      const auto each =
          1 + (rows.memory > 0 ? 1 : 0) + (rows.lifetime.admits_at_once() ? 0 : 1);
      for (const auto& part : placed[i]) all[part.shard] += static_cast<std::uint64_t>(each);
    }
  }
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

process_needs needs_of_shards(const cluster_spec& cluster, const census& all,
                              std::uint64_t links) {
  process_needs most;
  for (const auto& name : shard_processes_of(cluster)) {
    const auto host = name_of(host_of(cluster, name));
    const auto pushers = all.pushers_on.find(host);
    const auto beside = all.shard_processes_on.at(host) - 1 +
                        (pushers == all.pushers_on.end() ? 0 : pushers->second);
    most = more_of(most, with_peers(name.to_string(), all.pushers + all.shard_processes - 1,
                                    beside, links));
  }
  most.descriptors += links * descriptors_of_rows(cluster);
  return most;
}

process_needs needs_of_workers(const cluster_spec& cluster, const job_spec& job,
                               const census& all) {
  process_needs most;
  for (std::uint32_t rank = 0; rank < job.capacity(); ++rank) {
    const auto shards =
        all.shard_processes_on.find(name_of(host_of_worker(cluster, job, rank)));
    const process_name name{.role = process_role::worker, .job = job.name, .index = rank};
    most =
        more_of(most, with_peers(name.to_string(), all.shard_processes + 1,
                                 (shards == all.shard_processes_on.end() ? 0 : shards->second) +
                                     (job.aggregators.kind == aggregators_kind::none ? 0 : 1),
                                 1));
  }
  return most;
}

process_needs needs_of_aggregators(const cluster_spec& cluster, const job_spec& job,
                                   const census& all) {
  process_needs most;
  const auto sums = plan_aggregation(cluster, job);
  for (std::uint32_t i = 0; i < sums.aggregators.size(); ++i) {
    const auto& place = sums.aggregators[i];
    const auto shards =
        all.shard_processes_on.find(name_of(host_of_aggregator(cluster, job, place)));
    const process_name name{.role = process_role::aggregator, .job = job.name, .index = i};
    const auto members = place.members.size();
    most = more_of(
        most,
        with_peers(name.to_string(), members + all.shard_processes + 1,
                   members + 1 + (shards == all.shard_processes_on.end() ? 0 : shards->second),
                   1));
  }
  return most;
}

// Each part of a table of rows is a segment of its own; a file lies over the middle of it.
std::uint64_t mappings_of_parts(const table_spec& table, const table_places& placed) {
  return placed.size() * (table.rows.memory > 0 ? 3 : 1);
}

// Of a worker of each job. Behind an aggregator, and over tcp, nothing is read in place.
std::vector<std::uint64_t> mappings_of_jobs(const cluster_spec& cluster) {
  placement places(cluster.shards, cluster.chunk_bytes);
  std::vector<std::uint64_t> all;
  for (const auto& job : cluster.jobs) {
    auto& mappings = all.emplace_back(0);
    const bool in_place =
        !sends_within_host(cluster.transport) && job.aggregators.kind == aggregators_kind::none;
    const auto placed = places.add(job.tables);
    for (std::size_t i = 0; i < placed.size() && in_place; ++i)
      mappings += job.tables[i].has_rows() ? mappings_of_parts(job.tables[i], placed[i])
                                           : mappings_of_array(placed[i]);
  }
  return all;
}

std::uint64_t parts_of_a_process(const cluster_spec& cluster) {
  return cluster.slots == 0 ? 1 : (cluster.shards + cluster.slots - 1) / cluster.slots;
}

}  // namespace

std::vector<process_needs> process_needs_of(const cluster_spec& cluster) {
  const auto all = count(cluster);
  const auto mappings = mappings_of_jobs(cluster);
  std::vector<process_needs> needs{with_processes("the launcher", cluster, all.processes),
                                   with_processes("coordinator-0", cluster, all.processes),
                                   needs_of_shards(cluster, all, parts_of_a_process(cluster))};
  for (std::size_t i = 0; i < cluster.jobs.size(); ++i) {
    needs.push_back(needs_of_aggregators(cluster, cluster.jobs[i], all));
    needs.push_back(needs_of_workers(cluster, cluster.jobs[i], all));
    needs.back().mappings = mappings[i];
  }
  std::erase_if(needs, [](const auto& need) { return need.process.empty(); });
  return needs;
}

runtime::status check_process_needs(const cluster_spec& cluster, std::uint64_t limit) {
  for (const auto& needs : process_needs_of(cluster)) {
    if (!sends_within_host(cluster.transport) && needs.host_peers > limits::host_peers_max)
      return {
          runtime::errc::over_limit,
          needs.process + " would share memory with " + std::to_string(needs.host_peers) +
              " processes of its host; allowed: " + std::to_string(limits::host_peers_max) +
              ". Use more hosts, aggregators (jobs.*.aggregators), or cluster.transport: tcp"};
    if (needs.descriptors > limit)
      return {
          runtime::errc::over_limit,
          needs.process + " needs " + std::to_string(needs.descriptors) +
              " file descriptors, and a process may have " + std::to_string(limit) +
              " here. Raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit), "
              "or use fewer workers or shards, or aggregators (jobs.*.aggregators)"};
  }
  return {};
}

std::uint64_t descriptors_wanted(const cluster_spec& cluster) {
  const auto all = count(cluster);
  auto most = needs_of_shards(cluster, all, cluster.slots > 0 ? cluster.shards : 1).descriptors;
  for (const auto& needs : process_needs_of(cluster)) most = std::max(most, needs.descriptors);
  return most + payload_descriptors;
}

}  // namespace tidegate::policies
