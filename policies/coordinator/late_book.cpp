#include "policies/coordinator/late_book.hpp"

#include <algorithm>
#include <limits>

namespace tidegate::policies::coordination {

void late_book::end_round() {
  const bool is_overdue = std::ranges::any_of(
      tellers_, [](const teller_state& of) { return of.told >= reports_max; });
  for (auto& of : tellers_)
    if (is_overdue && of.told == 0) of.takes_part = false;
  if (std::ranges::any_of(tellers_,
                          [](const teller_state& of) { return of.takes_part && of.told == 0; }))
    return;
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> round;
  for (auto& of : tellers_) {
    if (!of.takes_part) continue;
    if (round.size() < of.late_ns.size()) round.resize(of.late_ns.size(), none);
    for (std::size_t rank = 0; rank < of.late_ns.size(); ++rank)
      round[rank] = std::min(round[rank], of.late_ns[rank]);
    std::ranges::fill(of.late_ns, 0);
    of.told = 0;
  }
  if (least_.size() < round.size()) least_.resize(round.size());
  for (std::size_t rank = 0; rank < round.size(); ++rank)
    if (round[rank] != none) least_[rank] += round[rank];
}

}  // namespace tidegate::policies::coordination
