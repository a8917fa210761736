#include "tests/sim/launcher.hpp"

#include <algorithm>
#include <utility>

#include "policies/aggregation.hpp"
#include "policies/consistency.hpp"
#include "policies/run_epoch.hpp"
#include "runtime/base/assert.hpp"
#include "tests/sim/aggregator.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/shard.hpp"
#include "tests/sim/shard_host.hpp"
#include "tests/sim/worker.hpp"

namespace tidegate::sim {

using policies::launch_effects;
using policies::process_exit;
using policies::process_number;
using policies::process_role;

namespace {

constexpr nanoseconds signal_most = 5 * millisecond;

policies::launch_plan plan_of(const policies::cluster_spec& spec, std::uint32_t epoch) {
  policies::launch_plan plan;
  plan.epoch = epoch;
  plan.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                               [](const auto& job) { return job.checkpoint.has_value(); });
  plan.processes.push_back({process_role::coordinator, "", 0});
  const auto slots = spec.slots > 0 ? spec.slots : spec.shards;
  const auto of_shards = policies::processes_of(slots, spec.shards, spec.replicas);
  plan.processes.insert(plan.processes.end(), of_shards.begin(), of_shards.end());
  plan.replicated = spec.has_chains();
  plan.shards = spec.shards;
  plan.replicas = spec.replicas;
  plan.slots = spec.slots;
  for (const auto& job : spec.jobs) {
    const auto sums = policies::plan_aggregation(spec, job);
    for (std::uint32_t i = 0; i < sums.aggregators.size(); ++i)
      plan.processes.push_back({process_role::aggregator, job.name, i});
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      plan.processes.push_back({process_role::worker, job.name, rank});
    plan.jobs.push_back(
        {job.name, to_string(job.consistency), job.workers, job.on_worker_loss});
  }
  plan.supervision = spec.supervision;
  return plan;
}

std::uint32_t begin_epoch(runtime::storage& folder) {
  const auto last = policies::last_epoch(folder);
  TIDEGATE_ASSERT(last.has_value(), "the folder of the run does not fail");
  const auto recorded = policies::record_epoch(folder, *last + 1);
  TIDEGATE_ASSERT(recorded.ok(), "the folder of the run does not fail");
  return *last + 1;
}

}  // namespace

launcher::launcher(world& where, process_id id)
    : frameless_process(where, id, role::launcher, "launcher", 0),
      folder_(where.folder("")),
      core_(plan_of(where.plan.spec, begin_epoch(*folder_))) {
  where.check.begin_epoch(core_.epoch());
}

launcher& launcher::of(world& where) {
  auto* found = where.find_as<launcher>(where.launcher);
  TIDEGATE_ASSERT(found != nullptr, "the launcher outlives its processes");
  return *found;
}

void launcher::start() {
  later(0, [this] {
    core_.begin(local_now(), effects_);
    carry_out();
  });
  for (const auto& one : world_.plan.scalings) later(one.when, [this, one] { scale(one); });
  for (const auto& one : world_.plan.shard_scalings)
    later(one.when, [this, one] { scale(one); });
}

// One after the other; again until the coordinator answers.
void launcher::scale(const scaling& what) {
  const auto name = world_.plan.spec.jobs[what.job].name;
  if (ended_ || scaling_ || !core_.may_scale(name)) return;
  scaling_ = true;
  ask_to_scale(what, core_.epoch());
}

void launcher::ask_to_scale(const scaling& what, std::uint32_t epoch) {
  const auto name = world_.plan.spec.jobs[what.job].name;
  process::ask<coordinator_process>(
      world_.coordinator,
      [name, what](coordinator_process& to, answer_to reply) {
        to.scale(name, what.workers, std::move(reply));
      },
      [this, name, what, epoch](const answer& got) {
        if (ended_ || epoch != core_.epoch()) {
          scaling_ = false;
          return;
        }
        if (got.result.code() == runtime::errc::unavailable)
          return later(world_.plan.set.poll,
                       [this, what, epoch] { ask_to_scale(what, epoch); });
        scaling_ = false;
        if (!got.result.ok()) return;
        note("scales " + name + " to " + std::to_string(what.workers));
        core_.scale(name, what.workers, effects_);
        carry_out();
      });
}

void launcher::scale(const shard_scaling& what) {
  if (ended_ || scaling_) return;
  scaling_ = true;
  ask_to_scale(what, core_.epoch());
}

