#include "launch/simulate/scale/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "launch/simulate/scale/compute_time.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim::scale {

namespace {

using action = policies::policy_decision::action;

}  // namespace

cluster::cluster(const setting& of, const compute_function& compute)
    : combination_(of),
      compute_(compute),
      topology_(plan_topology(of)),
      costs_(costs_of(of)),
      workers_(of.workers),
      relays_(topology_.relays.size()),
      links_(topology_.hosts),
      wanted_(of.workers * of.clocks) {
  const auto members = static_cast<std::uint32_t>(topology_.top.size());
  policy_ = policies::make_policy(of.consistency, members);
  parked_since_.resize(members);
  open_relays();
}

outcome cluster::run() {
  for (std::uint32_t rank = 0; rank < combination_.workers; ++rank) begin_clock(rank, 0);
  while (completed_ < wanted_ && time_.step()) {
  }
  return summary();
}

void cluster::at(double when, schedule::action action) {
  const auto planned = static_cast<nanoseconds>(std::llround(when * second));
  time_.at(std::max(planned, time_.now()), std::move(action));
}

void cluster::begin_clock(std::uint32_t rank, double from) {
  auto& me = workers_[rank];
  me.computing = compute_(rank, me.clock);
  me.computed = from + me.computing;
  at(me.computed, [this, rank] { push(rank); });
}

bool cluster::is_beside(std::uint32_t host, const uplink& up) const {
  if (combination_.one_host) return true;
  return up.aggregator != the_shards && topology_.relays[up.aggregator].host == host;
}

void cluster::push(std::uint32_t rank) {
  auto& me = workers_[rank];
  const auto host = topology_.host_of_rank[rank];
  const passage begun{me.computed, me.computed};
  me.way = is_beside(host, topology_.of_rank[rank])
               ? begun.after(costs_.ring_latency)
               : through(links_[host].out, begun, costs_.host_link).after(costs_.latency);
  at(me.way.first, [this, rank] { arrived(rank); });
}

void cluster::arrived(std::uint32_t rank) {
  auto& me = workers_[rank];
  const auto up = topology_.of_rank[rank];
  if (up.aggregator == the_shards) {
    const auto way = into_shard(me.way);
    me.is_settled = true;  // the answer comes after the acknowledgement, or is it
    pushed_to_shard(up.member, me.clock, way);
    pulled_from_shard(up.member, me.clock + 1, way);
    return carry_out_at_shard(way);
  }
  const auto way = into_relay(up.aggregator, topology_.host_of_rank[rank], me.way);
  pushed_to_relay(up.aggregator, up.member, me.clock, way);
  pulled_from_relay(up.aggregator, up.member, me.clock + 1, way);
  carry_out_at_relay(up.aggregator, way);
}

void cluster::delivered(std::uint32_t rank) {
  const auto way =
      through(links_[topology_.host_of_rank[rank]].in, workers_[rank].way, costs_.host_link);
  answered(rank, way.last);
}

void cluster::answered(std::uint32_t rank, double when) {
  auto& me = workers_[rank];
  me.is_answered = true;
  me.answered = when;
  if (me.is_settled) finish(rank);
}

void cluster::settled(std::uint32_t rank, double when) {
  auto& me = workers_[rank];
  me.is_settled = true;
  me.settled = when;
  if (me.is_answered) finish(rank);
}

void cluster::finish(std::uint32_t rank) {
  auto& me = workers_[rank];
  me.done = std::max(me.answered, me.settled);
  me.busy += me.computing;
  me.is_answered = me.is_settled = false;
  ++me.clock;
  ++completed_;
  end_ = std::max(end_, me.done);
  begin_clock(rank, me.done);
}

passage cluster::into_shard(const passage& way) {
  return through(shard_cpu_, through(shard_in_, way, costs_.shard_link), costs_.shard_frames);
}

void cluster::pushed_to_shard(std::uint32_t member, std::uint64_t clock, const passage& way) {
  inputs_.add(clock, way);
  policy_->push_arrived(member, clock, decisions_);
}

void cluster::pulled_from_shard(std::uint32_t member, std::uint64_t clock, const passage& way) {
  parked_since_[member] = way.first;
  policy_->pull_arrived({.rank = member, .clock = clock, .is_final = false}, decisions_);
}

