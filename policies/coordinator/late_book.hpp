// By how much each worker of a job comes last, of what its shards tell. Who is late for a
// shard's sake is not late at another: so of each clock, or span of clocks, of which all have
// told, the least counts. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "policies/model/arrivals.hpp"

namespace tidegate::policies::coordination {

class late_book {
 public:
  // A shard tells what has closed since it told last.
  void tell(std::size_t teller, const job_arrivals& closed);
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
  static constexpr std::uint32_t reports_max = 4;

  struct teller_state {
    bool takes_part = false;
    std::uint32_t told = 0;  // since another has, that takes part and had not
    std::uint64_t closed_below = 0;
    struct reported_span {
      std::uint64_t closed_below = 0;
      std::uint32_t span_log2 = 0;
    };
    std::deque<reported_span> spans;   // of reports that do not count whole yet
    std::vector<latest_arrival> late;  // likewise, ascending in spans
    std::uint64_t waited_ns = 0;
  };
  void leave_out_silent();
  void count();

  std::vector<teller_state> tellers_;
  std::vector<std::uint64_t> least_;  // by rank
};

}  // namespace tidegate::policies::coordination