void launcher::ask_to_scale(const shard_scaling& what, std::uint32_t epoch) {
  const auto again = [this, what, epoch] {
    later(world_.plan.set.poll, [this, what, epoch] { ask_to_scale(what, epoch); });
  };
  if (ended_ || epoch != core_.epoch()) {
    scaling_ = false;
    return;
  }
  if (!core_.is_running()) return again();
  process::ask<coordinator_process>(
      world_.coordinator,
      [what](coordinator_process& to, answer_to reply) {
        to.scale_shards(what.slots, std::move(reply));
      },
      [this, what, epoch, again](const answer& got) {
        if (got.result.code() == runtime::errc::unavailable) return again();
        scaling_ = false;
        if (ended_ || epoch != core_.epoch() || !got.result.ok()) return;
        note("wants " + std::to_string(what.slots) + " shards");
        core_.scale_shards(what.slots, effects_);
        carry_out();
      });
}

// What has been decided, and what that comes to.
void launcher::carry_out() {
  core_.decide(local_now(), effects_);
  while (!effects_.all.empty()) {
    const auto list = std::exchange(effects_.all, {});
    for (const auto& one : list) std::visit([this](const auto& what) { perform(what); }, one);
  }
  if (!ended_) wake_at(core_.next_wake());
}

void launcher::wake_at(std::int64_t when) {
  if (when == policies::launch_core::never || when >= waking_) return;
  waking_ = when;
  // This clock may be slow: then it is asked again.
  later(std::max<nanoseconds>(millisecond, when - local_now()), [this] {
    waking_ = policies::launch_core::never;
    if (!ended_) carry_out();
  });
}

std::unique_ptr<process> launcher::make(const policies::process_name& name, process_id id,
                                        const launch_effects::start& what) {
  const auto& spec = world_.plan.spec;
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  if (name.role == process_role::coordinator)
    return std::make_unique<coordinator_process>(world_, id, what.epoch, what.incarnation);
  if (policies::serves_shard(name.role)) {
    const auto which = policies::slot_process_of(name, spec.shards);
    const auto host = (which.slot + which.place) % hosts;
    if (spec.slots > 0)
      return std::make_unique<shard_host>(world_, id, host, which, what.incarnation);
    return std::make_unique<shard_process>(
        world_, id, host, which.slot, policies::group_member{which.place, what.incarnation});
  }
  std::size_t job = 0;
  while (spec.jobs[job].name != name.job) ++job;
  const auto workers = spec.jobs[job].workers;
  if (name.role == process_role::worker)
    return std::make_unique<worker>(world_, id, name.index % workers * hosts / workers, job,
                                    name.index, what.incarnation);
  const auto sums = policies::plan_aggregation(spec, spec.jobs[job]);
  const auto host = sums.aggregators[name.index].members.front() * hosts / workers;
  return std::make_unique<aggregator_process>(world_, id, host, name.job, name.index,
                                              what.incarnation);
}

// A program takes a while to begin.
void launcher::perform(const launch_effects::start& what) {
  const auto& name = core_.processes()[what.process];
  if (what.epoch == 1 && name.role != process_role::coordinator &&
      world_.plan.scalings.empty() && world_.plan.shard_scalings.empty() &&
      world_.killed[name.to_string()] + 1 < what.incarnation)
    world_.check.fail("nobody else restarts", name.to_string() + " did not die");
  core_.started(local_now(), what.process, effects_);
  const bool first = core_.processes()[what.process].role == process_role::coordinator;
  later(first ? 0 : world_.chance.between<nanoseconds>(0, world_.plan.set.start_most),
        [this, what] {
          if (!ended_) begin(what);
        });
  starting_[what.process] = true;
}

void launcher::begin(const launch_effects::start& what) {
  const auto number = what.process;
  const bool may = starting_.at(number);
  starting_.erase(number);
  if (!may) {
    process_exit exit;
    exit.kind = process_exit::how::by_signal;
    exit.text = core_.processes()[number].to_string() + " ended before it began";
    core_.ended(local_now(), number, exit);
    return carry_out();
  }
  const auto who =
      world_.add([&](process_id id) { return make(core_.processes()[number], id, what); });
  running_[number] = who;
  world_.net.introduce(id(), who);
  if (core_.processes()[number].role != process_role::coordinator) return;
  world_.coordinator = who;
  later(millisecond, [this, epoch = what.epoch] {
    if (epoch != core_.epoch()) return;
    core_.coordinator_ready(local_now(), effects_);
    carry_out();
  });
}

void launcher::exits(process_id part, bool well) {
  const auto who = world_.whole(part);
  left_[who] = well;
  later(0, [this, who] { world_.kill(who); });
}

