#include "policies/shard/arrival_book.hpp"

#include <utility>

#include "policies/model/last_comer.hpp"

namespace tidegate::policies::sharding {

// The first push of a clock of a rank: clocks before it may be closed by that.
void arrival_book::begin(std::uint32_t rank, std::uint64_t clock,
                         std::span<const rank_record> ranks) {
  if (!std::exchange(has_begun_, true)) first_ = first_open_ = clock;
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
  const auto last = close_clock(std::span(times_).subspan(place(0, clock), next_.size()),
                                sums_.ranks, clock != first_);
  if (last.count > 0) ++sums_.clocks;
  const latest_arrival late{
      .clock = clock, .rank = static_cast<std::uint32_t>(last.index), .late_ns = last.late_ns};
  late_.add(late);
  if (late.late_ns > sums_.latest.late_ns) sums_.latest = late;
}

job_arrivals arrival_book::take(std::uint64_t token) {
  job_arrivals fresh{.ranks = std::vector<rank_arrivals>(next_.size())};
  std::swap(fresh, sums_);
  fresh.token = token;
  fresh.closed_below = first_open_;
  late_.take(fresh);
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