void cluster::carry_out_at_shard(const passage& way) {
  for (const auto& decision : decisions_) {
    if (decision.kind == action::apply_one) {
      applied_ = through(shard_cpu_, way, costs_.shard_sum + costs_.shard_step);
      acknowledge(topology_.top[decision.rank], decision.clock, applied_.last);
    } else if (decision.kind == action::apply_clock) {
      apply_clock(decision.clock);
    } else {
      TIDEGATE_ASSERT(decision.kind == action::answer, "an exchange in order is answered");
      answers_.push_back(decision);
    }
  }
  decisions_.clear();
  if (!answers_.empty()) answer_from_shard(way);
}

void cluster::apply_clock(std::uint64_t clock) {
  const auto count = static_cast<double>(topology_.top.size());
  applied_ =
      through(shard_cpu_, inputs_.of(clock), costs_.shard_sum.times(count) + costs_.shard_step);
  for (const auto& source : topology_.top) acknowledge(source, clock, applied_.last);
}

// All that are answered at one moment are sent the same chunks in turn.
void cluster::answer_from_shard(const passage& way) {
  const auto count = static_cast<double>(answers_.size());
  auto reply = through(shard_cpu_, later(applied_, way), costs_.shard_frames.times(count));
  reply = through(shard_out_, reply, costs_.shard_link.times(count)).after(costs_.latency);
  const auto complete = policy_->complete_below();
  for (const auto& answer : answers_) {
    const auto& source = topology_.top[answer.rank];
    parked_ += workers_of(source) * std::max(0.0, way.first - parked_since_[answer.rank]);
    if (source.is_worker) {
      staleness_.add(answer.clock - std::min(answer.clock, complete));
      workers_[source.index].way = reply;
      at(reply.first, [this, rank = source.index] { delivered(rank); });
    } else {
      at(reply.first, [this, source, clock = answer.clock, complete, reply] {
        reply_to_relay(source.index, clock, complete, reply);
      });
    }
  }
  answers_.clear();
}

// Workers need no message: their answer says it.
void cluster::acknowledge(const source& member, std::uint64_t clock, double when) {
  if (member.is_worker) return;
  const auto then = when + costs_.latency;
  at(then, [this, member, clock, then] { node_acknowledged(member.index, clock, then); });
}

double cluster::workers_of(const source& member) const {
  if (member.is_worker) return 1;
  return member.node == 0 ? relays_[member.index].workers : 0;
}

outcome cluster::summary() const {
  outcome result;
  result.seconds = end_;
  result.worker_clocks = completed_;
  result.rate = static_cast<double>(completed_) / end_;
  result.efficiency = result.rate * combination_.compute.mean / combination_.workers;
  result.steps = time_.steps();
  staleness_.put_into(result);
  std::vector<double> waiting;
  for (const auto& member : workers_)
    waiting.push_back(member.done > 0 ? 1 - member.busy / member.done : 1);
  for (const auto share : waiting) result.waiting_mean += share / combination_.workers;
  result.waiting_p99 = percentile_99(waiting);
  result.parked_mean = parked_ / (end_ * combination_.workers);

  const auto use = [&](resource item, double busy) {
    auto& used = result.used[static_cast<std::size_t>(item)];
    used = std::max(used, std::min(1.0, busy / end_));
  };
  use(resource::compute, (1 - result.waiting_mean) * end_);
  use(resource::stragglers, result.parked_mean * end_);
  for (const auto& path : links_)
    use(resource::host_link, std::max(path.out.busy(), path.in.busy()));
  use(resource::shard_link, std::max(shard_in_.busy(), shard_out_.busy()));
  use(resource::shard, shard_cpu_.busy());
  for (const auto& sum : relays_) use(resource::aggregator, sum.cpu.busy());
  result.bottleneck = static_cast<resource>(
      std::max_element(result.used.begin(), result.used.end()) - result.used.begin());
  return result;
}

outcome run(const setting& of, const compute_function& compute) {
  return cluster(of, compute).run();
}

outcome run(const setting& of) {
  const compute_time times(of.compute, of.workers, of.seed);
  return run(
      of, [&](std::uint32_t rank, std::uint64_t clock) { return times.seconds(rank, clock); });
}

}  // namespace tidegate::sim::scale
