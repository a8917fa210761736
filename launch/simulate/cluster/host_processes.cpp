#include "launch/simulate/cluster/host_processes.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/aggregator.hpp"
#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/launcher.hpp"
#include "launch/simulate/cluster/launcher_plan.hpp"
#include "launch/simulate/cluster/shard.hpp"
#include "launch/simulate/cluster/shard_host.hpp"
#include "launch/simulate/cluster/worker.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/shard_map.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim {

using policies::process_exit;
using policies::process_role;
using policies::spare_number;
namespace orders = policies::agent_orders;
namespace reports = policies::agent_reports;

namespace {

constexpr nanoseconds signal_most = 5 * millisecond;

std::size_t job_of(const policies::cluster_spec& spec, const policies::process_name& name) {
  std::size_t job = 0;
  while (spec.jobs[job].name != name.job) ++job;
  return job;
}

}  // namespace

std::uint32_t home_of(const policies::cluster_spec& spec, const policies::process_name& name) {
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  if (name.role == process_role::coordinator) return 0;
  if (policies::serves_shard(name.role)) {
    const auto slot = policies::slot_process_of(name, spec.shards);
    return (slot.slot + slot.place) % hosts;
  }
  const auto& job = spec.jobs[job_of(spec, name)];
  if (name.role == process_role::worker) return host_of_worker(spec, job, name.index);
  const auto sums = policies::plan_aggregation(spec, job);
  return sums.aggregators[name.index].members.front() * hosts / job.workers;
}

std::unique_ptr<process> host_processes::make(process_id id, const orders::start& start) {
  const auto& spec = world_.plan.spec;
  const auto& name = start.name;
  const auto host = host_ ? *host_ : home_of(spec, name);
  const auto incarnation = start.process.incarnation;
  if (name.role == process_role::coordinator)
    return std::make_unique<coordinator_process>(world_, id, start.epoch, incarnation);
  if (policies::serves_shard(name.role)) {
    const auto slot = policies::slot_process_of(name, spec.shards);
    if (spec.slots > 0)
      return std::make_unique<shard_host>(world_, id, host, slot, incarnation);
    return std::make_unique<shard_process>(world_, id, host, slot.slot,
                                           policies::group_member{slot.place, incarnation});
  }
  if (name.role == process_role::worker) {
    const auto job = job_of(spec, name);
    auto& memory = memories_[start.process.process];
    memory = prepare_memory(start, std::move(memory), spec.jobs[job].state_mirror_every > 0);
    if (start.joins) worker_keeping::begin_anew(world_, name.to_string());
    if (start.moved) worker_keeping::moves(world_, name.to_string());
    return std::make_unique<worker>(world_, id, host, job, name.index, incarnation, memory);
  }
  return std::make_unique<aggregator_process>(world_, id, host, name.job, name.index,
                                              incarnation);
}

// A program takes a while to begin.
runtime::expected<launch::spawned_process> host_processes::spawn(const orders::start& start) {
  const auto& name = start.name;
  const auto number = start.process.process;
  const auto incarnation = start.process.incarnation;
  if (children_.contains(number))
    world_.check.fail("one process", name.to_string() + " is started while it lives");
  if (incarnation > 1 && spawns_to_fail_ > 0) {
    --spawns_to_fail_;
    ++world_.killed[name.to_string()];
    return runtime::fail(runtime::errc::io_error, "no more processes");
  }
  if (start.epoch == 1 && name.role != process_role::coordinator &&
      world_.plan.scalings.empty() && world_.plan.shard_scalings.empty() &&
      world_.plan.host_faults.empty() && world_.killed[name.to_string()] + 1 < incarnation)
    world_.check.fail("nobody else restarts", name.to_string() + " did not die");
  const bool first = name.role == process_role::coordinator;
  if (first) world_.begin_epoch(start.epoch);
  std::optional<nanoseconds> takes;
  if (start.spare != policies::no_spare) takes = take_spare(start.spare, name);
  if (!takes)
    takes = first ? 0 : world_.chance.between<nanoseconds>(0, world_.plan.set.start_most);
  owner_.after(*takes, [this, start] {
    if (!owner_.is_over()) begin(start);
  });
  children_[number] = {.name = name, .incarnation = incarnation};
  return launch::spawned_process{.was_spare = false};
}

