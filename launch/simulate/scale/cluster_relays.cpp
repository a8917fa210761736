// Aggregators: to their members what the shard is, to whom they hand on what a worker is.
#include <algorithm>
#include <utility>

#include "launch/simulate/scale/cluster.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim::scale {

namespace {

using action = policies::policy_decision::action;

}  // namespace

void cluster::open_relays() {
  for (std::size_t at = 0; at < relays_.size(); ++at) {
    const auto& planned = topology_.relays[at];
    auto& added = relays_[at];
    const auto members = static_cast<std::uint32_t>(planned.members.size());
    added.policy = std::make_unique<policies::relay_policy>(combination_.consistency, members,
                                                            planned.nodes.size(), true);
    added.arrived.resize(members);
    for (const auto& member : planned.members) added.workers += workers_of(member);
  }
}

// Members of its host share memory with it.
passage cluster::into_relay(std::uint32_t at, std::uint32_t from_host, const passage& way) {
  const auto host = topology_.relays[at].host;
  if (from_host == host) return through(relays_[at].cpu, way, costs_.ring);
  return through(relays_[at].cpu, through(links_[host].in, way, costs_.host_link),
                 costs_.relay_frames);
}

void cluster::pushed_to_relay(std::uint32_t at, std::uint32_t member, std::uint64_t clock,
                              const passage& way) {
  relays_[at].inputs.add(clock, way);
  relays_[at].arrived[member] = way.first;
  relays_[at].policy->push_arrived(member, clock, decisions_);
}

void cluster::pulled_from_relay(std::uint32_t at, std::uint32_t member, std::uint64_t clock,
                                const passage&) {
  relays_[at].policy->pull_arrived({.rank = member, .clock = clock, .is_final = false},
                                   decisions_);
}

void cluster::carry_out_at_relay(std::uint32_t at, const passage& way) {
  // Settling and answering may end clocks, never decide anything here.
  auto decided = std::exchange(decisions_, {});
  upward up{.push = {}, .pull = {}, .way = way};
  for (const auto& decision : decided) {
    switch (decision.kind) {
      case action::hand_on:
        hand_on(at, decision.clock, way, up);
        break;
      case action::settle:
        settle(at, decision.clock, way.first);
        break;
      case action::ask:
        up.pull = decision.clock;
        break;
      case action::answer:
        answers_.push_back(decision);
        break;
      default:
        TIDEGATE_ASSERT(false, "an aggregator applies nothing, and nobody is too late");
    }
  }
  decided.clear();
  decisions_ = std::move(decided);
  if (!answers_.empty()) answer_from_relay(at, way);
  if (!up.push && !up.pull) return;
  const auto nodes =
      up.push ? static_cast<std::uint32_t>(topology_.relays[at].nodes.size()) : 1;
  // The first node pulls, after all have pushed.
  for (std::uint32_t node = nodes; node-- > 0;) {
    auto sum = up;
    if (node != 0) sum.pull.reset();
    send_up(at, node, sum);
  }
}

void cluster::hand_on(std::uint32_t at, std::uint64_t clock, const passage& way, upward& out) {
  auto& me = relays_[at];
  const auto& planned = topology_.relays[at];
  TIDEGATE_ASSERT(!out.push, "members are at most a clock ahead of their aggregator");
  out.push = clock;
  // Every input is read, and the sum written.
  const auto count = static_cast<double>(planned.members.size() + planned.nodes.size());
  out.way = through(me.cpu, me.inputs.of(clock), costs_.relay_sum.times(count));
  me.unacknowledged[clock % me.unacknowledged.size()] =
      static_cast<std::uint32_t>(planned.nodes.size());
  for (std::size_t member = 0; member < planned.members.size(); ++member)
    parked_ +=
        workers_of(planned.members[member]) * std::max(0.0, way.first - me.arrived[member]);
}

void cluster::settle(std::uint32_t at, std::uint64_t clock, double when) {
  const auto host = topology_.relays[at].host;
  for (const auto& member : topology_.relays[at].members) {
    const bool beside = member.is_worker && topology_.host_of_rank[member.index] == host;
    const auto then = when + (beside ? costs_.ring_latency : costs_.latency);
    if (member.is_worker)
      settled(member.index, then);
    else
      acknowledge(member, clock, when);
  }
}

