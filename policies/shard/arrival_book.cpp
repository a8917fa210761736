#include "policies/shard/arrival_book.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::policies::sharding {

// The first push of a clock of a rank: clocks before it may be closed by that.
void arrival_book::begin(std::uint32_t rank, std::uint64_t clock,
                         std::span<const rank_record> ranks) {
  if (!std::exchange(has_begun_, true)) first_open_ = clock;
  next_[rank] = clock + 1;
  while (first_open_ < clock &&
         (clock - first_open_ >= clocks_kept || is_closed(first_open_, ranks)))
    close(first_open_++);
}

bool arrival_book::is_closed(std::uint64_t clock, std::span<const rank_record> ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& of = ranks[rank];
    if (of.member && !of.finished && of.joined <= clock && next_[rank] <= clock + 1)
      return false;
  }
  return true;
}

void arrival_book::close(std::uint64_t clock) {
  auto* const times = &times_[place(0, clock)];
  std::int64_t last = 0;
  std::int64_t before = 0;  // the last but one
  std::size_t by = 0;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < next_.size(); ++rank) {
    if (times[rank] == 0) continue;
    ++count;
    if (times[rank] >= last) {
      before = std::exchange(last, times[rank]);
      by = rank;
    } else {
      before = std::max(before, times[rank]);
    }
  }
  if (count > 0) ++sums_.clocks;
  for (std::size_t rank = 0; rank < next_.size(); ++rank) {
    if (std::exchange(times[rank], 0) == 0) continue;
    ++sums_.ranks[rank].clocks;
  }
  if (count < 2) return;  // nobody was waited for
  const auto late = static_cast<std::uint64_t>(last - before);
  ++sums_.ranks[by].last;
  sums_.ranks[by].late_ns += late;
  if (late > sums_.latest.late_ns)
    sums_.latest = {.clock = clock, .rank = static_cast<std::uint32_t>(by), .late_ns = late};
}

job_arrivals arrival_book::take(std::uint64_t token) {
  job_arrivals fresh{.ranks = std::vector<rank_arrivals>(next_.size())};
  std::swap(fresh, sums_);
  fresh.token = token;
  return fresh;
}

void arrival_books::find(const job_record& job) {
  last_token_ = job.token;
  last_ = &books_.try_emplace(job.token, job.ranks.size()).first->second;
}

void arrival_books::forget(std::uint64_t token) {
  books_.erase(token);
  last_ = nullptr;
}

std::vector<job_arrivals> arrival_books::take() {
  std::vector<job_arrivals> all;
  for (auto& [token, book] : books_)
    if (!book.is_empty()) all.push_back(book.take(token));
  return all;
}

}  // namespace tidegate::policies::sharding
