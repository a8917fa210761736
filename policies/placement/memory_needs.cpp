#include "policies/placement/memory_needs.hpp"

#include <algorithm>
#include <set>

#include "policies/model/kept_versions.hpp"
#include "policies/model/state_layout.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/placement.hpp"
#include "policies/placement/shard_map.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

namespace {

constexpr std::uint64_t in_flight = runtime::limits::clocks_in_flight_max;

memory_needs needs_on(const host_spec* host, process_name name) {
  memory_needs needs;
  needs.process = name.to_string();
  if (host != nullptr) needs.host = host->name;
  needs.is_beside_launcher = host == nullptr || !has_agent(*host);
  return needs;
}

bool share_memory(const cluster_spec& cluster, const host_spec* host, const host_spec* other) {
  return !sends_within_host(cluster.transport) && host == other;
}

// Whose gradients a shard receives in place of reading them.
std::uint64_t senders_to(const cluster_spec& cluster, const job_spec& job,
                         const host_spec* host) {
  const auto sums = plan_aggregation(cluster, job);
  auto ranks = sums.top;
  for (auto rank = job.workers; rank < job.capacity(); ++rank) ranks.push_back(rank);
  return static_cast<std::uint64_t>(
      std::count_if(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
        return !share_memory(cluster, host_of_worker(cluster, job, rank), host);
      }));
}

// What a shard's part of a job comes to; the same in each process of its chain.
struct shard_part_bytes {
  std::uint64_t parameters = 0;
  std::uint64_t states = 0;
  std::uint64_t rows = 0;  // values and states of tables that are larger than that
};

// Each shard with a part of the table has as much of it in memory.
void add_rows(const table_spec& table, const std::vector<chunk_place>& placed,
              std::vector<shard_part_bytes>& parts) {
  std::set<std::uint32_t> shards;
  for (const auto& chunk : placed) shards.insert(chunk.shard);
  for (const auto shard : shards) parts[shard].rows += table.rows.memory;
}

// By job, then shard.
std::vector<std::vector<shard_part_bytes>> parts_of(const cluster_spec& cluster) {
  placement places(cluster.shards, cluster.chunk_bytes);
  std::vector<std::vector<shard_part_bytes>> all;
  for (const auto& job : cluster.jobs) {
    auto& parts = all.emplace_back(cluster.shards);
    const auto placed = places.add(job.tables);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      // Rows are as many as will be pushed: nobody knows, but where they are bounded.
      if (job.tables[i].rows.memory > 0) add_rows(job.tables[i], placed[i], parts);
      for (const auto& chunk : placed[i]) {
        if (job.tables[i].has_rows()) continue;
        const auto bytes = chunk.elements * sizeof(float);
        parts[chunk.shard].parameters += bytes;
        parts[chunk.shard].states += bytes * state_arrays(job.tables[i].optimizer);
      }
    }
  }
  return all;
}

void add_part(const cluster_spec& cluster, const job_spec& job, const host_spec* host,
              const shard_part_bytes& part, memory_needs& into) {
  into.parameters += part.parameters + part.rows;
  into.versions += part.parameters * versions_beside(cluster, job);
  into.states += part.states;
  into.gradients += part.parameters * in_flight * senders_to(cluster, job, host);
  if (cluster.has_chains()) into.sums += part.parameters * in_flight;
  if (job.checkpoint) into.checkpoint += part.parameters + part.states;
}

std::uint64_t bytes_of(const job_spec& job) {
  std::uint64_t bytes = 0;
  for (const auto& table : job.tables)
    if (!table.has_rows()) bytes += table.size() * sizeof(float);
  return bytes;
}

// All shards of a slot begin in its process.
memory_needs needs_of_shards(const cluster_spec& cluster, const process_name& name,
                             const std::vector<std::vector<shard_part_bytes>>& parts) {
  const auto* host = name.role == process_role::shard ? host_of_shard(cluster, name.index)
                                                      : host_of_replica(cluster, name.index);
  auto needs = needs_on(host, name);
  const auto slots = cluster.slots > 0 ? cluster.slots : cluster.shards;
  const auto slot = slot_process_of(name, cluster.shards).slot;
  for (std::size_t job = 0; job < cluster.jobs.size(); ++job)
    for (auto shard = slot; shard < cluster.shards; shard += slots)
      add_part(cluster, cluster.jobs[job], host, parts[job][shard], needs);
  return needs;
}

