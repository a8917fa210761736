// By how much each worker of a job comes last, of what its shards tell, or its aggregators. Who
// is late for a shard's sake is not late at another: so of each round, in which all have told,
// the least counts. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/arrivals.hpp"

namespace tidegate::policies::coordination {

class late_book {
 public:
  // A shard tells what has closed since it told last. `sees`: the rank is a worker's.
  template <class Sees>
  void tell(std::size_t teller, std::span<const rank_arrivals> ranks, const Sees& sees) {
    if (teller >= tellers_.size()) tellers_.resize(teller + 1);
    auto& of = tellers_[teller];
    of.late_ns.resize(std::max(of.late_ns.size(), ranks.size()));
    of.waits.resize(of.late_ns.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      if (sees(rank)) {
        of.late_ns[rank] += ranks[rank].late_ns;
        of.waited_ns += ranks[rank].late_ns;
      }
    ++of.told;
    of.takes_part = true;
    end_round();
  }
  // In nanoseconds, in sum. Grows.
  std::uint64_t least_late_ns(std::size_t rank) const {
    return rank < least_.size() ? least_[rank] : 0;
  }
  // By how much all together came last there.
  std::uint64_t waited_ns(std::size_t teller) const {
    return teller < tellers_.size() ? tellers_[teller].waited_ns : 0;
  }

 private:
  // Whoever says nothing while another tells so often has nothing to tell: a shard whose chunks
  // have moved.
  static constexpr std::uint32_t reports_max = 8;

  struct teller_state {
    bool takes_part = false;
    std::uint32_t told = 0;              // in this round
    std::vector<std::uint64_t> late_ns;  // likewise, by rank
    std::vector<std::uint64_t> waits;    // of the round before
    std::uint64_t waited_ns = 0;
  };
  void end_round();
  void count(std::size_t rank);

  std::vector<teller_state> tellers_;
  std::vector<std::uint64_t> least_;  // by rank, of the rounds that have ended
};

}  // namespace tidegate::policies::coordination
