#include "policies/shard/step_receiver.hpp"

#include <algorithm>
#include <utility>

#include "policies/shard/chain_state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_header;
using runtime::frame_kind;

namespace {

std::optional<double> squares_of(const frame_header& header) {
  if ((header.flags & runtime::frame_flag_squares) == 0) return {};
  return header.squares;
}

}  // namespace

// What has not been answered is handed over again.
void step_receiver::follow(std::uint32_t view, peer_id primary) {
  TIDEGATE_ASSERT(!is_over(view), "views rise");
  state_.carry_out_all();
  view_ = view;
  followed_.clear();
  owed_.clear();
  state_.shard.follower().follow_another();
  primary_ = primary;
  state_.links.forget(neighbour::primary);
  followed_since_ = view;
  follows_ = true;
}

bool step_receiver::promote(std::uint32_t view, std::uint64_t epoch) {
  if (!follows_ && view_ >= view) return false;
  view_ = view;
  follows_ = false;
  state_.links.forget(neighbour::primary);
  owed_.clear();
  for (const auto job : state_.shard.registry().open_jobs()) {
    state_.ingress.about_job(
        job, [&](auto& out) { state_.shard.follower().promote(job, epoch, out); });
    state_.ingress.promoted(job);
  }
  return true;
}

void step_receiver::followed(const shard_effects::followed& followed) {
  if (!follows_) return;
  followed_.push_back(followed);
  state_.shell.post_soon();
}

// Chunks that lie side by side and have made the same step share an answer.
void step_receiver::post() {
  for (std::size_t begin = 0, end = 0; begin < followed_.size(); begin = end) {
    for (end = begin + 1; end < followed_.size(); ++end)
      if (!state_.are_adjacent(followed_[end - 1], followed_[end])) break;
    auto header = state_.header_for(frame_kind::followed, view_, followed_[begin].slot);
    header.chunk = state_.shard.registry().index_of(followed_[begin].slot);
    header.count = static_cast<std::uint32_t>(end - begin);
    header.version = followed_[begin].version;
    if (follows_) state_.shell.send_plain(*primary_, header);
  }
  followed_.clear();
}

void step_receiver::table_opened() {
  if (!follows_ || !std::exchange(lacks_table_, false)) return;
  TIDEGATE_RARE("shard: a replica asks for what came before its table");
  state_.links.send_resend(neighbour::primary, frame_kind::resend, 0);
}

followed_step step_receiver::step_of(const frame_header& header) {
  return {.job = header.job,
          .table = header.table,
          .chunk = header.chunk,
          .version = header.version,
          .rank = header.worker,
          .clock = header.clock,
          .contributors =
              static_cast<std::uint32_t>(std::min<std::uint64_t>(header.request, all_ranks)),
          .rate = header.rate,
          .squares = squares_of(header)};
}

// Also to one that was the primary before and may not know. What comes from the one before that
// one, which is out, is not for its ears.
void step_receiver::answer(const frame_header& header, reply_code code) {
  auto reply = header;
  reply.kind = frame_kind::followed;
  reply.flags = 0;
  reply.payload_bytes = 0;
  reply.code = static_cast<std::uint32_t>(code);
  if (primary_ && header.epoch >= followed_since_) state_.shell.send_plain(*primary_, reply);
}

bool step_receiver::place(const frame_header& header) {
  if (!follows_in(header.epoch)) {
    answer(header, reply_code::stale_epoch);
    return false;
  }
  if (header.kind == frame_kind::lend) return true;
  auto& follower = state_.shard.follower();
  const bool seeds = header.kind == frame_kind::seed;
  const auto judged = seeds ? follower.begin_seed(step_of(header))
                            : follower.begin_step(step_of(header), header.payload_bytes);
  if (judged.kind == push_admission::verdict::refuse) answer(header, judged.code);
  lacks_table_ = lacks_table_ || is_not_told(judged.code);
  return judged.kind == push_admission::verdict::take;
}

