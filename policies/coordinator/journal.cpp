// Checks that a journal can be of this cluster before a coordinator goes on with it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policies/coordinator/record.hpp"
#include "policies/placement/shard_map.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::fail;
using runtime::is_planted;
using runtime::planted_bug;
using runtime::status;
namespace limits = runtime::limits;

namespace {

const job_spec* find_job(const cluster_spec& cluster, const std::string& name) {
  const auto at = std::find_if(cluster.jobs.begin(), cluster.jobs.end(),
                               [&](const job_spec& job) { return job.name == name; });
  return at == cluster.jobs.end() ? nullptr : &*at;
}

status wrong(const std::string& why) {
  return {errc::corrupt, "the journal is not of this cluster: " + why};
}

// As open_table() and checkpoints let them in.
status check_tables(const cluster_spec& cluster, const recorded_cluster& found) {
  std::set<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < found.tables.size(); ++i) {
    const auto& tables = found.tables[i];
    if (tables.number != i) return wrong("tables between others are missing");
    if (!find_job(cluster, tables.job)) return wrong("tables of a job '" + tables.job + "'");
    if (tables.specs.empty()) return wrong("no tables were made at once");
    for (const auto& spec : tables.specs) {
      const auto elements = spec.size();
      const bool fits =
          elements > 0 && elements <= limits::table_elements_max &&
          elements * sizeof(float) / cluster.chunk_bytes < limits::table_chunks_max &&
          !spec.name.empty() && spec.name.size() <= limits::name_bytes_max;
      if (!fits) return wrong("table '" + spec.name + "' cannot be");
      if (!names.emplace(tables.job, spec.name).second)
        return wrong("two tables are called '" + spec.name + "'");
    }
  }
  return names.size() <= limits::tables_max ? status() : wrong("too many tables");
}

status check_workers(const cluster_spec& cluster, const recorded_cluster& found) {
  std::vector<std::string> owners;  // of tables, by id
  for (const auto& tables : found.tables)
    owners.insert(owners.end(), tables.specs.size(), tables.job);
  for (const auto& worker : found.workers) {
    const auto* job = find_job(cluster, worker.job);
    if (!job || worker.rank >= job->capacity())
      return wrong("a worker of job '" + worker.job + "'");
    if (!worker.tables) continue;
    for (const auto table : *worker.tables)
      if (table >= owners.size() || owners[table] != worker.job)
        return wrong("a worker of job '" + worker.job + "' has opened another's table");
    if (!std::is_sorted(worker.tables->begin(), worker.tables->end()))
      return wrong("tables of a worker are out of order");
  }
  return {};
}

// Each joins who is out and leaves who is in, and somebody stays.
status check_membership(const recorded_job& job, const job_spec& spec) {
  const auto odd = wrong("changes of the workers of job '" + job.name + "'");
  std::vector<bool> there(spec.capacity(), false);
  std::fill_n(there.begin(), spec.workers, true);
  auto contributors = spec.workers;
  for (std::size_t i = 0; i < job.changes.size(); ++i) {
    const auto& change = job.changes[i];
    if (change.number != i + 1 || change.rank >= there.size() ||
        there[change.rank] == change.joins)
      return odd;
    there[change.rank] = change.joins;
    contributors += change.joins ? 1 : -1;
    if (contributors == 0) return odd;
  }
  return {};
}

status check_memberships(const cluster_spec& cluster, const recorded_cluster& found) {
  for (const auto& job : found.jobs) {
    const auto& spec = *find_job(cluster, job.name);
    if (job.wanted == 0 || job.wanted > spec.capacity())
      return wrong("job '" + job.name + "' wants " + std::to_string(job.wanted) + " workers");
    if (auto checked = check_membership(job, spec); !checked.ok()) return checked;
  }
  return {};
}

status check_groups(const cluster_spec& cluster, const recorded_cluster& found) {
  for (const auto& group : found.groups) {
    const auto& is = group.state;
    const auto name = "shard " + std::to_string(group.shard);
    const auto each = 1 + cluster.replicas;
    const auto numbers = cluster.slots > 0 ? each * cluster.shards : each;
    if (!cluster.has_chains() || group.shard >= cluster.shards ||
        is.incarnations.size() != numbers)
      return wrong("replicas of " + name);
    if (cluster.slots == 0 && std::any_of(is.incarnations.begin(), is.incarnations.end(),
                                          [](auto incarnation) { return incarnation == 0; }))
      return wrong("a process of " + name + " has never joined");
    std::set<std::uint32_t> members;
    for (const auto& place : is.chain)
      if (place.member >= is.incarnations.size() || is.incarnations[place.member] == 0 ||
          place.view > is.view || !members.insert(place.member).second)
        return wrong("the chain of " + name);
    if (std::any_of(is.leaving.begin(), is.leaving.end(), [&](const auto& entry) {
          return cluster.slots == 0 || entry.number >= numbers || entry.incarnation == 0;
        }))
      return wrong("who leaves " + name);
    if (is.in_sync ? is.chain.empty() : is.chain.size() == 1)
      return wrong("who of " + name + " has everything");
  }
  return {};
}

status check_slots(const cluster_spec& cluster, const recorded_cluster& found) {
  if (!found.slots) return {};
  if (cluster.slots == 0) return wrong("shards that move");
  shard_map slots(cluster.shards, cluster.replicas, cluster.slots);
  if (!slots.go_on(found.slots->wanted, found.slots->slot_of))
    return wrong("where shards are to be");
  for (const auto& process : found.slots->processes)
    if (!slots.has(process.id) || process.incarnation == 0) return wrong("a process of shards");
  return {};
}

}  // namespace

runtime::expected<recorded_cluster> decode_journal(
    const cluster_spec& cluster, std::span<const runtime::journal_entry> entries) {
  auto found = decode_entries(entries);
  if (!found) return found;
  if (!found->run) {
    if (entries.empty()) return found;
    return fail(wrong("nothing says what the run began with"));
  }
  for (const auto& [name, job] : found->run->from.jobs)
    if (!find_job(cluster, name)) return fail(wrong("it goes on with a job '" + name + "'"));
  for (const auto& job : found->jobs)
    if (!find_job(cluster, job.name)) return fail(wrong("a job '" + job.name + "'"));
  std::map<std::string, std::size_t> metrics;
  for (const auto& metric : found->metrics)
    if (!find_job(cluster, metric.job) || ++metrics[metric.job] > limits::metrics_max)
      return fail(wrong("a metric of job '" + metric.job + "'"));
  if (auto checked = check_tables(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_workers(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_memberships(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_groups(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_slots(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  return found;
}

}  // namespace tidegate::policies
