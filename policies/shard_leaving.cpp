// A rank that leaves its job for good, which the others go on without.
#include <algorithm>

#include "policies/shard_core.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void shard_core::shut_out(std::uint64_t token, std::uint32_t rank) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || rank >= job->second.workers.size()) return;
  job->second.workers[rank].shut_out = true;
  forget_process(job->second, rank);
}

std::uint64_t shard_core::pushed_below(std::uint64_t token, std::uint32_t rank) const {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || rank >= job->second.workers.size()) return 0;
  std::uint64_t first = 0;
  for (const auto slot : job->second.slots)
    first = std::max(first, chunks_[slot].workers[rank].next);
  return first;
}

void shard_core::has_left(std::uint64_t token, std::uint32_t rank, std::uint64_t clock,
                          bool pushes_here, shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || rank >= at->second.workers.size()) return;
  auto& job = at->second;
  if (!is_planted(planted_bug::mean_over_those_who_left)) job.who.leave(rank, clock);
  if (!pushes_here || job.workers[rank].finished) return;
  // What came before what it waits for goes: nobody sends that any more.
  for (const auto slot : job.slots) {
    auto& worker = chunks_[slot].workers[rank];
    for (auto& held : worker.held) {
      if (!held.there || held.clock < worker.next) continue;
      TIDEGATE_RARE("shard: a push of a worker that left has a gap before it");
      if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
      held = {};
      --held_;
    }
  }
  const bool follows = job.epoch == 0;  // a replica makes the steps that it is told
  if (follows)
    job.workers[rank].finished = true;
  else
    has_finished(token, rank, out);
}

}  // namespace tidegate::policies
