#include "policies/shard/ack_merger.hpp"

#include <algorithm>
#include <tuple>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/ingress_state.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_kind;

namespace {

auto push_of(const ack_merger::acknowledge& ack) {
  return std::tie(ack.tag.job, ack.tag.rank, ack.tag.incarnation, ack.tag.epoch, ack.tag.clock);
}

bool comes_before(const ack_merger::acknowledge& ack, const ack_merger::acknowledge& other) {
  if (push_of(ack) != push_of(other)) return push_of(ack) < push_of(other);
  return std::tie(ack.tag.table, ack.tag.chunk, ack.count, ack.code) <
         std::tie(other.tag.table, other.tag.chunk, other.count, other.code);
}

}  // namespace

void ack_merger::add(const acknowledge& ack) {
  const auto* worker = state_.links.find(ack.tag.job, ack.tag.rank);
  if (ack.code != reply_code::ok || !worker || worker->attached.size() < 2) return send(ack);
  acks_.push_back(ack);
  if (acks_.size() == 1) state_.shell.post_acks_soon();
}

// The order costs less than looking for every table among the answers: there may be thousands.
void ack_merger::post() {
  std::sort(acks_.begin(), acks_.end(), &comes_before);
  for (auto first = acks_.begin(); first != acks_.end();) {
    const auto last = std::find_if(first, acks_.end(), [&](const auto& other) {
      return push_of(other) != push_of(*first);
    });
    send(std::span<const acknowledge>(first, last));
    first = last;
  }
  acks_.clear();
}

void ack_merger::send(std::span<const acknowledge> of_push) {
  auto first = of_push.front();
  const auto* worker = state_.links.find(first.tag.job, first.tag.rank);
  if (!worker || !covers(of_push, worker->attached)) {
    for (const auto& ack : of_push) send(ack);
    return;
  }
  TIDEGATE_RARE("front: all tables are acknowledged at once");
  first.tag.table = runtime::whole_job;
  first.tag.chunk = whole_table;
  first.count = 0;
  send(first);
}

void ack_merger::send(const acknowledge& ack) {
  auto header = header_of(frame_kind::doorbell_ack, ack.tag, ack.code);
  header.count = ack.count;
  state_.links.send(ack.tag, header);
}

// Returns true if whole tables are acknowledged, all of these. A whole table is told once: the
// answers to copies of a doorbell are the same. Both are in the order of tables.
bool ack_merger::covers(std::span<const acknowledge> of_push,
                        const std::set<std::uint32_t>& tables) const {
  auto at = of_push.begin();
  for (const auto table : tables) {
    const auto is_whole = [&](const acknowledge& ack) {
      return ack.tag.table == table && ack.tag.chunk == 0 &&
             ack.count == state_.core.registry().slots_of(table).size();
    };
    while (at != of_push.end() && at->tag.table <= table && !is_whole(*at)) ++at;
    if (at == of_push.end() || at->tag.table != table) return false;
  }
  return true;
}

}  // namespace tidegate::policies::sharding
