#include "policies/shard/gradient_norms.hpp"

#include <algorithm>

#include "policies/shard/state.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Chunks are two clocks apart, or more where those who pushed have left; see norm_book.
constexpr std::size_t clocks_max = 16;

}  // namespace

std::optional<double> gradient_norms::of(const job_record& job, std::uint64_t clock) const {
  const auto at = jobs_.find(job.token);
  if (at == jobs_.end()) return {};
  for (const auto& known : at->second)
    if (known.clock == clock) return known.squares;
  return {};
}

std::optional<step_norm> gradient_norms::last_before(const job_record& job,
                                                     std::uint64_t clock) const {
  const auto at = jobs_.find(job.token);
  if (at == jobs_.end()) return {};
  std::optional<step_norm> last;
  for (const auto& known : at->second)
    if (known.clock < clock) last = known;
  return last;
}

// The first one stays: some chunk may have been stepped with it.
void gradient_norms::note(const job_record& job, std::uint64_t clock, double squares) {
  if (!job.clips_by_norm || of(job, clock)) return;
  auto& known = jobs_[job.token];
  known.reserve(clocks_max + 1);
  const auto later = std::find_if(known.begin(), known.end(),
                                  [&](const step_norm& other) { return other.clock > clock; });
  known.insert(later, {.clock = clock, .squares = squares});
  if (known.size() > clocks_max) known.erase(known.begin());
}

void gradient_norms::measure(chunk_record& chunk, std::uint64_t clock, shard_effects& out) {
  const auto& job = chunk.job();
  // Nobody is left to push some clocks before those who join later; other shards may not have
  // closed them.
  const bool is_empty = !state_.pushes.is_any_held(chunk.slot, clock);
  if (is_empty || of(job, clock)) return chunk.clipped->norm_arrived(state_.steps.decisions());
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto count = state_.pushes.list_inputs(chunk.slot, 0, chunk.ranks(), clock, out);
  out.list.push_back(shard_effects::measure{.slot = chunk.slot,
                                            .first = first,
                                            .count = count,
                                            .contributors = job.membership.contributors(clock),
                                            .clock = clock});
}

void gradient_norms::tell(const frame_tag& tag, shard_effects& out) {
  std::uint32_t slot = 0;
  if (state_.registry.find_chunk(tag, slot) != reply_code::ok) return;
  tell(state_.registry.chunk(slot), tag, out);
}

void gradient_norms::tell(const chunk_record& chunk, const frame_tag& tag, shard_effects& out) {
  if (chunk.clipped == nullptr) return;
  if (chunk.clipped->waits_for_norm() && chunk.clipped->next_clock() <= tag.clock)
    return tell_pull(chunk, tag, out);
  if (is_planted(planted_bug::norm_not_told_again)) return;
  if (const auto squares = of(chunk.job(), tag.clock))
    out.list.push_back(shard_effects::tell_norm{.tag = tag, .squares = *squares});
}

void gradient_norms::tell_pull(const chunk_record& chunk, const frame_tag& tag,
                               shard_effects& out) {
  if (chunk.clipped == nullptr || !chunk.clipped->waits_for_norm()) return;
  auto waiting = tag;
  waiting.clock = chunk.clipped->next_clock();
  out.list.push_back(
      shard_effects::tell_norm_part{.tag = waiting, .slot = chunk.slot, .again = true});
}

void gradient_norms::tell_all(const frame_tag& tag, std::uint32_t table, shard_effects& out) {
  if (state_.registry.check_worker(tag) != reply_code::ok) return;
  const auto& job = state_.registry.job(tag.job);
  if (!job.clips_by_norm) return;
  if (const auto squares = of(job, tag.clock)) {
    out.list.push_back(shard_effects::tell_norm{.tag = tag, .squares = *squares});
    return;
  }
  auto named = tag;
  named.table = table;
  for (const auto slot : state_.registry.slots_of(table)) {
    const auto& chunk = state_.registry.chunk(slot);
    // What is past the clock without a sum had nothing to contribute: its sender has left.
    const bool is_empty = chunk.versions.version() > tag.clock;
    if (!is_empty && !chunk.clipped->waits_for_norm(tag.clock)) continue;
    named.chunk = chunk.chunk;
    out.list.push_back(shard_effects::tell_norm_part{
        .tag = named, .slot = slot, .again = false, .is_empty = is_empty});
  }
}

bool gradient_norms::arrived(const frame_tag& tag, double squares) {
  if (state_.registry.check_worker(tag) != reply_code::ok) return false;
  const auto& job = state_.registry.job(tag.job);
  if (!job.clips_by_norm || of(job, tag.clock)) return false;
  const bool is_awaited = std::any_of(job.slots.begin(), job.slots.end(), [&](auto slot) {
    return state_.registry.chunk(slot).clipped->waits_for_norm(tag.clock);
  });
  if (is_awaited) note(job, tag.clock, squares);
  return is_awaited;
}

void gradient_norms::go_on(std::uint32_t table, std::uint64_t clock, shard_effects& out) {
  for (const auto slot : state_.registry.slots_of(table)) {
    auto& chunk = state_.registry.chunk(slot);
    if (!chunk.clipped->waits_for_norm(clock)) continue;
    chunk.clipped->norm_arrived(state_.steps.decisions());
    state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  }
  state_.replies.flush(out);
}

}  // namespace tidegate::policies::sharding
