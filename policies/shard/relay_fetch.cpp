#include "policies/shard/relay_fetch.hpp"

#include <utility>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::sharding {

void relay_fetch::hand_on(const chunk_record& chunk, std::uint64_t clock, shard_effects& out) {
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto count = state_.pushes.list_inputs(chunk.slot, 0, chunk.ranks(), clock, out);
  out.list.push_back(shard_effects::hand_on{
      .slot = chunk.slot, .first = first, .count = count, .clock = clock});
}

void relay_fetch::settle(const chunk_record& chunk, std::uint64_t clock, const frame_tag& base,
                         shard_effects& out) {
  const auto code = std::exchange(chunks_[chunk.slot].codes[clock % window], reply_code::ok);
  for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank)
    if (state_.pushes.is_held(chunk.slot, rank, clock))
      state_.pushes.settle(chunk, rank, clock, base, code, out);
}

void relay_fetch::handed_on(std::uint32_t slot, std::uint64_t clock, reply_code code,
                            bool answer_follows, shard_effects& out) {
  auto& chunk = state_.registry.chunk(slot);
  if (!chunk.relay->handed_on(clock, state_.steps.decisions())) return;
  if (chunk.job().closed) return let_go(chunk, out);
  chunks_[slot].codes[clock % window] = code;
  state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  if (!answer_follows) state_.replies.flush(out);
}

// Members have been told that the job has ended; what was kept for the sum goes.
void relay_fetch::let_go(const chunk_record& chunk, shard_effects& out) {
  for (const auto& decision : std::exchange(state_.steps.decisions(), {})) {
    if (decision.kind != policy_decision::action::settle) continue;
    for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank)
      state_.pushes.discard(chunk.slot, rank, decision.clock, out);
  }
}

const pull_request* relay_fetch::asked(std::uint32_t slot) const {
  const auto* relay = state_.registry.chunk(slot).relay;
  return relay->asking() ? &relay->asked() : nullptr;
}

std::uint32_t relay_fetch::begin_pulled(std::uint32_t slot) {
  auto& chunk = state_.registry.chunk(slot);
  auto& versions = chunk.versions;
  auto& filling = chunks_[slot].filling;
  TIDEGATE_ASSERT(filling == no_version_buffer, "one pull upstream at a time");
  // Under ssp and async the version that is here may be asked for meanwhile.
  const bool keeps = !chunk.relay->overwrites();
  if (keeps) versions.add_reader(versions.version_buffer());
  filling = versions.free_version_buffer();
  if (keeps) versions.remove_reader(versions.version_buffer());
  versions.add_reader(filling);
  return filling;
}

void relay_fetch::cancel_pulled(std::uint32_t slot) {
  const auto version_buffer = std::exchange(chunks_[slot].filling, no_version_buffer);
  if (version_buffer != no_version_buffer)
    state_.registry.chunk(slot).versions.remove_reader(version_buffer);
}

void relay_fetch::pulled(std::uint32_t slot, reply_code code, std::uint64_t version,
                         std::uint64_t min_clock, shard_effects& out) {
  auto& chunk = state_.registry.chunk(slot);
  auto& fetched = chunks_[slot];
  TIDEGATE_ASSERT((code == reply_code::ok) == (fetched.filling != no_version_buffer),
                  "parameters have a plane");
  const auto version_buffer = fetched.filling;
  cancel_pulled(slot);
  if (chunk.job().closed) return;
  if (code == reply_code::ok) {
    if (std::exchange(fetched.received, true) && version != chunk.versions.version())
      chunk.versions.keep_current();
    chunk.versions.replace(version_buffer, version);
    fetched.refused = reply_code::ok;
    chunk.relay->pulled({version, min_clock}, state_.steps.decisions());
  } else {
    fetched.refused = code;
    chunk.relay->pull_refused(state_.steps.decisions());
  }
  state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  state_.replies.flush(out);
}

}  // namespace tidegate::policies::sharding