void step_receiver::frame_lost(const frame_header& header) {
  // One of a view that is over has no place any more.
  if (header.kind == frame_kind::lend || !follows_in(header.epoch)) return;
  state_.shard.follower().cancel(step_of(header));
  // The primary may believe that it is here.
  state_.links.send_resend(neighbour::primary, frame_kind::resend, 0);
}

void step_receiver::frame(const frame_header& header, payload_handle payload) {
  if (!follows_in(header.epoch)) {
    if (payload != no_payload) state_.shell.release_payload(payload);
    return answer(header, reply_code::stale_epoch);
  }
  if (header.kind == frame_kind::farewell) return on_farewell(header);
  if (header.kind == frame_kind::lend) return on_lend(header, payload);
  if (header.kind == frame_kind::steps) return on_steps(header);
  if (header.kind == frame_kind::step) return on_step(header, payload);
  on_seed(header, payload);
}

void step_receiver::on_step(const frame_header& header, payload_handle payload) {
  auto& out = state_.ingress.pending(header.job, header.table);
  state_.shard.follower().follow(step_of(header), payload, out);
  state_.ingress.carry_out();
}

void step_receiver::on_seed(const frame_header& header, payload_handle payload) {
  auto& out = state_.ingress.pending(header.job, header.table);
  const auto slot = state_.shard.registry().find_slot(header.job, header.table, header.chunk);
  TIDEGATE_ASSERT(slot.has_value(), "place() has found the chunk");
  auto taken = state_.shell.take_seed(*slot, payload);
  if (!taken) {
    state_.shard.follower().cancel(step_of(header));
    return answer(header, reply_code::wrong_size);
  }
  if (const auto squares = squares_of(header))
    taken->norm = {.clock = header.clock, .squares = *squares};
  state_.shard.follower().follow_seed(step_of(header), *taken, out);
  state_.ingress.carry_out();
}

// Steps whose sums are read where the primary keeps them.
void step_receiver::on_steps(const frame_header& header) {
  const bool skips = (header.flags & runtime::frame_flag_skip) != 0;
  auto& follower = state_.shard.follower();
  auto& out = state_.ingress.pending(header.job, header.table);
  for (const auto slot : state_.run_of(header)) {
    auto step = step_of(header);
    step.chunk = state_.shard.registry().name_of(slot).chunk;
    const auto judged = follower.begin_step(step, state_.shell.chunk_bytes(slot));
    if (judged.kind == push_admission::verdict::refuse && judged.code == reply_code::ok)
      out.list.push_back(shard_effects::followed{slot, step.version});
    if (judged.kind != push_admission::verdict::take) continue;
    const auto sum =
        skips ? no_payload : state_.shell.sum_in_place(slot, header.version_buffer);
    if (skips || sum != no_payload)
      follower.follow(step, sum, out);
    else
      follower.cancel(step);  // nobody has lent that
  }
  state_.ingress.carry_out();
}

void step_receiver::on_lend(const frame_header& header, payload_handle place) {
  const bool mapped = state_.shell.map_sums(header, place);
  auto reply = header;
  reply.kind = frame_kind::lent;
  reply.payload_bytes = 0;
  reply.code = static_cast<std::uint32_t>(mapped ? reply_code::ok : reply_code::no_window);
  state_.shell.send_plain(*primary_, reply);
}

void step_receiver::on_farewell(const frame_header& header) {
  state_.shard.follower().follow_farewell(header.job, header.worker, header.clock);
  const farewell_name name{.job = header.job, .rank = header.worker, .since = header.clock};
  if (!state_.feeder.leads()) return answer_farewell(name);
  owed_.insert(name);
  state_.feeder.send_farewell(name);
}

void step_receiver::farewell_arrived(const farewell_name& name) {
  if (owed_.erase(name) > 0) answer_farewell(name);
}

void step_receiver::answer_owed() {
  for (const auto& name : std::exchange(owed_, {})) answer_farewell(name);
}

void step_receiver::answer_farewell(const farewell_name& name) {
  frame_header header;
  header.job = name.job;
  header.epoch = view_;
  header.worker = name.rank;
  header.clock = name.since;
  header.chunk = runtime::whole_job;
  answer(header, reply_code::ok);
}

}  // namespace tidegate::policies::sharding
