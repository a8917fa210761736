#include "policies/shard/step_executor.hpp"

#include <utility>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::sharding {

using action = policy_decision::action;

void step_executor::carry_out(chunk_record& chunk, const frame_tag& base, shard_effects& out) {
  bool answered = false;
  // A decision may lead to others, which are appended.
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    const auto decision = decisions_[i];
    switch (decision.kind) {
      case action::apply_one:
      case action::apply_clock:
        // Two pushes that waited for one another: what the first one allows is answered before
        // the second one is applied.
        if (std::exchange(answered, false)) state_.replies.flush(out);
        apply(chunk, decision, base, out);
        break;
      case action::measure:
        state_.norms.measure(chunk, decision.clock, out);
        break;
      case action::hand_on:
        state_.relay.hand_on(chunk, decision.clock, out);
        break;
      case action::settle:
        state_.relay.settle(chunk, decision.clock, base, out);
        break;
      case action::ask:
        out.list.push_back(shard_effects::ask{chunk.slot});
        break;
      case action::answer:
      case action::too_late:
        answer(chunk, decision, base, out);
        answered = true;
        break;
    }
  }
  decisions_.clear();
  // Under bsp also between two versions: see apply.
  state_.snapshots.take_if_due(chunk, out);
}

void step_executor::answer(chunk_record& chunk, const policy_decision& decision,
                           const frame_tag& base, shard_effects& out) {
  auto code = reply_code::ok;
  if (decision.kind == action::too_late && !chunk.versions.find_kept(decision.clock)) {
    const auto refused = state_.relay.refused_with(chunk.slot);
    code = refused == reply_code::ok ? reply_code::too_late : refused;
  }
  const auto tag = state_.registry.tag_of(chunk, decision.rank, decision.clock, base);
  state_.pulls.answer(chunk, tag, code, out);
}

void step_executor::apply(chunk_record& chunk, const policy_decision& decision,
                          const frame_tag& base, shard_effects& out) {
  const auto slot = chunk.slot;
  const bool all = decision.kind == action::apply_clock;
  const std::uint32_t begin = all ? 0 : decision.rank;
  const auto end = all ? chunk.ranks() : decision.rank + 1;
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto count = state_.pushes.list_inputs(slot, begin, end, decision.clock, out);
  const auto rate = count > 0 ? out.inputs[first].rate : 1.0F;
  if (count > 0) state_.pushes.plant(chunk, first, decision.clock, out);
  const auto& job = chunk.job();
  const auto contributors = job.membership.contributors(decision.clock);
  const auto squares = state_.norms.of(job, decision.clock);
  TIDEGATE_ASSERT(count == 0 || !job.clips_by_norm || squares, "the norm is known by now");
  make_step(chunk,
            {.clock = decision.clock,
             .first = first,
             .count = count,
             .contributors = contributors,
             .rate = rate,
             .squares = squares},
            out);
  if (state_.replication.follows(slot)) {
    state_.replication.retain(chunk, decision, count, contributors, out);
    for (std::uint32_t rank = begin; job.changes > 0 && rank < end; ++rank)
      if (job.ranks[rank].joined > decision.clock) state_.pushes.orphan(chunk, rank, out);
  } else {
    for (std::uint32_t rank = begin; rank < end; ++rank)
      if (state_.pushes.is_held(slot, rank, decision.clock))
        state_.pushes.settle(chunk, rank, decision.clock, base, reply_code::ok, out);
  }
  if (all) state_.snapshots.take_if_due(chunk, out);
}

void step_executor::make_step(chunk_record& chunk, const step& next, shard_effects& out) {
  auto& versions = chunk.versions;
  const auto from = versions.version_buffer();
  versions.keep_current();
  const auto to = next.count > 0 ? versions.free_version_buffer() : from;
  versions.advance(to);
  if (next.count > 0)
    out.list.push_back(shard_effects::apply{.slot = chunk.slot,
                                            .first = next.first,
                                            .count = next.count,
                                            .from = from,
                                            .to = to,
                                            .contributors = next.contributors,
                                            .keeps_sum = false,
                                            .clock = next.clock,
                                            .rate = next.rate,
                                            .squares = next.squares});
}

}  // namespace tidegate::policies::sharding
