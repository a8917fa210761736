// Notes when the pushes of a job come in, and says of each clock who came last. Constant
// memory: so many clocks of each rank. Pure; allocates when it is made and in take(), not in
// between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/model/arrivals.hpp"
#include "policies/shard/late_spans.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

class arrival_book {
 public:
  explicit arrival_book(std::size_t ranks)
      : times_(ranks * clocks_kept),
        next_(ranks),
        late_(ranks),
        sums_{.ranks = std::vector<rank_arrivals>(ranks)} {}

  // A push of a chunk has come. `ranks`: of the job, as it is now.
  void arrived(std::uint32_t rank, std::uint64_t clock, std::int64_t now,
               std::span<const rank_record> ranks) {
    if (clock < first_open_) return;  // closed without it
    if (clock >= next_[rank]) begin(rank, clock, ranks);
    times_[place(rank, clock)] = now;
  }
  // Returns what has closed since the last call.
  job_arrivals take(std::uint64_t token);
  bool is_empty() const noexcept { return sums_.clocks == 0; }

  // Of a worker that is further ahead of the others the clocks between close without them.
  static constexpr std::uint64_t clocks_kept = 64;

 private:
  std::size_t place(std::uint32_t rank, std::uint64_t clock) const noexcept {
    return clock % clocks_kept * next_.size() + rank;
  }
  void begin(std::uint32_t rank, std::uint64_t clock, std::span<const rank_record> ranks);
  bool is_closed(std::uint64_t clock, std::span<const rank_record> ranks) const;
  void close(std::uint64_t clock);

  std::vector<std::int64_t> times_;  // of the last push, by clock and rank; 0: none
  std::vector<std::uint64_t> next_;  // the clock after the furthest, by rank
  // Workers begin one after another: in the first clock nobody comes last.
  std::uint64_t first_ = 0;
  std::uint64_t first_open_ = 0;
  bool has_begun_ = false;
  late_spans late_;
  job_arrivals sums_;
};

// The books of all jobs of a shard or aggregator.
class arrival_books {
 public:
  // What arrives comes at this time from now on; nothing is noted before.
  void set_time(std::int64_t now) noexcept { now_ = now; }
  void arrived(const job_record& job, std::uint32_t rank, std::uint64_t clock) {
    if (now_ == 0) return;
    if (last_ == nullptr || last_token_ != job.token) find(job);
    last_->arrived(rank, clock, now_, job.ranks);
  }
  void forget(std::uint64_t token);
  // Returns what has closed since the last call, of jobs of which anything has.
  std::vector<job_arrivals> take();

 private:
  void find(const job_record& job);

  std::map<std::uint64_t, arrival_book> books_;  // by token
  std::uint64_t last_token_ = 0;
  arrival_book* last_ = nullptr;
  std::int64_t now_ = 0;
};

}  // namespace tidegate::policies::sharding