void cluster::answer_from_relay(std::uint32_t at, const passage& way) {
  auto& me = relays_[at];
  const auto& planned = topology_.relays[at];
  const auto answers = std::exchange(answers_, {});
  const auto is_remote = [&](const policies::policy_decision& decision) {
    const auto& source = planned.members[decision.rank];
    const auto host = source.is_worker ? topology_.host_of_rank[source.index]
                                       : topology_.relays[source.index].host;
    return host != planned.host;
  };
  const auto ready = later(me.ready, way);
  const auto remote =
      static_cast<double>(std::count_if(answers.begin(), answers.end(), is_remote));
  auto sent = ready;
  if (remote > 0) {
    sent = through(me.cpu, ready, costs_.relay_frames.times(remote));
    sent = through(links_[planned.host].out, sent, costs_.host_link.times(remote));
  }
  const auto complete = me.policy->complete_below();
  for (const auto& answer : answers) {
    const auto& member = planned.members[answer.rank];
    const bool far = is_remote(answer);
    const auto reply = far ? sent.after(costs_.latency) : ready.after(costs_.ring_latency);
    if (member.is_worker) {
      staleness_.add(answer.clock - std::min(answer.clock, complete));
      workers_[member.index].way = reply;
      if (far)
        this->at(reply.first, [this, rank = member.index] { delivered(rank); });
      else
        answered(member.index, reply.last);
    } else {
      this->at(reply.first, [this, member, clock = answer.clock, complete, reply] {
        reply_to_relay(member.index, clock, complete, reply);
      });
    }
  }
}

void cluster::send_up(std::uint32_t at, std::uint32_t node, upward sum) {
  const auto& planned = topology_.relays[at];
  const bool beside = is_beside(planned.host, planned.nodes[node]);
  if (sum.push && !beside) {
    sum.way = through(relays_[at].cpu, sum.way, costs_.relay_frames);
    sum.way = through(links_[planned.host].out, sum.way, costs_.host_link);
  }
  sum.way = sum.way.after(beside ? costs_.ring_latency : costs_.latency);
  this->at(sum.way.first, [this, at, node, sum] { came_up(at, node, sum); });
}

void cluster::came_up(std::uint32_t at, std::uint32_t node, const upward& sum) {
  const auto up = topology_.relays[at].nodes[node];
  auto way = sum.way;
  if (up.aggregator == the_shards) {
    if (sum.push) way = into_shard(way);
    if (sum.push) pushed_to_shard(up.member, *sum.push, way);
    if (sum.pull) pulled_from_shard(up.member, *sum.pull, way);
    return carry_out_at_shard(way);
  }
  if (sum.push) way = into_relay(up.aggregator, topology_.relays[at].host, way);
  if (sum.push) pushed_to_relay(up.aggregator, up.member, *sum.push, way);
  if (sum.pull) pulled_from_relay(up.aggregator, up.member, *sum.pull, way);
  carry_out_at_relay(up.aggregator, way);
}

void cluster::reply_to_relay(std::uint32_t at, std::uint64_t clock, std::uint64_t min_clock,
                             const passage& way) {
  auto& me = relays_[at];
  const auto& planned = topology_.relays[at];
  me.ready = way;
  if (!is_beside(planned.host, planned.nodes.front())) {
    me.ready = through(links_[planned.host].in, way, costs_.host_link);
    me.ready = through(me.cpu, me.ready, costs_.relay_frames);
  }
  me.policy->pulled({clock, min_clock}, decisions_);
  carry_out_at_relay(at, me.ready);
}

void cluster::node_acknowledged(std::uint32_t at, std::uint64_t clock, double when) {
  auto& me = relays_[at];
  if (--me.unacknowledged[clock % me.unacknowledged.size()] > 0) return;
  me.policy->handed_on(clock, decisions_);
  carry_out_at_relay(at, {when, when});
}

}  // namespace tidegate::sim::scale
