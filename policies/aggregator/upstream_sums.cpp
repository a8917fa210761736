#include "policies/aggregator/upstream_sums.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/buggify.hpp"

namespace tidegate::policies {

void upstream_sums::add_chunks(std::size_t chunks, std::size_t nodes) {
  nodes_ = nodes;
  sums_.resize(chunks * window);
  parts_.resize(chunks * window * nodes);
}

void upstream_sums::begin(std::uint32_t slot, std::uint64_t clock) {
  sums_[place_of(slot, clock)] = {.clock = clock,
                                  .remaining = static_cast<std::uint32_t>(nodes_),
                                  .code = reply_code::ok,
                                  .retransmit = {}};
}

void upstream_sums::set_part(std::uint32_t slot, std::uint64_t clock, std::size_t node,
                             const part& sent) {
  parts_[place_of(slot, clock) * nodes_ + node] = {false, sent};
}

std::optional<reply_code> upstream_sums::acknowledge(std::uint32_t slot, std::uint64_t clock,
                                                     std::size_t node, reply_code code) {
  const auto place = place_of(slot, clock);
  auto& sum = sums_[place];
  if (sum.remaining == 0 || sum.clock != clock) return {};
  if (std::exchange(parts_[place * nodes_ + node].acknowledged, true)) return {};
  if (sum.code == reply_code::ok) sum.code = code;
  if (--sum.remaining > 0) return {};
  return sum.code;
}

const upstream_sums::part* upstream_sums::find_missing(std::uint32_t slot, std::uint64_t clock,
                                                       std::size_t node) const {
  const auto& sent = parts_[place_of(slot, clock) * nodes_ + node];
  return sent.acknowledged ? nullptr : &sent.content;
}

std::optional<std::uint64_t> upstream_sums::oldest(std::uint32_t slot,
                                                   std::uint64_t from) const {
  std::optional<std::uint64_t> found;
  for (std::size_t place = 0; place < window; ++place) {
    const auto& sum = sums_[place_of(slot, place)];
    if (sum.remaining > 0 && sum.clock >= from && (!found || sum.clock < *found))
      found = sum.clock;
  }
  return found;
}

std::optional<std::uint64_t> upstream_sums::take_due(std::uint32_t slot, std::size_t place,
                                                     std::int64_t now,
                                                     const retransmit_limits& limits) {
  auto& sum = sums_[place_of(slot, place)];
  if (sum.remaining == 0) return {};
  const bool early = TIDEGATE_BUGGIFY("aggregator: a sum is sent again early");
  if (!sum.retransmit.is_due(now, limits) && !early) return {};
  return sum.clock;
}

bool upstream_sums::is_busy() const {
  return std::ranges::any_of(sums_, [](const sum_under_way& sum) { return sum.remaining > 0; });
}

}  // namespace tidegate::policies
