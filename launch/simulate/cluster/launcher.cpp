#include "launch/simulate/cluster/launcher.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/aggregator.hpp"
#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/host_agent.hpp"
#include "launch/simulate/cluster/launcher_plan.hpp"
#include "launch/simulate/cluster/shard.hpp"
#include "launch/simulate/cluster/shard_host.hpp"
#include "launch/simulate/cluster/worker.hpp"
#include "policies/checkpoint/cancelled_jobs.hpp"
#include "policies/checkpoint/run_epoch.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim {

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
      own_(where, *this,
           where.plan.has_agents ? std::optional(launch::inner_agent::host) : std::nullopt),
      agent_(own_, own_, 0),
      shell_(plan_of(where.plan, epoch, *folder_), *this, id) {}

launcher& launcher_of(world& where) {
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
      happened_.requests.push_back({0, job, number});
      turn_soon();
    });
  };
  for (const auto& scaling : world_.plan.scalings)
    wants(scaling.when, world_.plan.spec.jobs[scaling.job].name, scaling.workers);
  for (const auto& cancelled : world_.plan.cancellations)
    later(cancelled.when, [this, job = world_.plan.spec.jobs[cancelled.job].name] {
      happened_.cancels.push_back({.asker = 0, .job = job});
      turn_soon();
    });
  for (const auto& shard_scaling : world_.plan.shard_scalings)
    wants(shard_scaling.when, "", shard_scaling.slots);
}

void launcher::happened(policies::agent_report report) {
  own_happened_.reports.push_back(std::move(report));
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
  agent_.turn(local_now(), std::exchange(own_happened_, {}));
  auto turn = std::exchange(happened_, {});
  if (poll_) turn.news = poll_->take();
  shell_.turn(local_now(), std::move(turn));
  after_turn();
}

void launcher::after_turn() {
  if (!world_.disks_are_full() && pids_ != own_.living())
    world_.check.fail("pids", "the run folder does not name the processes that live");
  if (const auto* end = shell_.ended()) {
    if (own_.has_spares()) world_.check.fail("spares", "some outlive the run");
    ended_ = {end->outcome, end->reason, shell_.core().result()};
    return note("the run has ended: " + (end->reason.empty() ? "done" : end->reason));
  }
  wake_at(std::min(shell_.next_wake(), agent_.next_wake()));
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

runtime::status launcher::write_pids(const std::vector<launch::live_process>& processes) {
  if (world_.disks_are_full()) return {runtime::errc::no_space, "pids.json: the disk is full"};
  pids_.clear();
  for (const auto& process : processes)
    if (process.host == launch::inner_agent::host) pids_.insert(process.name.to_string());
  return {};
}

void launcher::start_agent(const policies::host_effects::start_agent& start) {
  if (start.host == launch::inner_agent::host) return agent_.start(local_now(), start.start);
  agents_[start.host] = {.start = start.start, .agent = 0};
  later(world_.chance.between<nanoseconds>(0, world_.plan.set.start_most),
        [this, start] { begin_agent(start.host, start.start); });
}

void launcher::begin_agent(policies::host_number host, std::uint64_t start) {
  auto& known = agents_[host];
  if (ended_ || known.start != start) return;
  const auto now = world_.time.now();
  if (world_.dead_hosts[host] > now || world_.cut_hosts[host] > now)
    return agent_happened(host, {host, launch::agent_event::ended{"the host is not there"}});
  known.agent = world_.add(
      [&](process_id id) { return std::make_unique<host_agent>(world_, id, host, start); });
  world_.net.introduce(id(), known.agent);
}

// What has started an agent on a host that is cut off ends here; the agent does not know.
void launcher::end_agent(policies::host_number host) {
  if (host == launch::inner_agent::host) return agent_.end();
  auto& known = agents_[host];
  known.start = 0;
  const auto agent = std::exchange(known.agent, 0);
  if (agent != 0 && world_.cut_hosts[host] <= world_.time.now()) world_.kill(agent);
  agent_happened(host, {host, launch::agent_event::ended{"it was ended"}});
}

void launcher::agent_happened(policies::host_number, launch::agent_event event) {
  agent_events_.push_back(std::move(event));
  turn_soon();
}

void launcher::send(policies::agent_connection over, const policies::launcher_frame& frame) {
  if (over == launch::inner_agent::connection) return agent_.send(local_now(), frame);
  const auto at = links_.find(over);
  if (at == links_.end()) return;
  const auto number = at->second.number;
  tell_over<host_agent>(
      at->second.agent, number,
      [number, frame](host_agent& agent, const answer_to&) { agent.hears(number, frame); },
      [](const sim::answer&) {});
}

void launcher::close(policies::agent_connection connection) {
  const auto closed = links_.extract(connection);
  if (!closed) return;
  const auto number = closed.mapped().number;
  tell_over<host_agent>(
      closed.mapped().agent, number,
      [number](host_agent& agent, const answer_to&) { agent.closed(number); },
      [](const sim::answer&) {});
}

std::vector<launch::agent_event> launcher::take_agent_events() {
  auto events = agent_.take_events();
  for (auto& event : std::exchange(agent_events_, {})) events.push_back(std::move(event));
  return events;
}

void launcher::agent_connects(std::uint32_t host, process_id agent) {
  agent_leaves(agent);
  links_[++last_link_] = {.host = host, .agent = agent, .number = current_asker().number};
}

void launcher::agent_says(process_id agent, const policies::agent_frame& frame) {
  for (const auto& [over, link] : links_)
    if (link.agent == agent)
      return agent_happened(
          link.host, {link.host, launch::agent_event::frame{.over = over, .content = frame}});
}

void launcher::agent_leaves(process_id agent) {
  for (auto at = links_.begin(); at != links_.end();) {
    const auto [over, link] = *at;
    at = link.agent == agent ? links_.erase(at) : std::next(at);
    if (link.agent == agent)
      agent_happened(link.host, {link.host, launch::agent_event::disconnected{over}});
  }
}

void launcher::control_broke(process_id peer, std::uint32_t) {
  agent_leaves(peer);
}

void launcher::peer_lost(process_id peer) {
  own_.lost(peer);
  agent_leaves(peer);
  for (auto& [host, known] : agents_) {
    if (known.agent != peer) continue;
    known.agent = 0;
    agent_happened(host, {host, launch::agent_event::ended{"its agent has ended"}});
  }
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
    case about::fail_job:
      return to.fail_job(question.name.job, question.why, reply);
    case about::save:
      break;
  }
  TIDEGATE_ASSERT(false, "nobody interrupts a simulated launcher");
}

runtime::status launcher::record_cancelled(const std::string& job) {
  auto recorded = policies::record_cancelled(*folder_, job);
  if (!recorded.ok()) ++world_.failed_writes;
  return recorded;
}

runtime::status launcher::record_epoch(std::uint32_t epoch) {
  auto recorded = policies::record_epoch(*folder_, epoch);
  if (!recorded.ok()) ++world_.failed_writes;
  return recorded;
}

}  // namespace tidegate::sim
