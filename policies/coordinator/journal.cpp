// The journal of coordinator_core: what is recorded, and how another process goes on with it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policies/coordinator/core.hpp"
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
status check_roster(const recorded_job& job, const job_spec& spec) {
  const auto odd = wrong("changes of the workers of job '" + job.name + "'");
  std::vector<bool> there(spec.capacity(), false);
  std::fill_n(there.begin(), spec.workers, true);
  auto team = spec.workers;
  for (std::size_t i = 0; i < job.changes.size(); ++i) {
    const auto& change = job.changes[i];
    if (change.number != i + 1 || change.rank >= there.size() ||
        there[change.rank] == change.joins)
      return odd;
    there[change.rank] = change.joins;
    team += change.joins ? 1 : -1;
    if (team == 0) return odd;
  }
  return {};
}

status check_rosters(const cluster_spec& cluster, const recorded_cluster& found) {
  for (const auto& job : found.jobs) {
    const auto& spec = *find_job(cluster, job.name);
    if (job.wanted == 0 || job.wanted > spec.capacity())
      return wrong("job '" + job.name + "' wants " + std::to_string(job.wanted) + " workers");
    if (auto checked = check_roster(job, spec); !checked.ok()) return checked;
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
                                          [](auto life) { return life == 0; }))
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
  shard_slots slots(cluster.shards, cluster.replicas, cluster.slots);
  if (!slots.go_on(found.slots->wanted, found.slots->slot_of))
    return wrong("where shards are to be");
  for (const auto& process : found.slots->processes)
    if (!slots.has(process.id) || process.life == 0) return wrong("a process of shards");
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
  if (auto checked = check_rosters(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_groups(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  if (auto checked = check_slots(cluster, *found); !checked.ok())
    return fail(std::move(checked));
  return found;
}

void coordinator_core::begin(std::int64_t now, coordinator_effects& out) {
  if (to_record_) out.records.emplace_back(*std::exchange(to_record_, std::nullopt));
  if (goes_on_) event(now, "coordinator_resumes", "life " + std::to_string(life_));
  for (const auto& job : jobs_)
    if (job.restored && !job.restored->left.empty())
      fail_job(now, job.spec.name,
               "it cannot go on from checkpoint " + to_string(job.restored->id) + ": rank " +
                   std::to_string(job.restored->left.front()) +
                   " had left by then, behind an aggregator, and would push what others have "
                   "been summed without; launch it anew, or without jobs." +
                   job.spec.name + ".aggregators",
               out);
}

void coordinator_core::record(const job_record& job, coordinator_effects& out) {
  out.records.emplace_back(recorded_job{
      job.spec.name, job.state, job.failure, job.began, job.ended, job.parameters_sha256,
      job.restarts, job.checkpoints, job.checkpoint_clock, job.begun, job.wanted, job.changes});
}

void coordinator_core::record(const job_record& job, std::uint32_t rank,
                              coordinator_effects& out) {
  const auto& worker = job.workers[rank];
  out.records.emplace_back(recorded_worker{job.spec.name, rank, worker.joined, worker.finished,
                                           worker.incarnation, worker.address, worker.invited,
                                           worker.tables, worker.staleness_max,
                                           worker.payload_bytes_copied, worker.last});
}

void coordinator_core::record_group(std::uint32_t shard, coordinator_effects& out) const {
  const auto& group = groups_of_[shard];
  if (is_planted(planted_bug::group_not_recorded)) return;
  if (cluster_.has_chains() && group.began())
    out.records.emplace_back(recorded_group{shard, group.now()});
}

// Addresses of nodes are not in it: who is there tells its own again.
void coordinator_core::go_on(const recorded_cluster& before) {
  if (!before.run) return;
  for (const auto& recorded_job : before.jobs) {
    auto& job = *find(recorded_job.name);
    job.state = recorded_job.state;
    job.failure = recorded_job.failure;
    job.began = recorded_job.began;
    job.ended = recorded_job.ended;
    job.parameters_sha256 = recorded_job.parameters_sha256;
    job.restarts = recorded_job.restarts;
    job.checkpoints = recorded_job.checkpoints;
    job.checkpoint_clock = recorded_job.checkpoint_clock;
    job.begun = recorded_job.begun;
    job.wanted = recorded_job.wanted;
    for (const auto& change : recorded_job.changes) note_change(job, change);
  }
  for (const auto& metric : before.metrics)
    find(metric.job)->metrics[metric.name] = metric.value;
  for (const auto& table : before.tables) {
    const auto index = static_cast<std::size_t>(find(table.job) - jobs_.data());
    for (const auto id : add_tables(index, table.specs)) tables_[id].recorded = true;
    ++tables_recorded_;
  }
  for (const auto& recorded_worker : before.workers) {
    auto& job = *find(recorded_worker.job);
    auto& worker = job.workers[recorded_worker.rank];
    worker.joined = recorded_worker.joined;
    worker.finished =
        worker.absent || (recorded_worker.finished &&
                          !is_planted(planted_bug::finished_worker_forgotten_at_restart));
    worker.incarnation = recorded_worker.incarnation;
    worker.address = recorded_worker.address;
    worker.invited = recorded_worker.invited;
    if (!is_planted(planted_bug::opened_tables_forgotten_at_restart))
      worker.tables = recorded_worker.tables;
    worker.staleness_max = recorded_worker.staleness_max;
    worker.payload_bytes_copied = recorded_worker.payload_bytes_copied;
    worker.last = recorded_worker.last;
    // Those of others are the same, or the job has failed.
    if (recorded_worker.tables && !job.tables_opened)
      job.tables_opened = {recorded_worker.rank, *recorded_worker.tables};
  }
  for (const auto& group : before.groups) groups_of_[group.shard] = shard_group(group.state);
  if (cluster_.slots > 0) go_on_with(before.slots);
  for (auto& job : jobs_)
    job.at_end = std::all_of(job.workers.begin(), job.workers.end(),
                             [](const worker_state& worker) { return worker.finished; });
}

status coordinator_core::may_tell_tables(const std::string& name) const {
  for (const auto& table : tables_)
    if (table.recorded && !table.ready && jobs_[table.job].spec.name == name &&
        jobs_[table.job].state != job_state::failed)
      return {errc::unavailable, "not all shards have come back"};
  return {};
}

checkpoint_id coordinator_core::last_checkpoint(const std::string& name) const {
  const auto* job = find(name);
  return job ? job->begun : checkpoint_id();
}

}  // namespace tidegate::policies
