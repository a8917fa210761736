#include "launch/simulate/cluster/slowness.hpp"

#include <algorithm>
#include <cmath>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

namespace {

using cause = policies::held_up_by::cause;
using party = policies::held_up_by::party;

// As the launcher polls, and writes lines of metrics.jsonl.
constexpr nanoseconds look_every = 200 * millisecond;
constexpr nanoseconds period_least = second;
// A shard tells of a clock once all have pushed the next one.
constexpr std::uint64_t clocks_until_told = 2;
// From then on until the launcher knows: a report of a shard, one of a worker, and a poll.
constexpr nanoseconds known_within = 1500 * millisecond;
// Workers begin one after another, which is nobody's delay.
constexpr std::uint64_t settling_clocks = 2;

cause cause_of(slow_kind kind) {
  switch (kind) {
    case slow_kind::worker_computes:
      return cause::computes;
    case slow_kind::worker_stopped:
    case slow_kind::shard_stopped:
      return cause::stopped;
    case slow_kind::shard_busy:
      return cause::busy;
    case slow_kind::worker_collects:
      return cause::garbage;
    case slow_kind::replica_link:
    case slow_kind::replica_stopped:
      return cause::replica;
    case slow_kind::worker_link:
    case slow_kind::shard_link:
    case slow_kind::shard_disk:
    case slow_kind::none:
      break;
  }
  return cause::arrives;
}

double seconds(nanoseconds of) {
  return static_cast<double>(of) * 1e-9;
}

bool is_of_replica(slow_kind kind) {
  return kind == slow_kind::replica_link || kind == slow_kind::replica_stopped;
}

std::string text_of(const policies::held_up_by& of) {
  return (of.kind == party::worker ? "worker " : "shard ") + std::to_string(of.number) +
         ", cause " + std::to_string(static_cast<int>(of.because)) + ", late " +
         std::to_string(of.late_seconds) + " s a clock";
}

}  // namespace

slowness::slowness(world& where, const slow_plan& drawn)
    : world_(where),
      plan_(drawn),
      number_(static_cast<std::uint32_t>(drawn.pick % (is_of_worker()
                                                           ? where.plan.spec.jobs[0].workers
                                                           : where.plan.spec.shards))) {
  reached_.resize(where.plan.spec.jobs[0].workers);
  world_.time.after(look_every, [this] { look(); });
}

bool slowness::is_of_worker() const {
  return plan_.kind == slow_kind::worker_computes || plan_.kind == slow_kind::worker_link ||
         plan_.kind == slow_kind::worker_stopped || plan_.kind == slow_kind::worker_collects;
}

process_id slowness::slow_process() const {
  const std::uint32_t member = is_of_replica(plan_.kind) ? 1 : 0;
  const auto name =
      is_of_worker()
          ? "worker-" + world_.plan.spec.jobs[0].name + "-" + std::to_string(number_)
          : policies::name_of({number_, member}, world_.plan.spec.shards).to_string();
  for (const auto& [id, process] : world_.processes())
    if (process->name() == name) return id;
  return 0;
}

nanoseconds slowness::computes(std::uint32_t rank, std::uint64_t clock, nanoseconds takes) {
  reached_.at(rank) = clock;
  const auto slowest = *std::min_element(reached_.begin(), reached_.end());
  if (slowest >= settling_clocks && !settled_) settled_ = world_.time.now();
  const auto end_clock = plan_.from + plan_.clocks;
  if (slowest >= plan_.from && !began_) begin();
  if (slowest >= end_clock && !ended_) end();
  if (slowest >= end_clock + clocks_until_told && !known_) known_ = world_.time.now();
  return takes + (is_longer(rank, clock) ? plan_.extra : 0);
}

bool slowness::is_longer(std::uint32_t rank, std::uint64_t clock) const {
  return rank == number_ && clock >= plan_.from && clock < plan_.from + plan_.clocks &&
         (plan_.kind == slow_kind::worker_computes || plan_.kind == slow_kind::worker_collects);
}

