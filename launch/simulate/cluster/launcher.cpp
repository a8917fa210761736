#include "launch/simulate/cluster/launcher.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/aggregator.hpp"
#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/shard.hpp"
#include "launch/simulate/cluster/shard_host.hpp"
#include "launch/simulate/cluster/worker.hpp"
#include "policies/checkpoint/run_epoch.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "runtime/base/assert.hpp"

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
    plan.jobs.push_back({.name = job.name,
                         .policy = to_string(job.consistency),
                         .workers = job.workers,
                         .on_worker_loss = job.on_worker_loss,
                         .checkpoints = false,
                         .spares = job.spares});
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
      plan.jobs.back().hosts.push_back("h" + std::to_string(host_of_worker(spec, job, rank)));
  }
  plan.supervision = spec.supervision;
  return plan;
}

}  // namespace

std::uint32_t host_of_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                             std::uint32_t rank) {
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  return rank % job.workers * hosts / job.workers;
}

runtime::expected<std::uint32_t> launcher::begin_epoch(world& where) {
  const auto folder = where.folder("");
  const auto last = policies::last_epoch(*folder);
  if (!last) return last;
  const auto recorded = policies::record_epoch(*folder, *last + 1);
  if (!recorded.ok()) return runtime::fail(recorded);
  return *last + 1;
}

launcher::launcher(world& where, process_id id, std::uint32_t epoch)
    : frameless_process(where, id, role::launcher, "launcher", 0),
      folder_(where.folder("")),
      shell_(plan_of(where.plan.spec, epoch), *this, 0),
      spawns_to_fail_(where.plan.spawns_fail) {}

launcher& launcher::of(world& where) {
  auto* found = where.find_as<launcher>(where.launcher);
  TIDEGATE_ASSERT(found != nullptr, "the launcher outlives its processes");
  return *found;
}

void launcher::start() {
  later(0, [this] {
    shell_.begin(local_now());
    after_turn();
  });
  const auto wants = [this](nanoseconds when, const std::string& job, std::uint32_t number) {
    later(when, [this, job, number] {
      happens([&](auto& turn) { turn.requests.push_back({0, job, number}); });
    });
  };
  for (const auto& scaling : world_.plan.scalings)
    wants(scaling.when, world_.plan.spec.jobs[scaling.job].name, scaling.workers);
  for (const auto& shard_scaling : world_.plan.shard_scalings)
    wants(shard_scaling.when, "", shard_scaling.slots);
}

void launcher::happens(const std::function<void(launch::run_turn&)>& action) {
  action(happened_);
  turn_soon();
}

// All that happens at one moment is one turn, as for a launcher that has slept.
void launcher::turn_soon() {
  if (ended_ || std::exchange(turn_due_, true)) return;
  later(0, [this] {
    turn_due_ = false;
    if (!ended_) turn();
  });
}

void launcher::turn() {
  auto turn = std::exchange(happened_, {});
  if (poll_) turn.news = poll_->take();
  shell_.turn(local_now(), std::move(turn));
  after_turn();
}

void launcher::after_turn() {
  if (!world_.disks_are_full() && pids_ != living())
    world_.check.fail("pids", "the run folder does not name the processes that live");
  if (const auto& end = shell_.ended()) {
    if (!spares_.empty()) world_.check.fail("spares", "some outlive the run");
    ended_ = {end->outcome, end->reason};
    return note("the run has ended: " + (end->reason.empty() ? "done" : end->reason));
  }
  wake_at(shell_.next_wake());
}

std::map<process_number, std::uint32_t> launcher::living() const {
  std::map<process_number, std::uint32_t> all;
  for (const auto& [number, ticket] : running_) all[number] = lives_.at(number);
  for (const auto& [number, may] : starting_) all[number] = lives_.at(number);
  return all;
}

void launcher::wake_at(std::int64_t when) {
  if (when == policies::launch_core::never || when >= waking_) return;
  waking_ = when;
  // This clock may be slow: then it is asked again.
  later(std::max<nanoseconds>(millisecond, when - local_now()), [this] {
    waking_ = policies::launch_core::never;
    turn_soon();
  });
}