memory_needs needs_of_worker(const cluster_spec& cluster, const job_spec& job,
                             std::uint32_t rank) {
  const auto* host = host_of_worker(cluster, job, rank);
  auto needs = needs_on(host, {.role = process_role::worker, .job = job.name, .index = rank});
  const auto bytes = bytes_of(job);
  needs.gradients = bytes * in_flight;
  if (job.state_bytes.value_or(0) > 0) needs.kept = state_memory_bytes(*job.state_bytes);
  // What is not read in place is received.
  bool all_shared = true;
  for (std::uint32_t shard = 0; shard < cluster.shards; ++shard)
    all_shared = all_shared && share_memory(cluster, host, host_of_shard(cluster, shard));
  if (job.aggregators.kind == aggregators_kind::none && !all_shared) needs.parameters = bytes;
  return needs;
}

memory_needs needs_of_aggregator(const cluster_spec& cluster, const job_spec& job,
                                 const aggregator_place& place, std::uint32_t index) {
  auto needs = needs_on(host_of_aggregator(cluster, job, place),
                        {.role = process_role::aggregator, .job = job.name, .index = index});
  const auto bytes = bytes_of(job);
  needs.parameters = bytes;
  needs.versions = bytes * versions_beside(cluster, job);
  needs.sums = bytes * in_flight * std::max<std::size_t>(place.nodes.size(), 1);
  return needs;
}

}  // namespace

std::uint32_t versions_beside(const cluster_spec& cluster, const job_spec& job) {
  const auto kept = versions_kept(job.consistency, workers_come_back(job.on_worker_loss),
                                  cluster.has_chains());
  if (traits_of(job.consistency.kind).has_exact_versions) return std::max(kept, 1U);
  return kept + job.capacity();
}

std::vector<memory_needs> memory_needs_of(const cluster_spec& cluster) {
  const auto parts = parts_of(cluster);
  const auto slots = cluster.slots > 0 ? cluster.slots : cluster.shards;
  std::vector<memory_needs> all;
  for (const auto& name : processes_of(slots, cluster.shards, cluster.replicas))
    all.push_back(needs_of_shards(cluster, name, parts));
  for (const auto& job : cluster.jobs) {
    const auto sums = plan_aggregation(cluster, job).aggregators;
    for (std::uint32_t i = 0; i < sums.size(); ++i)
      all.push_back(needs_of_aggregator(cluster, job, sums[i], i));
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
      all.push_back(needs_of_worker(cluster, job, rank));
  }
  return all;
}

std::uint64_t bytes_beside_launcher(const std::vector<memory_needs>& needs) {
  std::uint64_t bytes = 0;
  for (const auto& need : needs)
    if (need.is_beside_launcher) bytes += need.total();
  return bytes;
}

runtime::status check_memory(const cluster_spec& cluster, std::uint64_t available) {
  const auto needs = memory_needs_of(cluster);
  const auto bytes = bytes_beside_launcher(needs);
  if (bytes <= available) return {};
  const auto most = std::max_element(
      needs.begin(), needs.end(), [](const memory_needs& need, const memory_needs& other) {
        return need.is_beside_launcher < other.is_beside_launcher ||
               (need.is_beside_launcher == other.is_beside_launcher &&
                need.total() < other.total());
      });
  constexpr std::uint64_t mib = 1U << 20U;
  const auto in_mib = [&](std::uint64_t size) {
    return std::to_string((size + mib - 1) / mib) + " MiB";
  };
  return {runtime::errc::over_limit,
          "the declared tables may take " + in_mib(bytes) + " on this machine, which has " +
              in_mib(available) + "; the most takes " + most->process + " with " +
              in_mib(most->total()) +
              " (tidegate plan shows what for). Use fewer workers or a policy with fewer "
              "versions, more hosts, or cluster.memory_check: ignore"};
}

}  // namespace tidegate::policies
