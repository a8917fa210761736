#include "policies/coordinator/late_book.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tidegate::policies::coordination {

void late_book::end_round() {
  const bool is_overdue = std::ranges::any_of(
      tellers_, [](const teller_state& of) { return of.told >= reports_max; });
  for (auto& of : tellers_)
    if (is_overdue && of.told == 0) of.takes_part = false;
  if (std::ranges::any_of(tellers_,
                          [](const teller_state& of) { return of.takes_part && of.told == 0; }))
    return;
  std::size_t ranks = 0;
  for (const auto& of : tellers_) ranks = std::max(ranks, of.late_ns.size());
  if (least_.size() < ranks) least_.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) count(rank);
  for (auto& of : tellers_) of.told = 0;
}

void late_book::count(std::size_t rank) {
  const auto counts = [rank](const teller_state& of) {
    return of.takes_part && rank < of.late_ns.size();
  };
  std::optional<std::uint64_t> least;
  for (const auto& of : tellers_)
    if (counts(of))
      least = std::min(least.value_or(of.late_ns[rank] + of.waits[rank]),
                       of.late_ns[rank] + of.waits[rank]);
  if (!least) return;
  least_[rank] += *least;
  for (auto& of : tellers_) {
    if (!counts(of)) continue;
    const auto of_this_round = *least - std::min(*least, of.waits[rank]);
    of.waits[rank] = std::exchange(of.late_ns[rank], 0) - of_this_round;
  }
}

}  // namespace tidegate::policies::coordination