std::unique_ptr<process> launcher::make(const policies::process_name& name, process_id id,
                                        const launch_effects::start& start) {
  const auto& spec = world_.plan.spec;
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  if (name.role == process_role::coordinator)
    return std::make_unique<coordinator_process>(world_, id, start.epoch, start.incarnation);
  if (policies::serves_shard(name.role)) {
    const auto slot = policies::slot_process_of(name, spec.shards);
    const auto host = (slot.slot + slot.place) % hosts;
    if (spec.slots > 0)
      return std::make_unique<shard_host>(world_, id, host, slot, start.incarnation);
    return std::make_unique<shard_process>(
        world_, id, host, slot.slot, policies::group_member{slot.place, start.incarnation});
  }
  std::size_t job = 0;
  while (spec.jobs[job].name != name.job) ++job;
  const auto workers = spec.jobs[job].workers;
  if (name.role == process_role::worker) {
    worker_keeping::prepare(world_, name.to_string(), start.epoch, start.joins);
    return std::make_unique<worker>(world_, id,
                                    host_of_worker(spec, spec.jobs[job], name.index), job,
                                    name.index, start.incarnation);
  }
  const auto sums = policies::plan_aggregation(spec, spec.jobs[job]);
  const auto host = sums.aggregators[name.index].members.front() * hosts / workers;
  return std::make_unique<aggregator_process>(world_, id, host, name.job, name.index,
                                              start.incarnation);
}

// A program takes a while to begin.
runtime::expected<std::string> launcher::spawn(const launch_effects::start& start) {
  const auto& name = shell_.core().processes()[start.process];
  if (running_.contains(start.process) || starting_.contains(start.process))
    world_.check.fail("one process", name.to_string() + " is started while it lives");
  if (start.incarnation > 1 && spawns_to_fail_ > 0) {
    --spawns_to_fail_;
    ++world_.killed[name.to_string()];
    return runtime::fail(runtime::errc::io_error, "no more processes");
  }
  if (start.epoch == 1 && name.role != process_role::coordinator &&
      world_.plan.scalings.empty() && world_.plan.shard_scalings.empty() &&
      world_.killed[name.to_string()] + 1 < start.incarnation)
    world_.check.fail("nobody else restarts", name.to_string() + " did not die");
  const bool first = name.role == process_role::coordinator;
  if (first && std::exchange(epoch_, start.epoch) != start.epoch)
    world_.check.begin_epoch(start.epoch);
  std::optional<nanoseconds> takes;
  if (start.spare != policies::no_spare) takes = take_spare(start.spare, name);
  if (!takes)
    takes = first ? 0 : world_.chance.between<nanoseconds>(0, world_.plan.set.start_most);
  later(*takes, [this, start] {
    if (!ended_) begin(start);
  });
  starting_[start.process] = true;
  lives_[start.process] = start.incarnation;
  return name.to_string();
}

void launcher::begin(const launch_effects::start& start) {
  const auto number = start.process;
  const auto name = shell_.core().processes()[number];
  const bool may = starting_.at(number);
  starting_.erase(number);
  if (!may)
    return happens([&](auto& turn) {
      turn.ends.push_back(
          {number,
           {process_exit::ending::by_signal, name.to_string() + " ended before it began"}});
    });
  const auto ticket = world_.add([&](process_id id) { return make(name, id, start); });
  running_[number] = ticket;
  world_.net.introduce(id(), ticket);
  if (name.role != process_role::coordinator) return;
  world_.coordinator = ticket;
  later(millisecond, [this, ticket, epoch = start.epoch] {
    if (epoch == shell_.core().epoch() && world_.net.lives(ticket))
      happens([](auto& turn) { turn.coordinator_ready = true; });
  });
}

runtime::status launcher::write_pids() {
  if (world_.disks_are_full()) return {runtime::errc::no_space, "pids.json: the disk is full"};
  pids_ = living();
  return {};
}

void launcher::exits(process_id part, const runtime::status& why) {
  const auto id = world_.whole(part);
  left_[id] = why;
  later(0, [this, id] { world_.kill(id); });
}

void launcher::peer_lost(process_id peer) {
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [&](const auto& entry) { return entry.second == peer; });
  if (at == running_.end()) return;
  const auto number = at->first;
  running_.erase(at);
  process_exit exit;
  const auto left = left_.find(peer);
  exit.kind = left == left_.end() ? process_exit::ending::by_signal
              : left->second.ok() ? process_exit::ending::clean
                                  : process_exit::ending::bad_status;
  exit.text = shell_.core().processes()[number].to_string() + " ended";
  if (exit.kind == process_exit::ending::bad_status)
    exit.text += ": " + left->second.to_string();
  happens([&](auto& turn) { turn.ends.push_back({number, std::move(exit)}); });
}

