#include "policies/shard/core.hpp"

namespace tidegate::policies {

void shard_core::push(const frame_tag& tag, payload_handle payload, shard_effects& out,
                      bool pulls) {
  const auto begin = out.list.size();
  state_->pushes.push(tag, payload, out);
  if (pulls) {
    auto next = tag;
    ++next.clock;
    state_->pulls.pull(next, false, out);
  }
  state_->replies.flush(out);
  state_->replies.join(begin, out);
}

void shard_core::pull(const frame_tag& tag, bool everything, shard_effects& out) {
  state_->pulls.pull(tag, everything, out);
  state_->replies.flush(out);
}

void shard_core::ring(const frame_tag& tag, const ring_request& request,
                      std::span<const payload_handle> payloads, shard_effects& out) {
  auto whole = tag;
  whole.chunk = whole_table;
  const bool ends_clock = request.push || request.skip;
  if (const auto code = registry().check_table(tag); code != refusal::none) {
    for (auto payload : payloads) out.list.push_back(shard_effects::release{payload});
    if (ends_clock) out.list.push_back(shard_effects::ring_acknowledge{whole, 0, code});
    whole.clock += ends_clock ? 1 : 0;
    if (request.pull) out.list.push_back(shard_effects::ring_reply{whole, 0, code, {}, false});
    return;
  }
  if (ends_clock) {
    state_->pushes.push_table(whole, payloads, out);
    ++whole.clock;
  }
  if (request.pull) state_->pulls.pull_table(whole, request.everything, out);
  state_->replies.flush(out);
}

}  // namespace tidegate::policies
