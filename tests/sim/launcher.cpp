#include "tests/sim/launcher.hpp"

#include <algorithm>

#include "policies/aggregation.hpp"
#include "runtime/base/assert.hpp"
#include "tests/sim/aggregator.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/shard.hpp"
#include "tests/sim/worker.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds poll_interval = 200 * millisecond;
constexpr nanoseconds start_spread = 20 * millisecond;

}  // namespace

launcher& launcher::of(world& where) {
  auto* found = where.find_as<launcher>(where.launcher);
  TIDEGATE_ASSERT(found != nullptr, "the launcher outlives its processes");
  return *found;
}

void launcher::start() {
  world_.coordinator = world_.add(
      [this](process_id id) { return std::make_unique<coordinator_process>(world_, id); });
  watch(world_.coordinator);
  later(millisecond, [this] { start_rest(); });
  later(poll_interval, [this] { poll(); });
}

void launcher::watch(process_id who) {
  running_[who] = world_.find(who)->name();
  world_.net.introduce(id(), who);
}

void launcher::start_rest() {
  const auto& spec = world_.plan.spec;
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  const auto begin = [this](auto make) {
    later(world_.chance.between<nanoseconds>(0, start_spread), [this, make] {
      if (!ended_) watch(world_.add(make));
    });
  };
  for (std::uint32_t i = 0; i < spec.shards; ++i)
    begin([this, i, hosts](process_id id) {
      return std::make_unique<shard_process>(world_, id, i % hosts, i);
    });
  for (std::size_t job = 0; job < spec.jobs.size(); ++job) {
    const auto& one = spec.jobs[job];
    const auto sums = policies::plan_aggregation(spec, one);
    for (std::uint32_t i = 0; i < sums.aggregators.size(); ++i) {
      const auto host = sums.aggregators[i].members.front() * hosts / one.workers;
      begin([this, host, name = one.name, i](process_id id) {
        return std::make_unique<aggregator_process>(world_, id, host, name, i);
      });
    }
    for (std::uint32_t rank = 0; rank < one.workers; ++rank) {
      ++workers_left_;
      begin([this, job, rank, host = rank * hosts / one.workers](process_id id) {
        return std::make_unique<worker>(world_, id, host, job, rank, 1);
      });
    }
  }
}

void launcher::exits(process_id who, bool well) {
  if (well) {
    left_well_.insert(who);
    --workers_left_;
  }
  later(0, [this, who] { world_.kill(who); });
}

// As run::judge_ends: a death that was not an orderly end is the end of the run.
void launcher::peer_lost(process_id peer) {
  const auto at = running_.find(peer);
  if (at == running_.end()) return;
  const auto name = at->second;
  running_.erase(at);
  if (left_well_.contains(peer)) return;
  end(outcome::process_died, name + " ended");
}

void launcher::poll() {
  if (ended_) return;
  process::ask<coordinator_process>(
      world_.coordinator,
      [](coordinator_process& to, const answer_to& reply) { to.status(reply); },
      [this](const answer& got) {
        if (const auto* status = std::get_if<policies::cluster_status>(&got.value))
          on_status(*status);
      });
  later(poll_interval, [this] { poll(); });
}

void launcher::on_status(const policies::cluster_status& status) {
  bool all_done = true;
  for (const auto& job : status.jobs) {
    if (job.state == policies::job_state::failed)
      return end(outcome::job_failed, job.name + ": " + job.failure);
    all_done = all_done && job.state == policies::job_state::done;
  }
  if (all_done && workers_left_ == 0) end(outcome::done, "");
}

void launcher::end(outcome how, const std::string& why) {
  if (ended_) return;
  ended_ = how;
  why_ = why;
  note("the run has ended: " + (why.empty() ? "done" : why));
}

}  // namespace tidegate::sim