void launcher::end(const launch::launched_process& launched_process, bool by_force) {
  if (living().count(launched_process.process) == 0 ||
      lives_.at(launched_process.process) != launched_process.incarnation)
    return;
  ++world_.killed[shell_.core().processes()[launched_process.process].to_string()];
  const auto at = running_.find(launched_process.process);
  if (at == running_.end()) {
    starting_.at(launched_process.process) = false;  // its program has not begun
    return;
  }
  if (by_force) return world_.kill(at->second);
  later(world_.chance.between<nanoseconds>(0, signal_most), [this, process = at->second] {
    world_.net.run_at(process, [this, process] { world_.kill(process); });
  });
}

void launcher::watch() {
  poll_.emplace(
      launch::poll_limits{.interval_ns = world_.plan.set.poll,
                          .give_up_ns = world_.plan.spec.start_timeout_ms * millisecond});
  ++watch_;
  carry_out(poll_->begin(local_now()));
}

void launcher::unwatch() {
  poll_.reset();
  questions_.clear();
  ++watch_;
}

void launcher::poll_now() {
  poll_->poll_now();
  end_rest();
}

std::uint64_t launcher::ask(const launch::launch_question& asked) {
  const auto number = poll_->ask();
  questions_[number] = asked;
  end_rest();
  return number;
}

void launcher::finish(launch::poll_shell::job_failures failures) {
  poll_->finish(std::move(failures));
  end_rest();
}

void launcher::end_rest() {
  if (rests_ && poll_->ends_rest())
    later(0, [this, rest = rest_, watch = watch_] {
      if (rests_ && rest == rest_ && watch == watch_) go_on(watch, {});
    });
}

void launcher::go_on(std::uint32_t watch, const sim::answer& got) {
  if (watch != watch_ || ended_) return;
  rests_ = false;
  policies::cluster_status status;
  if (const auto* cluster_status = std::get_if<policies::cluster_status>(&got.value))
    status = *cluster_status;
  const auto step = poll_->next(local_now(), got.result, std::move(status));
  turn_soon();
  carry_out(step);
}

// It knows where a coordinator listens, and not which process does before it has connected.
void launcher::connect() {
  process::ask<coordinator_process>(
      world_.coordinator, [](auto&, const answer_to& reply) { reply({}); },
      [this, watch = watch_, listens = world_.coordinator](const sim::answer& got) {
        if (got.result.ok()) observed_ = listens;
        go_on(watch, got);
      });
}

void launcher::carry_out(const launch::poll_step& step) {
  using action = launch::poll_step::action;
  const auto ask = [&](std::function<void(coordinator_process&, answer_to)> at) {
    process::ask<coordinator_process>(
        observed_, std::move(at),
        [this, watch = watch_](const sim::answer& got) { go_on(watch, got); });
  };
  switch (step.kind) {
    case action::connect:
    case action::reconnect:
      return connect();
    case action::poll:
      return ask([](auto& to, const answer_to& reply) { to.status(reply); });
    case action::ask:
      return ask([question = questions_.at(step.question)](auto& to, answer_to reply) {
        put(question, to, std::move(reply));
      });
    case action::rest:
      rests_ = true;
      return later(step.pause_ns, [this, rest = ++rest_, watch = watch_] {
        if (rests_ && rest == rest_ && watch == watch_) go_on(watch, {});
      });
    case action::fail_job:
      return ask([job = step.job, why = step.why](auto& to, const answer_to& reply) {
        to.fail_job(job, why, reply);
      });
    case action::stop:
      return ask([](auto& to, const answer_to& reply) {
        reply({});
        to.stop();
      });
    case action::done:
      return;
  }
}

void launcher::put(const launch::launch_question& question, coordinator_process& to,
                   answer_to reply) {
  using about = launch::launch_question::kind;
  switch (question.about) {
    case about::leave:
      return to.worker_leaves(question.name.job, question.name.index, std::move(reply));
    case about::scale:
      return to.scale(question.name.job, question.number, std::move(reply));
    case about::scale_shards:
      return to.scale_shards(question.number, std::move(reply));
    case about::process_ended:
      return to.process_ended(question.name, question.incarnation, std::move(reply));
    case about::save:
      break;
  }
  TIDEGATE_ASSERT(false, "nobody interrupts a simulated launcher");
}

runtime::status launcher::record_epoch(std::uint32_t epoch) {
  auto recorded = policies::record_epoch(*folder_, epoch);
  if (!recorded.ok()) ++world_.failed_writes;
  return recorded;
}

}  // namespace tidegate::sim
