// What a shard or aggregator has noted of a clock: when each rank's last gradient came, how
// many bytes, and until when it stepped. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "launch/trace/traced_process.hpp"

namespace tidegate::launch {

using job_clock = std::pair<std::uint64_t, std::uint64_t>;  // the job's token
// Of time, ascending and apart.
using stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;

class shard_arrivals {
 public:
  explicit shard_arrivals(const traced_process& process);

  // The last frame of a rank that brought a gradient of a clock, and what all of these brought.
  struct arrival {
    std::int64_t first_ns = 0;  // when the first of these began
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    // Since when the process had been at work without a pause: the frame may have been there
    // since then, and waited for its turn.
    std::int64_t busy_since_ns = 0;
    std::uint64_t bytes = 0;
  };
  using by_rank = std::map<std::uint32_t, arrival>;

  // Of the shard that the process serves, as far as it has stepped anything; else as its name
  // says.
  std::uint32_t number() const noexcept { return number_; }
  const std::map<job_clock, by_rank>& all() const noexcept { return all_; }
  // Nothing has come: null.
  const by_rank* of(const job_clock& clock) const;
  const arrival* of(const job_clock& clock, std::uint32_t rank) const;
  // Forgets what has come for these jobs.
  void forget(const std::set<std::uint64_t>& jobs);
  // When what was pushed in a clock had been stepped; 0: it is not known.
  std::int64_t stepped_ns(const job_clock& clock) const;
  // For how long of this time a step waited for the replica, or the process was at work.
  std::uint64_t replica_ns(std::int64_t begin_ns, std::int64_t end_ns) const;
  std::uint64_t busy_ns(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  std::uint32_t number_;
  std::map<job_clock, by_rank> all_;
  std::map<job_clock, std::int64_t> stepped_;
  stretches replica_;
  stretches busy_;
};

}  // namespace tidegate::launch
