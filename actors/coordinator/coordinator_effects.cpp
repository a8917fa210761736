// coordinator_shell: what the core decides is gathered into turns, and carried out when the
// journal has them.
#include <cstddef>
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
  if (turns_.has_ended()) {
    if (reply) reply({ended(), {}});
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
  turns_.add(std::move(next));
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
    next.callees.push_back(receivers_.callee({call.aggregator_of, call.shard, call.member}));
  for (const auto& host : added.hosts) next.hosts.push_back(watch_.host(host.process));
  for (const auto& slot : added.idle) next.idle.push_back(watch_.host(slot));
  for (const auto& member : added.retirements)
    next.retiring.push_back(receivers_.callee({"", member.shard, member.member}));
}

void coordinator_shell::perform(turn& done) {
  auto& effects = done.effects;
  write_manifests(effects);
  const bool any_gone = make_calls(done);
  for (const auto& move : effects.moves)
    if (const auto* const peer = receivers_.listener_of(move)) port_.tell(*peer, move.message);
  for (std::size_t i = 0; i < effects.hosts.size(); ++i)
    port_.tell(done.hosts[i], effects.hosts[i].message);
  for (const auto& member : done.retiring) port_.stop(member);
  for (const auto& host : done.idle) port_.stop(host);
  for (auto& answer : effects.answers) replies_.deliver(answer);
  if (done.reply) done.reply(std::move(done.value));
  if (any_gone) carry_out();
}

void coordinator_shell::write_manifests(const policies::coordinator_effects& effects) {
  for (const auto& manifest : effects.manifests)
    storage_.write(manifest, [this, job = manifest.manifest.job,
                              id = manifest.manifest.id](const runtime::status& written) {
      if (turns_.has_ended()) return;
      core_.checkpoint_written(port_.unix_now(), job, id, written, effects_);
      carry_out();
    });
}

bool coordinator_shell::make_calls(const turn& done) {
  bool any_gone = false;
  constexpr std::size_t planted_bound = 1'024;
  for (std::size_t i = 0; i < done.effects.calls.size(); ++i) {
    if (is_planted(planted_bug::calls_beyond_a_bound_dropped) && i >= planted_bound) break;
    const auto& call = done.effects.calls[i];
    if (!is_gone({call.aggregator_of, call.shard, call.member})) {
      port_.call(done.callees[i], call.call, call.message);
      continue;
    }
    any_gone = true;
    core_.call_done(port_.unix_now(), call.call, {runtime::errc::unavailable, "it has gone"},
                    effects_);
  }
  return any_gone;
}

// Nobody else answers a call that was decided on before its callee was lost: the callee does
// not join again, or it would be called again then.
bool coordinator_shell::is_gone(const callee_place& place) const {
  const auto* const callee = receivers_.find_callee(place);
  return callee == nullptr || !watch_.is_member(callee->handle);
}

}  // namespace tidegate::actors
