// coordinator_shell: what the core decides is written to the journal, then carried out, in
// turns.
#include <iterator>
#include <utility>

#include "actors/coordinator/coordinator_shell.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::is_planted;
using runtime::planted_bug;

void coordinator_shell::carry_out(reply_to reply, control_reply value) {
  turn next;
  gather(next);
  if (has_ended_) {
    if (reply) reply({{runtime::errc::unavailable, "the coordinator has ended"}, {}});
    return;
  }
  next.reply = std::move(reply);
  next.value = std::move(value);
  if (is_planted(planted_bug::told_before_recorded)) {
    auto announcement = std::move(next);
    next = {};
    next.effects.records = std::move(announcement.effects.records);
    perform(announcement);
  }
  turns_.push_back(std::move(next));
  if (!works_) work();
}

// A checkpoint is named before anything else happens, and what comes of its name belongs to the
// same turn.
void coordinator_shell::gather(turn& next) {
  const auto append = [](auto& to, auto& from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  for (;;) {
    auto added = std::exchange(effects_, {});
    name_receivers(next, added);
    auto& effects = next.effects;
    append(effects.records, added.records);
    append(effects.calls, added.calls);
    append(effects.moves, added.moves);
    append(effects.answers, added.answers);
    append(effects.manifests, added.manifests);
    append(effects.hosts, added.hosts);
    if (added.checkpoints.empty()) return;
    for (const auto& checkpoint : added.checkpoints)
      core_.checkpoint_begun(port_.unix_now(), checkpoint.job, storage_.begin(checkpoint.job),
                             effects_);
  }
}

void coordinator_shell::name_receivers(turn& next,
                                       const policies::coordinator_effects& added) const {
  for (const auto& call : added.calls)
    next.callees.push_back(callees_.at({call.aggregator_of, call.shard, call.member}));
  for (const auto& host : added.hosts) next.hosts.push_back(hosts_.at(host.process).peer);
  for (const auto& slot : added.idle) next.idle.push_back(hosts_.at(slot).peer);
  for (const auto& member : added.retirements)
    next.retiring.push_back(callees_.at({"", member.shard, member.member}));
}

// What is carried out may lead to more turns, which follow.
void coordinator_shell::work() {
  works_ = true;
  while (!has_ended_ && !turns_.empty()) {
    if (!make_durable(turns_.front())) return;  // on_written() goes on
    auto done = std::move(turns_.front());
    turns_.pop_front();
    perform(done);
  }
  works_ = false;
}

// Returns whether the records are durable. Otherwise on_written() goes on with the work, or the
// coordinator has ended.
bool coordinator_shell::make_durable(turn& next) {
  if (next.durable || next.effects.records.empty()) return true;
  asks_journal_ = true;
  storage_.write(next.effects.records,
                 [this](const runtime::status& written) { on_written(written); });
  asks_journal_ = false;
  return !has_ended_ && next.durable;
}

// Nobody may hear of what cannot be kept.
void coordinator_shell::on_written(const runtime::status& written) {
  if (has_ended_) return;
  if (!written.ok() && !is_planted(planted_bug::told_though_not_recorded)) {
    port_.log_error("the journal cannot be written: " + written.to_string());
    return end(written);
  }
  turns_.front().durable = true;
  if (!asks_journal_) work();
}

void coordinator_shell::perform(turn& done) {
  auto& effects = done.effects;
  for (const auto& manifest : effects.manifests)
    storage_.write(manifest, [this, job = manifest.manifest.job,
                              id = manifest.manifest.id](const runtime::status& written) {
      if (has_ended_) return;
      core_.checkpoint_written(port_.unix_now(), job, id, written, effects_);
      carry_out();
    });
  bool any_gone = false;
  constexpr std::size_t planted_bound = 1'024;
  for (std::size_t i = 0; i < effects.calls.size(); ++i) {
    if (is_planted(planted_bug::calls_beyond_a_bound_dropped) && i >= planted_bound) break;
    const auto& call = effects.calls[i];
    if (!is_gone({call.aggregator_of, call.shard, call.member})) {
      port_.call(done.callees[i], call.call, call.message);
      continue;
    }
    any_gone = true;
    core_.call_done(port_.unix_now(), call.call, {runtime::errc::unavailable, "it has gone"},
                    effects_);
  }
  for (const auto& move : effects.moves) tell(move);
  for (std::size_t i = 0; i < effects.hosts.size(); ++i)
    port_.tell(done.hosts[i], effects.hosts[i].message);
  for (const auto& member : done.retiring) port_.stop(member);
  for (const auto& host : done.idle) port_.stop(host);
  for (auto& answer : effects.answers) deliver(answer);
  if (done.reply) done.reply(std::move(done.value));
  if (any_gone) carry_out();
}

// Nobody else answers a call that was decided on before its callee was lost: the callee does
// not join again, or it would be called again then.
bool coordinator_shell::is_gone(const callee_place& place) const {
  const auto at = callees_.find(place);
  return at == callees_.end() || !members_.contains(at->second.handle);
}

void coordinator_shell::deliver(policies::coordinator_effects::answer& answer) {
  auto node = waiting_.extract(answer.to);
  if (node.empty()) return;
  control_reply reply{std::move(answer.result), {}};
  std::visit([&](auto& value) { reply.value = std::move(value); }, answer.value);
  node.mapped()(std::move(reply));
}

// A worker that does not listen yet hears of the move when it begins to.
void coordinator_shell::tell(const policies::coordinator_effects::tell_moved& move) {
  if (move.aggregates) {
    const auto at = callees_.find({move.job, move.index, 0});
    if (at != callees_.end()) port_.tell(at->second, move.message);
    return;
  }
  const auto at = listeners_.find({move.job, move.index});
  if (at != listeners_.end()) port_.tell(at->second.peer, move.message);
}

void coordinator_shell::end(const runtime::status& why) {
  has_ended_ = true;
  port_.end(why);
  close();
}

}  // namespace tidegate::actors
