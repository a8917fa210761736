#include "policies/coordinator/late_book.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tidegate::policies::coordination {

void late_book::tell(std::size_t teller, const job_arrivals& closed) {
  if (teller >= tellers_.size()) tellers_.resize(teller + 1);
  auto& of = tellers_[teller];
  of.takes_part = true;
  ++of.told;
  of.closed_below = closed.closed_below;
  of.spans.push_back({.closed_below = closed.closed_below, .span_log2 = closed.span_log2});
  for (const auto& late : closed.late) {
    if (late.rank >= closed.ranks.size()) continue;
    of.late.push_back(late);
    of.waited_ns += late.late_ns;
  }
  leave_out_silent();
  count();
}

void late_book::leave_out_silent() {
  if (std::ranges::any_of(tellers_, [](const auto& of) { return of.told >= reports_max; }))
    for (auto& of : tellers_)
      if (of.told == 0) of = {.waited_ns = of.waited_ns};
  const bool all_told = std::ranges::all_of(
      tellers_, [](const auto& of) { return !of.takes_part || of.told > 0; });
  if (all_told)
    for (auto& of : tellers_) of.told = 0;
}

// What all have told of, in the widest of their spans.
void late_book::count() {
  auto below = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t span_log2 = 0;
  for (const auto& of : tellers_) {
    if (!of.takes_part) continue;
    below = std::min(below, of.closed_below);
    for (const auto& reported : of.spans) span_log2 = std::max(span_log2, reported.span_log2);
  }
  below = below >> span_log2 << span_log2;
  using sums = std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t>;
  sums least;
  bool is_first = true;
  for (auto& of : tellers_) {
    if (!of.takes_part) continue;
    const auto end = std::ranges::find_if(
        of.late, [&](const latest_arrival& late) { return late.clock >= below; });
    sums own;
    for (auto at = of.late.begin(); at != end; ++at)
      own[{at->clock >> span_log2, at->rank}] += at->late_ns;
    of.late.erase(of.late.begin(), end);
    while (!of.spans.empty() && of.spans.front().closed_below <= below) of.spans.pop_front();
    if (std::exchange(is_first, false)) {
      least = std::move(own);
      continue;
    }
    for (auto& [key, late_ns] : least) {
      const auto found = own.find(key);
      late_ns = std::min(late_ns, found == own.end() ? 0 : found->second);
    }
  }
  for (const auto& [key, late_ns] : least) {
    if (least_.size() <= key.second) least_.resize(key.second + 1);
    least_[key.second] += late_ns;
  }
}

}  // namespace tidegate::policies::coordination