void launcher::peer_lost(process_id peer) {
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [&](const auto& one) { return one.second == peer; });
  if (at == running_.end()) return;
  const auto number = at->first;
  running_.erase(at);
  process_exit exit;
  const auto left = left_.find(peer);
  exit.kind = left == left_.end() ? process_exit::how::by_signal
              : left->second      ? process_exit::how::clean
                                  : process_exit::how::bad_status;
  exit.text = core_.processes()[number].to_string() + " ended";
  core_.ended(local_now(), number, exit);
  if (core_.processes()[number].role != process_role::coordinator)
    tell_ended(core_.processes()[number], core_.incarnation(number));
  carry_out();
}

void launcher::tell_ended(const policies::process_name& name, std::uint32_t incarnation) {
  process::ask<coordinator_process>(
      world_.coordinator,
      [name, incarnation](coordinator_process& to, answer_to reply) {
        to.process_ended(name, incarnation, std::move(reply));
      },
      [](const answer&) {});
}

void launcher::poll() {
  if (ended_) return;
  const auto answered = polls_;
  const auto epoch = core_.epoch();
  process::ask<coordinator_process>(
      world_.coordinator,
      [](coordinator_process& to, const answer_to& reply) { to.status(reply); },
      [this, answered, epoch](const answer& got) {
        if (epoch != core_.epoch()) return;
        policies::coordinator_news news;
        news.health = got.result;
        news.answered = answered;
        if (const auto* status = std::get_if<policies::cluster_status>(&got.value)) {
          news.jobs = status->jobs;
          news.life = status->life;
          news.lost = status->lost;
          news.condemned = status->condemned;
        }
        core_.polled(local_now(), news, effects_);
        carry_out();
      });
}

void launcher::perform(const launch_effects::renew& what) {
  running_.clear();
  left_.clear();
  world_.check.begin_epoch(what.epoch);
  core_.renewed(local_now(), policies::record_epoch(*folder_, what.epoch), effects_);
}

void launcher::perform(const launch_effects::watch&) {
  poll_on(core_.epoch());
}

void launcher::poll_on(std::uint32_t epoch) {
  if (ended_ || epoch != core_.epoch()) return;
  poll();
  later(world_.plan.set.poll, [this, epoch] { poll_on(epoch); });
}

void launcher::perform(const launch_effects::poll_now&) {
  ++polls_;
  poll();
}

void launcher::perform(const launch_effects::stop_cluster& what) {
  for (const auto& [job, why] : what.failures)
    process::ask<coordinator_process>(
        world_.coordinator,
        [job = job, why = why](coordinator_process& to, const answer_to& reply) {
          to.fail_job(job, why, reply);
        },
        [](const answer&) {});
  process::ask<coordinator_process>(
      world_.coordinator,
      [](coordinator_process& to, const answer_to& reply) {
        reply({});
        to.stop();
      },
      [](const answer&) {});
}

void launcher::perform(const launch_effects::leave& what) {
  const auto epoch = core_.epoch();
  process::ask<coordinator_process>(
      world_.coordinator,
      [name = core_.processes()[what.process]](coordinator_process& to, answer_to reply) {
        to.worker_leaves(name.job, name.index, std::move(reply));
      },
      [this, what, epoch](const answer& got) {
        if (ended_ || epoch != core_.epoch()) return;
        if (got.result.code() == runtime::errc::unavailable)
          return later(world_.plan.set.poll, [this, what, epoch] {
            if (!ended_ && epoch == core_.epoch()) perform(what);
          });
        if (!got.result.ok()) ++world_.killed[core_.processes()[what.process].to_string()];
        core_.left(local_now(), what.process, got.result, effects_);
        carry_out();
      });
}

void launcher::perform(const launch_effects::terminate& what) {
  ++world_.killed[core_.processes()[what.process].to_string()];
  const auto at = running_.find(what.process);
  if (at == running_.end()) return end_early(what.process);
  later(world_.chance.between<nanoseconds>(0, signal_most), [this, who = at->second] {
    world_.net.run_at(who, [this, who] { world_.kill(who); });
  });
}

void launcher::perform(const launch_effects::kill& what) {
  const auto at = running_.find(what.process);
  if (at == running_.end()) return end_early(what.process);
  ++world_.killed[core_.processes()[what.process].to_string()];
  world_.kill(at->second);
}

// It has been started and its program has not begun.
void launcher::end_early(process_number number) {
  const auto at = starting_.find(number);
  if (at != starting_.end()) at->second = false;
}

void launcher::perform(const launch_effects::note& what) {
  note(what.what + ": " + what.detail);
}

void launcher::perform(const launch_effects::complain& what) {
  note(what.text);
}

void launcher::perform(const launch_effects::conclude& what) {
  ended_ = {what.outcome, what.reason};
  note("the run has ended: " + (what.reason.empty() ? "done" : what.reason));
}

}  // namespace tidegate::sim
