// The shard core of an aggregator: sums go upstream, parameters come from there.
#include <algorithm>
#include <utility>

#include "policies/shard/core.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

void shard_core::open_relay(std::uint64_t token, const job_options& options,
                            std::size_t parts) {
  TIDEGATE_ASSERT(!options.members.empty() && parts >= 1, "an aggregator sums somebody");
  open_job(token, options);
  jobs_.at(token).relay_parts = parts;
}

void shard_core::hand_on(std::uint32_t slot, std::uint64_t clock, shard_effects& out) {
  const auto& chunk = chunks_[slot];
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto end = static_cast<std::uint32_t>(chunk.workers.size());
  const auto count = list_inputs(chunk, 0, end, clock, out);
  out.list.push_back(shard_effects::hand_on{slot, first, count, clock});
}

void shard_core::settle_clock(chunk_state& chunk, std::uint64_t clock, const frame_tag& base,
                              shard_effects& out) {
  const auto code = std::exchange(chunk.codes[clock % window], refusal::none);
  for (std::uint32_t rank = 0; rank < chunk.workers.size(); ++rank)
    if (is_held(chunk, rank, clock)) settle(chunk, rank, clock, base, code, out);
}

frame_tag shard_core::base_of(const chunk_state& chunk) const {
  frame_tag base;
  base.job = chunk.home->token;
  base.epoch = chunk.home->job->epoch;
  return base;
}

void shard_core::handed_on(std::uint32_t slot, std::uint64_t clock, refusal code,
                           bool answer_follows, shard_effects& out) {
  auto& chunk = chunks_[slot];
  if (!chunk.relay->handed_on(clock, decisions_)) return;
  if (chunk.home->job->closed) return let_go(chunk, out);
  chunk.codes[clock % window] = code;
  carry_out(slot, base_of(chunk), out);
  if (!answer_follows) flush_runs(out);
}

// Members have been told that the job has ended; what was kept for the sum goes.
void shard_core::let_go(chunk_state& chunk, shard_effects& out) {
  for (const auto& decision : std::exchange(decisions_, {})) {
    if (decision.kind != policy_decision::action::settle) continue;
    for (auto& worker : chunk.workers) {
      auto& held = worker.held[decision.clock % window];
      if (!held.there || held.clock != decision.clock) continue;
      if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
      held = {};
      --held_;
    }
  }
}

const pull_request* shard_core::asked(std::uint32_t slot) const {
  const auto* relay = chunks_[slot].relay;
  return relay->asking() ? &relay->asked() : nullptr;
}

std::uint32_t shard_core::begin_pulled(std::uint32_t slot) {
  auto& chunk = chunks_[slot];
  TIDEGATE_ASSERT(chunk.filling == none_open, "one pull upstream at a time");
  // Under ssp and async the version that is here may be asked for meanwhile.
  const bool keeps = !chunk.relay->overwrites();
  if (keeps) ++chunk.readers[chunk.plane];
  chunk.filling = free_plane(chunk);
  if (keeps) --chunk.readers[chunk.plane];
  ++chunk.readers[chunk.filling];
  return chunk.filling;
}

void shard_core::cancel_pulled(std::uint32_t slot) {
  auto& chunk = chunks_[slot];
  if (chunk.filling != none_open) --chunk.readers[std::exchange(chunk.filling, none_open)];
}

void shard_core::pulled(std::uint32_t slot, refusal code, std::uint64_t version,
                        std::uint64_t min_clock, shard_effects& out) {
  auto& chunk = chunks_[slot];
  TIDEGATE_ASSERT((code == refusal::none) == (chunk.filling != none_open),
                  "parameters have a plane");
  const auto plane = chunk.filling;
  cancel_pulled(slot);
  if (chunk.home->job->closed) return;
  if (code == refusal::none) {
    if (std::exchange(chunk.received, true) && chunk.home->job->keeps > 0 &&
        version != chunk.version)
      keep(chunk, chunk.plane, chunk.version);
    chunk.plane = plane;
    chunk.version = version;
    chunk.refused = refusal::none;
    chunk.relay->pulled({version, min_clock}, decisions_);
  } else {
    chunk.refused = code;
    chunk.relay->pull_refused(decisions_);
  }
  carry_out(slot, base_of(chunk), out);
  flush_runs(out);
}

bool shard_core::all_finished(std::uint64_t token) const {
  const auto job = jobs_.find(token);
  return job != jobs_.end() &&
         std::all_of(
             job->second.workers.begin(), job->second.workers.end(),
             [](const worker_state& worker) { return worker.finished || !worker.member; });
}

}  // namespace tidegate::policies
