#include "launch/simulate/cluster/cluster.hpp"

#include <algorithm>
#include <memory>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/host_agent.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "launch/simulate/cluster/slowness.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/needed_reach.hpp"
#include "runtime/base/buggify.hpp"

namespace tidegate::sim {

namespace {

// From the last fault to the end.
constexpr nanoseconds end_within = 120 * second;
constexpr nanoseconds resume_after = 50 * millisecond;
constexpr nanoseconds for_ever = 24 * 3600 * second;

// As the seed draws them, for as long as this lives.
struct forced_branches {
  explicit forced_branches(std::uint64_t seed) { runtime::draw_forced(seed); }
  ~forced_branches() { runtime::clear_forced(); }
  forced_branches(const forced_branches&) = delete;
  forced_branches& operator=(const forced_branches&) = delete;
};

// One of that role, if there is one then.
process_id choose(const world& where, role whose, std::uint64_t pick) {
  std::vector<process_id> candidates;
  for (const auto& [id, process] : where.processes())
    if (process->kind() == whose && process->part_of() == 0) candidates.push_back(id);
  return candidates.empty() ? 0 : candidates[pick % candidates.size()];
}

// A launcher that cannot put its epoch on record says so and starts nothing: whoever reads that
// makes room and launches the run again. A write that failed for another reason may not fail
// the next time.
void start_launcher(world& where) {
  const auto epoch = launcher::begin_epoch(where);
  if (!epoch) {
    where.log.note(where.time.now(), "plan", "no launcher: " + epoch.error().to_string());
    where.fill_disks(false);
    return where.time.after(resume_after, [&where] { start_launcher(where); });
  }
  where.failed_writes = 0;
  where.launcher =
      where.add([&](process_id id) { return std::make_unique<launcher>(where, id, *epoch); });
}

// The launcher takes its children along, and the machines perhaps all; then somebody launches
// the run again.
void end_and_resume(world& where) {
  where.kill_all(where.chance.chance(where.plan.power_fails));
  where.time.after(resume_after, [&where] { start_launcher(where); });
}

void plan_deaths(world& where) {
  for (const auto& death : where.plan.deaths)
    where.time.at(death.when, [&where, death] {
      if (death.whose != role::launcher) {
        const auto id = choose(where, death.whose, death.pick);
        if (const auto* found = where.find(id)) ++where.killed[found->name()];
        if (death.cut_off_for == 0) return where.kill(id);
        where.log.note(where.time.now(), where.find(id) ? where.find(id)->name() : "nobody",
                       "is cut off from the coordinator");
        where.net.break_control(where.coordinator, id, where.time.now() + death.cut_off_for);
      } else if (const auto* launch = where.find_as<launcher>(where.launcher);
                 launch != nullptr && !launch->ended()) {
        end_and_resume(where);
      }
    });
}

void plan_host_faults(world& where) {
  for (const auto& fault : where.plan.host_faults)
    where.time.at(fault.when, [&where, fault] {
      const auto* const agent =
          where.find_as<host_agent>(choose(where, role::agent, fault.pick));
      const auto* const launch = where.find_as<launcher>(where.launcher);
      // A host that is not there in the beginning is a mistake, and ends the run.
      if (agent == nullptr || launch == nullptr || !launch->has_up(agent->host())) return;
      const auto until = where.time.now() + fault.lasts;
      where.log.note(where.time.now(), agent->name(),
                     fault.is_cut ? "is cut off, with its host" : "dies, with its host");
      if (!fault.is_cut) {
        where.dead_hosts[agent->host()] = until;
        return where.kill(agent->id());
      }
      where.cut_hosts[agent->host()] = until;
      std::set<process_id> side{agent->id()};
      for (const auto child : agent->children()) {
        // It may be ended: nobody knows better.
        if (const auto* found = where.find(child)) ++where.killed[found->name()];
        for (const auto part : where.all_of(child)) side.insert(part);
      }
      where.net.partition(side, until);
    });
}

void plan_stalls(world& where) {
  for (const auto& stall : where.plan.stalls)
    where.time.at(stall.when, [&where, stall] {
      const auto id = choose(where, stall.whose, stall.pick);
      const auto* found = where.find(id);
      if (!found) return;
      where.log.note(where.time.now(), found->name(), "stalls");
      const auto all = where.all_of(id);
      for (const auto part : all) where.net.stall(part);
      where.time.after(stall.lasts, [&where, id, all, lasts = stall.lasts] {
        for (const auto part : all)
          if (auto* const stopped = where.find(part)) stopped->was_stopped(lasts);
        if (where.find(id)) where.log.note(where.time.now(), where.find(id)->name(), "goes on");
        for (const auto part : all) where.net.go_on(part);
      });
    });
}

// The launcher and the coordinator stay together: a launcher that hears nothing for five
// seconds of workers that have ended gives their job up.
void plan_partitions(world& where) {
  for (const auto& partition : where.plan.partitions)
    where.time.at(partition.when, [&where, partition] {
      std::set<process_id> side;
      for (const auto& [id, process] : where.processes())
        if ((partition.side >> (where.whole(id) % 64) & 1) != 0 &&
            process->kind() > role::coordinator)
          side.insert(id);
      where.log.note(where.time.now(), "network", "is cut in two");
      where.net.partition(side, partition.when + partition.lasts);
    });
}

void plan_full_disks(world& where) {
  for (const auto& drawn : where.plan.full_disks) {
    where.time.at(drawn.when, [&where] { where.fill_disks(true); });
    if (!drawn.stays)
      where.time.at(drawn.when + drawn.lasts, [&where] { where.fill_disks(false); });
  }
}

// A run that ended because it could not write says so. Whoever reads that makes room, and
// resumes it.
void resume_after_failed_writes(world& where) {
  const auto* const launch = where.find_as<launcher>(where.launcher);
  if (launch == nullptr || !launch->ended() || where.failed_writes == 0) return;
  const auto& end = *launch->ended();
  if (end.result == policies::run_outcome::done) return;
  if (end.why.find("the disk is ") == std::string::npos)
    return where.check.fail("told why", "writes failed, and the run ended with: " + end.why);
  if (where.processes().size() > 1)
    return where.check.fail("nothing left", "processes outlive the launcher");
  where.fill_disks(false);
  end_and_resume(where);
}

// Two that exchange frames and do not share memory; 0 and 0 if there is no such pair.
std::pair<process_id, process_id> choose_link(world& where, const link_break& fault) {
  std::vector<std::pair<process_id, process_id>> links;
  for (const auto& [id, process] : where.processes()) {
    if (process->kind() <= role::coordinator) continue;
    for (const auto peer : where.net.linked_to(id)) {
      const auto* other = where.find(peer);
      if (other && other->kind() > role::coordinator &&
          !process->shares_memory_with(other->address()))
        links.emplace_back(id, peer);
    }
  }
  if (links.empty()) return {0, 0};
  return links[fault.pick % links.size()];
}

void plan_breaks(world& where) {
  for (const auto& link_break : where.plan.breaks)
    where.time.at(link_break.when, [&where, link_break] {
      const auto [from, to] = choose_link(where, link_break);
      if (from == 0) return;
      where.log.note(where.time.now(), where.find(from)->name(),
                     std::string("loses its connection to ") + where.find(to)->name() +
                         (link_break.one_way ? ", one way" : ""));
      const auto until = where.time.now() + (link_break.stays ? for_ever : link_break.lasts);
      where.net.break_connection(from, to, until, link_break.silent);
      if (!link_break.one_way) where.net.break_connection(to, from, until, link_break.silent);
    });
}

// Who stays out of the coordinator's reach is ended, and another takes its place. A worker that
// has finished needs none: it is ended some time after its job (launch_core's limit).
void expect_end(world& where, process_id id) {
  constexpr nanoseconds heard_and_killed_within = 6 * second;
  const auto absent_most = where.plan.spec.supervision.unreachable_ms * millisecond / 2;
  where.time.after(
      absent_most + heard_and_killed_within, [&where, id, coordinator = where.coordinator] {
        const auto* const judge = where.find_as<coordinator_process>(coordinator);
        const auto* const judged = where.find(id);
        if (judge != nullptr && judged != nullptr && !judge->has_finished(judged->name()))
          where.check.fail("judged", judged->name() + " is out of reach, and goes on");
      });
}

void break_control(world& where, const control_break& drawn) {
  std::vector<process_id> others;
  for (const auto& [id, process] : where.processes())
    if (process->kind() != role::coordinator && process->part_of() == 0) others.push_back(id);
  const auto* const coordinator = where.find_as<coordinator_process>(where.coordinator);
  if (others.empty() || coordinator == nullptr) return;
  const auto ticket = others[drawn.pick % others.size()];
  // Of one that never joined the launcher knows that.
  const bool stays = drawn.stays && coordinator->has_member(ticket);
  const auto lasts = stays ? for_ever : drawn.lasts;
  where.log.note(
      where.time.now(), where.find(ticket)->name(),
      "loses its connection to the coordinator for " + std::to_string(lasts / millisecond) +
          " ms" +
          (drawn.one_hears_late
               ? std::string(", of which ") +
                     (drawn.coordinator_late ? "the coordinator" : "it") + " hears late"
               : ""));
  // Who stays away for so long may be taken for dead.
  constexpr nanoseconds hears_within = 3 * second;
  const auto absent_most = where.plan.spec.supervision.unreachable_ms * millisecond / 2;
  if (lasts + (drawn.one_hears_late ? hears_within : second) >= absent_most)
    ++where.killed[where.find(ticket)->name()];
  const auto late = drawn.coordinator_late ? where.coordinator : ticket;
  where.net.break_control(where.coordinator, ticket, where.time.now() + lasts,
                          drawn.one_hears_late ? late : 0);
  if (stays) expect_end(where, ticket);
}

void plan_control_breaks(world& where) {
  for (const auto& drawn : where.plan.control_breaks)
    where.time.at(drawn.when, [&where, drawn] { break_control(where, drawn); });
}

void plan_faults(world& where) {
  plan_deaths(where);
  plan_stalls(where);
  plan_host_faults(where);
  plan_partitions(where);
  plan_breaks(where);
  plan_control_breaks(where);
  plan_full_disks(where);
}

// What the reader of a trace wants to know first.
void describe(world& where) {
  const auto& plan = where.plan;
  const char* const ways[] = {"pull_push", "overlapped", "exchange"};
  for (std::size_t i = 0; i < plan.spec.jobs.size(); ++i) {
    const auto& job = plan.spec.jobs[i];
    const auto& script = plan.scripts[i];
    where.log.note(
        0, "plan",
        job.name + ": " + to_string(job.consistency) + ", " + std::to_string(job.workers) +
            " workers, " + std::to_string(script.clocks) + " clocks, " +
            ways[static_cast<int>(script.way)] + ", " + std::to_string(script.tables.size()) +
            " tables, " + std::to_string(plan.spec.shards) + " shards, " +
            std::to_string(policies::plan_aggregation(plan.spec, job).aggregators.size()) +
            " aggregators, windows " + (plan.windows ? "on" : "off"));
  }
}

// Of what stays as it is somebody has to make an end.
nanoseconds last_fault_of(const cluster_plan& plan) {
  auto last_fault = plan.faults_end;
  for (const auto& death : plan.deaths) last_fault = std::max(last_fault, death.when);
  for (const auto& partition : plan.partitions)
    last_fault = std::max(last_fault, partition.when + partition.lasts);
  for (const auto& link_break : plan.breaks)
    last_fault =
        std::max(last_fault, link_break.when + (link_break.stays ? 0 : link_break.lasts));
  for (const auto& drawn : plan.control_breaks)
    last_fault = std::max(last_fault, drawn.when + drawn.lasts);
  for (const auto& fault : plan.host_faults)
    last_fault = std::max(last_fault, fault.when + fault.lasts);
  for (const auto& stall : plan.stalls)
    last_fault = std::max(last_fault, stall.when + stall.lasts);
  for (const auto& drawn : plan.full_disks)
    last_fault = std::max(last_fault, drawn.when + drawn.lasts);
  return last_fault;
}

// Returns true if the run has ended because hosts do not reach each other. That is how one has
// to end in which two do not that have to, and no other; a host that is lost by then counts as
// none.
bool ends_apart(world& where, const cluster_result& result) {
  const auto& plan = where.plan;
  const bool is_told = result.why.find("have to reach each other do not") != std::string::npos;
  if (plan.apart.empty() && !is_told) return false;
  const auto needed = policies::needed_reach(
      plan.spec, [&](const policies::process_name& name) { return home_of(plan.spec, name); });
  const bool has_to = std::any_of(plan.apart.begin(), plan.apart.end(),
                                  [&](const auto& pair) { return needed.contains(pair); });
  if (is_told != has_to && (is_told || plan.host_faults.empty()))
    where.check.fail("apart", has_to ? "hosts do not reach each other, and that is not told"
                                     : "hosts reach each other, and still: " + result.why);
  return is_told;
}

// Agents of hosts that were cut off find that nobody is there.
void let_agents_leave(world& where) {
  const auto& plan = where.plan;
  if (!plan.has_agents) return;
  const auto leave_by =
      std::max(last_fault_of(plan),
               where.time.now() + 3 * plan.spec.supervision.unreachable_ms * millisecond);
  while (where.processes().size() > 1 && where.time.now() < leave_by)
    if (!where.time.step()) return;
}

}  // namespace

cluster_result run_cluster(const cluster_plan& plan, std::uint64_t seed, bool with_trace,
                           std::map<process_id, noted_spans>* spans) {
  world where(plan, seed);
  where.spans = spans;
  if (with_trace) where.log.turn_on();
  describe(where);
  const forced_branches forced(seed);
  auto faults = plan.faults;
  faults.grain = plan.set.grain;
  where.net.set_faults(faults);
  for (std::size_t i = 0; i < plan.spec.jobs.size(); ++i)
    where.check.expect_job(plan.spec.jobs[i], plan.spec.has_chains() ? 2 : 1,
                           plan.scripts[i].ahead > 0);
  if (plan.slow) where.slow = std::make_unique<slowness>(where, *plan.slow);
  start_launcher(where);
  plan_faults(where);
  where.time.at(plan.faults_end, [&] {
    auto healthy = network_faults();
    healthy.grain = plan.set.grain;
    where.net.set_faults(healthy);
  });

  // Between two lives of the launcher there is no process to stop.
  const auto ended = [&where] {
    const auto* launch = where.find_as<launcher>(where.launcher);
    return launch != nullptr && launch->ended();
  };
  const auto cap = last_fault_of(plan) + end_within;
  while (!ended() && !where.check.broken() && where.time.now() < cap) {
    if (!where.time.step()) break;
    if (where.failed_writes > 0) resume_after_failed_writes(where);
  }

  if (ended()) let_agents_leave(where);

  cluster_result result;
  result.stuck = !ended() && !where.check.broken();
  if (ended()) {
    result.outcome = launcher_of(where).ended()->result;
    result.why = launcher_of(where).ended()->why;
  }
  if (where.slow) where.slow->judge();
  const bool done = ended() && launcher_of(where).ended()->is_well();
  if (done)
    where.check.all_done([&where](const std::string& job) {
      return launcher_of(where).ended()->was_cancelled(job);
    });
  if (ended() && where.processes().size() > 1)
    where.check.fail("nothing left", std::to_string(where.processes().size() - 1) +
                                         " processes outlive the launcher");
  if (ended() && !ends_apart(where, result) && !done && !plan.may_fail &&
      !where.check.may_not_go_on(result.why))
    where.check.fail("ends well",
                     "nothing failed that a job may not survive, but: " + result.why);
  result.violations = where.check.violations();
  result.draws = where.chance.count();
  result.digest = where.chance.digest();
  result.events = where.time.steps();
  result.took = where.time.now();
  if (with_trace) {
    if (const auto* coordinator = where.find_as<coordinator_process>(where.coordinator))
      if (result.stuck) coordinator->note_waits();
    for (const auto& violation : result.violations)
      where.log.note(where.time.now(), "checker", violation.promise + ": " + violation.message);
    result.text = where.log.text();
    result.chrome = where.log.chrome_json();
  }
  return result;
}

}  // namespace tidegate::sim
