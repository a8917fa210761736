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

void shard_core::pull(const frame_tag& tag, bool is_final, shard_effects& out) {
  state_->pulls.pull(tag, is_final, out);
  state_->replies.flush(out);
}

void shard_core::call(const frame_tag& tag, payload_handle payload, bool is_final,
                      shard_effects& out) {
  state_->pulls.call(tag, payload, is_final, out);
  state_->replies.flush(out);
}

void shard_core::doorbell(const frame_tag& tag, const doorbell_request& request,
                          std::span<const payload_handle> payloads, shard_effects& out) {
  auto whole = tag;
  whole.chunk = whole_table;
  const bool ends_clock = request.push || request.skip;
  if (const auto code = registry().check_table(tag); code != reply_code::ok) {
    for (auto payload : payloads) out.list.push_back(shard_effects::release{payload});
    if (ends_clock)
      out.list.push_back(
          shard_effects::doorbell_acknowledge{.tag = whole, .count = 0, .code = code});
    whole.clock += ends_clock ? 1 : 0;
    if (request.pull)
      out.list.push_back(shard_effects::doorbell_reply{
          .tag = whole, .count = 0, .code = code, .where = {}, .applied = false});
    return;
  }
  auto run = registry().slots_of(tag.table);
  if (request.count > 0) run = run.subspan(request.first, request.count);
  if (ends_clock) {
    state_->pushes.push_run(whole, run, payloads, out);
    ++whole.clock;
  }
  if (request.pull) state_->pulls.pull_run(whole, run, request.is_final, out);
  state_->replies.flush(out);
}

}  // namespace tidegate::policies