nanoseconds slowness::collects(std::uint32_t rank, std::uint64_t clock) const {
  return plan_.kind == slow_kind::worker_collects && is_longer(rank, clock) ? plan_.extra : 0;
}

nanoseconds slowness::writes(process_id shard) const {
  const bool is_on = plan_.kind == slow_kind::shard_disk && began_ && !ended_;
  return is_on && shard == slow_process() ? plan_.extra : 0;
}

void slowness::begin() {
  began_ = world_.time.now();
  world_.log.note(*began_, "plan", "something is slow from now on");
  if (plan_.kind == slow_kind::worker_link || plan_.kind == slow_kind::shard_link ||
      plan_.kind == slow_kind::replica_link)
    world_.net.delay(slow_process(), plan_.extra);
  if (plan_.kind == slow_kind::worker_stopped || plan_.kind == slow_kind::shard_stopped ||
      plan_.kind == slow_kind::replica_stopped)
    world_.time.after(plan_.within, [this] { stop(); });
}

void slowness::end() {
  ended_ = world_.time.now();
  world_.log.note(*ended_, "plan", "nothing is slow any more");
  world_.net.delay(slow_process(), 0);
}

void slowness::stop() const {
  const auto id = slow_process();
  if (id == 0) return;
  world_.net.stall(id);
  world_.time.after(plan_.extra, [&where = world_, id, lasts = plan_.extra] {
    if (auto* const stopped = where.find(id)) stopped->was_stopped(lasts);
    where.net.go_on(id);
  });
}

// Once in a clock, whatever the tables are.
nanoseconds slowness::steps(process_id shard, std::uint64_t clock) {
  if (plan_.kind != slow_kind::shard_busy || !began_ || ended_ || clock < stepped_) return 0;
  if (shard != slow_process()) return 0;
  stepped_ = clock + 1;
  return plan_.extra;
}

void slowness::look() {
  world_.time.after(look_every, [this] { look(); });
  auto* const coordinator = world_.find_as<coordinator_process>(world_.coordinator);
  if (coordinator == nullptr) return;
  coordinator->status([this](answer got) {
    const auto* const status = std::get_if<policies::cluster_status>(&got.value);
    if (status == nullptr || status->jobs.empty()) return;
    const auto& job = status->jobs.front();
    if (job.state != policies::job_state::running) return;
    const auto now = world_.time.now();
    since_period_.add(now, job, status->shards, status->replicas);
    if (period_begin_ == 0) period_begin_ = now;
    if (now < period_begin_ + period_least) return;
    const auto rates = since_period_.rates();
    if (rates.seconds <= 0) return;
    periods_.push_back({.begin = period_begin_,
                        .end = now,
                        .account = policies::period_of(job.clock_slowest, rates)});
    note(periods_.back());
    period_begin_ = now;
    since_period_ = {};
    since_period_.add(now, job, status->shards, status->replicas);
  });
}

void slowness::note(const period& last) const {
  std::string text = "clock " + std::to_string(last.account.clock) + ":";
  for (const auto& [rank, of] : last.account.workers)
    text += " worker " + std::to_string(rank) + " clocks " + std::to_string(of.clocks) +
            " computes " + std::to_string(of.computes) + " waits " + std::to_string(of.waits) +
            " last " + std::to_string(of.last) + " late " + std::to_string(of.late) + ";";
  for (const auto& [shard, of] : last.account.shards)
    text += " shard " + std::to_string(shard) + " last " + std::to_string(of.last) + " late " +
            std::to_string(of.late) + " busy " + std::to_string(of.busy) + " replica " +
            std::to_string(of.replica) + ";";
  for (const auto& of : last.account.checkpoints)
    text += " checkpoint of clock " + std::to_string(of.clock) + " in " +
            std::to_string(of.seconds) + ", late " + std::to_string(of.late) + ", shard " +
            std::to_string(of.shard) + " part " + std::to_string(of.part) + ";";
  world_.log.note(world_.time.now(), "launcher", text);
}