void host_processes::begin(const orders::start& start) {
  const auto at = children_.find(start.process.process);
  if (at == children_.end() || at->second.incarnation != start.process.incarnation) return;
  if (!at->second.may_begin) {
    children_.erase(at);
    return owner_.happened(
        reports::ended{.process = start.process,
                       .exit = {process_exit::ending::by_signal,
                                start.name.to_string() + " ended before it began"}});
  }
  const auto ticket = world_.add([&](process_id id) {
    world_.parents[id] = this;
    return make(id, start);
  });
  at->second.id = ticket;
  world_.net.introduce(owner_.parent(), ticket);
  if (start.name.role != process_role::coordinator) return;
  world_.coordinator = ticket;
  owner_.after(millisecond, [this, ticket, process = start.process] {
    if (world_.net.lives(ticket))
      owner_.happened(reports::listens{.process = process, .port = 1, .unusable = {}});
  });
}

void host_processes::exits(world& where, process_id part, const runtime::status& why) {
  const auto id = where.whole(part);
  where.left[id] = why;
  const auto parent = where.parents.find(id);
  if (parent == where.parents.end()) return;  // it is gone already
  parent->second->owner_.after(0, [&where, id] { where.kill(id); });
}

void host_processes::lost(process_id id) {
  const auto at = std::find_if(children_.begin(), children_.end(),
                               [&](const auto& entry) { return entry.second.id == id; });
  if (at == children_.end()) return;
  const launch::launched_process process{at->first, at->second.incarnation};
  const auto name = at->second.name.to_string();
  children_.erase(at);
  world_.parents.erase(id);
  process_exit exit;
  const auto left = world_.left.find(id);
  exit.kind = left == world_.left.end() ? process_exit::ending::by_signal
              : left->second.ok()       ? process_exit::ending::clean
                                        : process_exit::ending::bad_status;
  exit.text = name + " ended";
  if (exit.kind == process_exit::ending::bad_status)
    exit.text += ": " + left->second.to_string();
  owner_.happened(reports::ended{.process = process, .exit = std::move(exit)});
}

std::set<std::string> host_processes::living() const {
  std::set<std::string> names;
  for (const auto& [number, process] : children_) names.insert(process.name.to_string());
  return names;
}

void host_processes::signal(const launch::launched_process& process,
                            policies::process_signal content) {
  TIDEGATE_ASSERT(content == policies::process_signal::terminate ||
                      content == policies::process_signal::kill,
                  "nobody stops a simulated process");
  const auto at = children_.find(process.process);
  if (at == children_.end() || at->second.incarnation != process.incarnation) return;
  ++world_.killed[at->second.name.to_string()];
  if (at->second.id == 0) {
    at->second.may_begin = false;
    return;
  }
  if (content == policies::process_signal::kill) return world_.kill(at->second.id);
  owner_.after(world_.chance.between<nanoseconds>(0, signal_most), [this, id = at->second.id] {
    world_.net.run_at(id, [this, id] { world_.kill(id); });
  });
}

void host_processes::asks_to_mirror(world& where, process_id id,
                                    const runtime::mirror_request& request) {
  const auto parent = where.parents.find(id);
  if (parent == where.parents.end()) return;
  parent->second->owner_.after(
      where.chance.between<nanoseconds>(0, millisecond),
      [agent = parent->second, id, request] { agent->mirror(id, request); });
}

// As the memory is now: the worker may have written to it since it asked.
void host_processes::mirror(process_id id, const runtime::mirror_request& request) {
  for (const auto& [number, process] : children_) {
    if (process.id != id) continue;
    owner_.happened(reports::state{.process = {number, process.incarnation},
                                   .number = request.number,
                                   .image = image_of(memories_.at(number), request.version)});
  }
}

void host_processes::state_mirrored(const launch::launched_process& process,
                                    std::uint64_t number) {
  const auto at = children_.find(process.process);
  if (at == children_.end() || at->second.incarnation != process.incarnation) return;
  world_.later(at->second.id, 0, [this, id = at->second.id, number] {
    if (auto* asked = world_.find_as<worker>(id)) asked->mirrored(number);
  });
}

void host_processes::die() {
  for (const auto& [number, process] : std::exchange(children_, {})) {
    ++world_.killed[process.name.to_string()];
    if (process.id == 0) continue;
    world_.parents.erase(process.id);
    world_.kill(process.id);
  }
  spares_.clear();
}

std::vector<process_id> host_processes::children() const {
  std::vector<process_id> all;
  for (const auto& [number, process] : children_)
    if (process.id != 0) all.push_back(process.id);
  return all;
}

void host_processes::end_all() {
  die();
  memories_.clear();
  owner_.all_ended();
}

