// coordinator_process: what it decides is written to its journal, then carried out, in turns.
#include <algorithm>
#include <iterator>
#include <variant>

#include "runtime/base/planted.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/shard.hpp"
#include "tests/sim/shard_host.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds journal_most = 3 * millisecond;
constexpr nanoseconds told_most = millisecond;  // from there to what follows

}  // namespace

void coordinator_process::carry_out(std::function<void()> reply) {
  turn made;
  if (reply) made.replies.push_back(std::move(reply));
  // A name follows before anything else happens, and is told by what comes of it.
  for (;;) {
    auto& effects = made.effects;
    const auto append = [](auto& to, auto& from) {
      std::move(from.begin(), from.end(), std::back_inserter(to));
    };
    auto more = std::exchange(effects_, {});
    append(effects.records, more.records);
    name_callees(made, more);
    append(effects.calls, more.calls);
    append(effects.moves, more.moves);
    append(effects.answers, more.answers);
    append(effects.manifests, more.manifests);
    append(effects.hosts, more.hosts);
    if (more.checkpoints.empty()) break;
    for (const auto& one : more.checkpoints) begin_checkpoint(one.job);
  }
  const bool planted = runtime::is_planted(runtime::planted_bug::told_before_recorded);
  if (planted) perform(made);
  if (planted) made = {std::move(made.effects), {}, {}, {}, {}, {}};
  if (unwritten_.empty() && made.effects.records.empty())
    return planted ? void() : perform(made);
  unwritten_.push_back(std::move(made));
  if (unwritten_.size() == 1) write_next();
}

// Whom they are for is known now: when they are made another may have joined in its place.
void coordinator_process::name_callees(turn& made,
                                       const policies::coordinator_effects& more) const {
  for (const auto& one : more.calls)
    made.callees.push_back(shards_.at({one.aggregator_of, one.shard, one.member}));
  for (const auto& one : more.hosts) made.hosts.push_back(hosts_.at(one.process).second);
  for (const auto& one : more.idle) made.idle.push_back(hosts_.at(one).second);
  for (const auto& one : more.retirements)
    made.retiring.push_back(shards_.at({"", one.shard, one.member}));
}

// Nobody waits for an answer.
void coordinator_process::tell_slots(const turn& what) {
  const auto unheard = [](const answer&) {};
  for (std::size_t i = 0; i < what.hosts.size(); ++i)
    ask<shard_host>(
        what.hosts[i],
        [call = what.effects.hosts[i].what](shard_host& to, const answer_to&) {
          to.take(call);
        },
        unheard);
  for (const auto one : what.retiring)
    ask<shard_process>(
        one, [](shard_process& to, const answer_to& reply) { to.retire(reply); }, unheard);
  for (const auto one : what.idle)
    ask<shard_host>(
        one, [](shard_host& to, const answer_to&) { to.end_idle(); }, unheard);
}

void coordinator_process::write_next() {
  const auto records = unwritten_.front().effects.records.size();
  later(records == 0 ? 0 : world_.chance.between<nanoseconds>(0, journal_most), [this] {
    write(unwritten_.front());
    later(world_.chance.between<nanoseconds>(0, told_most), [this] {
      auto next = std::move(unwritten_.front());
      unwritten_.pop_front();
      if (!unwritten_.empty()) write_next();
      if (!runtime::is_planted(runtime::planted_bug::told_before_recorded)) perform(next);
    });
  });
}

void coordinator_process::write(const turn& what) {
  for (const auto& record : what.effects.records) {
    if (const auto* one = std::get_if<policies::recorded_job>(&record))
      world_.check.changed(one->name, one->changes);
    auto made = policies::encode(record);
    world_.journals[epoch_][made.key] = std::move(made.value);
  }
}

void coordinator_process::perform(turn& what) {
  for (const auto& one : what.effects.manifests) write_manifest(one);
  for (std::size_t i = 0; i < what.effects.calls.size(); ++i)
    call(what.callees[i], what.effects.calls[i]);
  for (const auto& one : what.effects.moves) tell(one);
  tell_slots(what);
  for (auto& one : what.effects.answers) {
    const auto at = waiting_.find(one.to);
    if (at == waiting_.end()) continue;
    const auto reply = std::move(at->second);
    waiting_.erase(at);
    answer got;
    got.result = one.result;
    if (auto* welcome = std::get_if<policies::worker_welcome>(&one.value)) got.value = *welcome;
    if (auto* grant = std::get_if<policies::table_grant>(&one.value)) got.value = *grant;
    reply(std::move(got));
  }
  for (const auto& reply : what.replies) reply();
}

}  // namespace tidegate::sim