std::vector<policies::job_period> slowness::within(nanoseconds begin, nanoseconds end) const {
  std::vector<policies::job_period> found;
  for (const auto& each : periods_)
    if (each.end > begin && each.begin < end) found.push_back(each.account);
  return found;
}

std::vector<policies::held_up_by> slowness::held_up(nanoseconds begin, nanoseconds end) const {
  return policies::held_up(within(begin, end));
}

std::optional<policies::late_checkpoint> slowness::late_checkpoint(nanoseconds begin,
                                                                   nanoseconds end) const {
  return policies::late_checkpoint_in(within(begin, end));
}

void slowness::expect_nobody(nanoseconds begin, nanoseconds end) const {
  const auto all = held_up(begin, end);
  if (!all.empty())
    world_.check.fail("attribution", "nothing is slow, and it names " + text_of(all.front()));
  if (const auto late = late_checkpoint(begin, end))
    world_.check.fail("attribution", "nothing is slow, and it names a disk of shard " +
                                         std::to_string(late->worst.shard));
}

void slowness::expect_the_disk() const {
  const auto late = late_checkpoint(*began_, *known_ + known_within);
  const auto all = held_up(*began_, *known_ + known_within);
  if (!all.empty())
    world_.check.fail("attribution", "a disk is slow, and it names " + text_of(all.front()));
  if (!late || late->slow != policies::late_checkpoint::writer::shard ||
      late->worst.shard != number_)
    world_.check.fail("attribution",
                      "slow is the disk of shard " + std::to_string(number_) + "; it names " +
                          (late ? "that of shard " + std::to_string(late->worst.shard)
                                : std::string("none")));
}

void slowness::expect_the_cause() const {
  const auto all = held_up(*began_, *known_ + known_within);
  const auto wanted =
      policies::held_up_by{.kind = is_of_worker() ? party::worker : party::shard,
                           .number = number_,
                           .because = cause_of(plan_.kind)};
  std::string named;
  for (const auto& each : all) named += (named.empty() ? "" : "; ") + text_of(each);
  const bool is_right = all.size() == 1 && all[0].kind == wanted.kind &&
                        all[0].number == wanted.number && all[0].because == wanted.because;
  if (!is_right)
    world_.check.fail("attribution", "slow is " + text_of(wanted) + "; it names " +
                                         (named.empty() ? "nobody" : named));
  else
    expect_what_it_cost(all[0]);
}

// "Without that the job would be so many times as fast": the clocks before were. What comes
// late over a link costs a round trip or several, and what waits for a replica may cost later
// clocks.
void slowness::expect_what_it_cost(const policies::held_up_by& of) const {
  if (of.because == cause::arrives || of.because == cause::replica) return;
  double looked_at = 0;
  for (const auto& each : within(*began_, *known_ + known_within)) looked_at += each.seconds;
  const auto said = looked_at * (1 - 1 / of.faster);
  const auto calm =
      seconds(*began_ - *settled_) / static_cast<double>(plan_.from - settling_clocks);
  const auto cost = seconds(*ended_ - *began_) - calm * static_cast<double>(plan_.clocks);
  constexpr double share_off_most = 0.25, seconds_off_most = 0.05;
  if (std::abs(said - cost) > share_off_most * cost + seconds_off_most)
    world_.check.fail("attribution", text_of(of) + ": it cost " + std::to_string(cost) +
                                         " s, and " + std::to_string(said) + " s are said");
}

// The first periods are of workers that begin.
void slowness::judge() {
  if (!settled_ || periods_.size() < 3 || (plan_.kind != slow_kind::none && !known_))
    return world_.check.fail("attribution", "the job has ended before it could be looked at");
  const auto first = *settled_ + period_least;
  const auto last = world_.time.now();
  if (plan_.kind == slow_kind::none) return expect_nobody(first, last);
  expect_nobody(first, began_ ? *began_ - period_least : first);
  if (plan_.kind == slow_kind::shard_disk) return expect_the_disk();
  expect_the_cause();
}

}  // namespace tidegate::sim