// A program takes a while to come to where it waits; some end before or after that.
runtime::status host_processes::spawn_spare(const orders::start_spare& start) {
  const auto number = start.spare;
  if (!spares_started_.insert(number).second)
    world_.check.fail("spares", "spare " + std::to_string(number) + " is started twice");
  const auto& job = *world_.plan.spec.find_job(start.job);
  const auto host = host_of_worker(world_.plan.spec, job, start.rank);
  const auto beside = std::count_if(spares_.begin(), spares_.end(), [&](const auto& entry) {
    return entry.second.job == start.job && entry.second.host == host;
  });
  if (beside > job.spares)  // with the original
    world_.check.fail("spares", "job " + start.job + " has more of them than it wants");
  const auto original = spares_.find(start.copy_of);
  const bool is_copy = start.copy_of != policies::no_spare;
  if (is_copy && spares_taken_.contains(start.copy_of))
    world_.check.fail("spares", "a worker is to copy itself");
  if (is_copy && (original == spares_.end() || original->second.job != start.job ||
                  original->second.host != host || !original->second.can_copy))
    return {runtime::errc::not_found, "the original has ended"};
  if (world_.chance.chance(world_.plan.spares_die / 2))
    return {runtime::errc::io_error, "no more processes"};
  const bool can_copy = !is_copy && world_.chance.chance(world_.plan.spares_copy);
  const auto begun =
      is_copy ? millisecond : world_.chance.between<nanoseconds>(0, world_.plan.set.start_most);
  spares_[number] = {.job = start.job,
                     .host = host,
                     .waits_at = world_.time.now() + begun,
                     .can_copy = can_copy};
  // One that is stopped never says a word.
  if (!is_copy || !world_.chance.chance(world_.plan.spares_die / 4))
    owner_.after(begun, [this, number, can_copy] {
      if (!owner_.is_over() && spares_.contains(number))
        owner_.happened(reports::spare_ready{.spare = number, .can_copy = can_copy});
    });
  if (world_.chance.chance(world_.plan.spares_die))
    owner_.after(world_.chance.between<nanoseconds>(0, 20 * begun + millisecond),
                 [this, number] { end_spare_now(number); });
  return {};
}

void host_processes::end_spare(spare_number number) {
  owner_.after(world_.chance.between<nanoseconds>(0, millisecond),
               [this, number] { end_spare_now(number); });
}

void host_processes::end_spare_now(spare_number number) {
  if (owner_.is_over() || spares_.erase(number) == 0) return;
  owner_.happened(reports::spare_ended{.spare = number,
                                       .why = "spare " + std::to_string(number) + " ended"});
}

// Returns how long the spare takes to be the process, or nothing where it has just ended.
// What answers is there at once, and what does not, after a while.
void host_processes::survey(const orders::survey& step) {
  constexpr nanoseconds answers_after = millisecond;
  constexpr nanoseconds gives_up_after = 1'500 * millisecond;
  if (step.step == policies::survey_step::end) return;
  if (step.step == policies::survey_step::listen)
    return tell_survey({.number = step.number, .step = step.step, .port = 1}, answers_after);
  owner_.after(answers_after, [this, step] {
    reports::surveyed report{.number = step.number, .step = step.step};
    for (const auto& peer : step.peers)
      if (!world_.reaches(own_host(), peer.host))
        report.unreached.push_back({.host = peer.host, .why = "no answer"});
    const auto is_whole = report.unreached.empty();
    tell_survey(std::move(report), is_whole ? 0 : gives_up_after);
  });
}

void host_processes::tell_survey(reports::surveyed report, nanoseconds after) {
  owner_.after(after, [this, report = std::move(report)] {
    if (!owner_.is_over()) owner_.happened(report);
  });
}

std::optional<nanoseconds> host_processes::take_spare(spare_number number,
                                                      const policies::process_name& name) {
  if (!spares_started_.contains(number) || spares_taken_.contains(number))
    world_.check.fail("spares", name.to_string() + " is to be a spare that has a place");
  const auto found = spares_.extract(number);
  if (!found) return {};
  spares_taken_.insert(number);
  const auto& job = *world_.plan.spec.find_job(name.job);
  const auto place = host_ ? *host_ : host_of_worker(world_.plan.spec, job, name.index);
  if (found.mapped().job != name.job || found.mapped().host != place)
    world_.check.fail("spares", name.to_string() + " is to be a spare of another job or host");
  return std::max<nanoseconds>(0, found.mapped().waits_at - world_.time.now());
}

}  // namespace tidegate::sim
