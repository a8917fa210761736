// Steps whose sums the replica reads where the primary keeps them, and answers for several
// chunks at once.
#include <algorithm>
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/replication_core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

void replication_core::table_opened(std::uint64_t token, std::uint32_t table) {
  lend(token, table);
  // A coordinator that has died may have told the primary of a table before it told us.
  if (!follows_ || !std::exchange(lacks_table_, false)) return;
  TIDEGATE_RARE("shard: a replica asks for what came before its table");
  send_resend(neighbour::primary, frame_kind::resend, 0);
}

void replication_core::lend(std::uint64_t job, std::uint32_t table) {
  if (!replica_ || !shares_ || shard_.registry().slots_of(table).empty()) return;
  lending_[table].job = job;
  send_lend(job, table);
}

void replication_core::send_lend(std::uint64_t job, std::uint32_t table) {
  frame_header header;
  header.kind = frame_kind::lend;
  header.job = job;
  header.epoch = led_view_;
  header.table = table;
  shell_.lend_sums(*replica_, header);
}

void replication_core::on_lend(const frame_header& header, payload_handle place) {
  const bool mapped = shell_.map_sums(header, place);
  auto reply = header;
  reply.kind = frame_kind::lent;
  reply.payload_bytes = 0;
  reply.code = static_cast<std::uint32_t>(mapped ? refusal::none : refusal::no_window);
  shell_.send_plain(*primary_, reply);
}

void replication_core::on_lent(const frame_header& header) {
  if (header.epoch != led_view_ || !replica_ || lending_.erase(header.table) == 0) return;
  if (static_cast<refusal>(header.code) == refusal::none)
    lent_.insert(header.table);
  else
    TIDEGATE_RARE("shard: the replica cannot read the sums in place");
}

// Chunks that lie side by side and make the same step.
void replication_core::post() {
  const auto& chunks = shard_.registry();
  const auto joins = [&](const auto& a, const auto& b) {
    return chunks.name_of(a.slot).table == chunks.name_of(b.slot).table &&
           chunks.index_of(a.slot) + 1 == chunks.index_of(b.slot) && a.version == b.version;
  };
  for (std::size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
    const auto& first = steps_[begin];
    for (end = begin + 1; end < steps_.size(); ++end) {
      const auto& next = steps_[end];
      if (!joins(steps_[end - 1], next) || first.rank != next.rank ||
          first.clock != next.clock || first.skips != next.skips || first.team != next.team)
        break;
    }
    post_steps(first, static_cast<std::uint32_t>(end - begin));
  }
  steps_.clear();
  for (std::size_t begin = 0, end = 0; begin < followed_.size(); begin = end) {
    for (end = begin + 1; end < followed_.size(); ++end)
      if (!joins(followed_[end - 1], followed_[end])) break;
    auto header = header_for(frame_kind::followed, view_, followed_[begin].slot);
    header.chunk = shard_.registry().index_of(followed_[begin].slot);
    header.count = static_cast<std::uint32_t>(end - begin);
    header.version = followed_[begin].version;
    if (follows_) shell_.send_plain(*primary_, header);
  }
  followed_.clear();
}

void replication_core::post_steps(const effects::replicate& first, std::uint32_t count) {
  auto header = header_for(frame_kind::steps, led_view_, first.slot);
  header.chunk = shard_.registry().index_of(first.slot);
  header.count = count;
  header.version = first.version;
  header.worker = first.rank;
  header.clock = first.clock;
  header.request = first.team;
  header.plane =
      static_cast<std::uint16_t>(first.clock % runtime::limits::clocks_in_flight_max);
  if (first.skips) header.flags = runtime::frame_flag_skip;
  shell_.send_plain(*replica_, header);
}

// Empty for what is not ours.
std::span<const std::uint32_t> replication_core::run_of(const frame_header& header) const {
  if (!shard_.registry().has_table(header.job, header.table)) return {};
  const auto slots = shard_.registry().slots_of(header.table);
  if (header.chunk > slots.size() || header.count > slots.size() - header.chunk) return {};
  return slots.subspan(header.chunk, header.count);
}

void replication_core::on_steps(const frame_header& header) {
  const bool skips = (header.flags & runtime::frame_flag_skip) != 0;
  auto& out = front_.pending(header.job, header.table);
  for (const auto slot : run_of(header)) {
    auto step = step_of(header);
    step.chunk = shard_.registry().name_of(slot).chunk;
    const auto judged = shard_.follower().begin_step(step, shell_.chunk_bytes(slot));
    if (judged.kind == push_admission::verdict::refuse && judged.code == refusal::none)
      out.list.push_back(effects::followed{slot, step.version});
    if (judged.kind != push_admission::verdict::take) continue;
    const auto sum = skips ? no_payload : shell_.sum_in_place(slot, header.plane);
    if (skips || sum != no_payload)
      shard_.follower().follow(step, sum, out);
    else
      shard_.follower().cancel(step);  // nobody has lent that
  }
  front_.carry_out();
}

void replication_core::on_followed_run(const frame_header& header) {
  if (header.epoch != led_view_ || !replica_) return;
  auto& out = front_.pending(header.job, header.table);
  bool seeded = false;
  slots_.clear();
  for (const auto slot : run_of(header)) {
    const auto at = under_way_.find(slot);
    if (at == under_way_.end()) continue;
    const bool is_seed = at->second.is_seed;
    const auto version =
        is_seed ? shard_.replication().seed_of(slot).now.version : at->second.step.version;
    if (header.version != version) continue;
    under_way_.erase(at);
    if (!is_seed) {
      slots_.push_back(slot);
      continue;
    }
    --seeding_;
    seeded = true;
    shell_.seed_arrived(slot);
    shard_.replication().seeded(slot, header.version, out);
  }
  shard_.replication().replicated(slots_, header.version, out);
  front_.carry_out();
  if (seeded) seed_more();
}

}  // namespace tidegate::policies
