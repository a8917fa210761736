#include "policies/shard/arrival_book.hpp"

#include <gmock/gmock.h>

#include "tests/support/allocations.hpp"

namespace tidegate::policies::sharding {
namespace {

std::vector<rank_record> workers(std::size_t count) {
  return std::vector<rank_record>(count);
}

// Clocks are counted from the second: in the first nobody comes last.
struct book_of {
  explicit book_of(std::size_t count) : ranks(workers(count)), book(count) {
    for (std::uint32_t rank = 0; rank < count; ++rank) book.arrived(rank, 0, 1, ranks);
  }
  void push(std::uint32_t rank, std::uint64_t clock, std::int64_t now) {
    book.arrived(rank, clock + 1, now, ranks);
  }
  job_arrivals take() {
    auto closed = book.take(7);
    if (closed.latest.late_ns > 0) --closed.latest.clock;
    if (closed.clocks == 0 || std::exchange(has_taken, true)) return closed;
    --closed.clocks;
    for (auto& rank : closed.ranks) --rank.clocks;
    return closed;
  }

  bool has_taken = false;

  std::vector<rank_record> ranks;
  arrival_book book;
};

TEST(arrival_book, names_who_came_last_and_by_how_much) {
  book_of of(3);
  of.push(0, 0, 100);
  of.push(2, 0, 250);
  of.push(1, 0, 900);
  EXPECT_EQ(of.take().clocks, 0U);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(of.book.is_empty()) << "somebody may still push chunks of the clock";
    of.push(rank, 1, 1000 + rank);
  }
  const auto closed = of.take();
  EXPECT_EQ(closed.token, 7U);
  EXPECT_EQ(closed.clocks, 1U);
  EXPECT_EQ(closed.latest, (latest_arrival{.clock = 0, .rank = 1, .late_ns = 650}));
  EXPECT_EQ(closed.ranks[0], (rank_arrivals{.clocks = 1}));
  EXPECT_EQ(closed.ranks[1], (rank_arrivals{.clocks = 1, .last = 1, .late_ns = 650}));
  EXPECT_EQ(closed.ranks[2], (rank_arrivals{.clocks = 1}));
  EXPECT_TRUE(of.book.is_empty());
}

TEST(arrival_book, counts_the_last_chunk_of_a_push) {
  book_of of(2);
  of.push(0, 0, 100);
  of.push(1, 0, 200);
  of.push(0, 0, 500);  // another chunk
  of.push(0, 1, 600);
  of.push(1, 1, 600);
  EXPECT_EQ(of.take().latest, (latest_arrival{.clock = 0, .rank = 0, .late_ns = 300}));
}

TEST(arrival_book, sums_over_clocks_and_begins_anew) {
  book_of of(2);
  for (std::uint64_t clock = 0; clock < 10; ++clock) {
    const auto begin = static_cast<std::int64_t>(clock) * 1000 + 1;
    of.push(0, clock, begin);
    of.push(1, clock, begin + (clock < 5 ? 10 : 20));
  }
  const auto closed = of.take();
  EXPECT_EQ(closed.clocks, 9U);
  EXPECT_EQ(closed.ranks[1], (rank_arrivals{.clocks = 9, .last = 9, .late_ns = 130}));
  EXPECT_EQ(closed.ranks[0].last, 0U);
  EXPECT_EQ(closed.latest.clock, 5U) << "the first of those";
  EXPECT_EQ(of.take().clocks, 0U);
}

TEST(arrival_book, a_worker_alone_is_waited_for_by_nobody) {
  book_of of(1);
  of.push(0, 0, 100);
  of.push(0, 1, 200);
  const auto closed = of.take();
  EXPECT_EQ(closed.clocks, 1U);
  EXPECT_EQ(closed.ranks[0], (rank_arrivals{.clocks = 1}));
}

TEST(arrival_book, who_has_finished_or_joins_later_is_not_waited_for) {
  book_of of(4);
  of.ranks[1].finished = true;
  of.ranks[2].joined = 6;  // as the book counts
  of.ranks[3].member = false;
  of.push(0, 0, 100);
  of.push(0, 1, 200);
  EXPECT_EQ(of.take().clocks, 1U);
  for (std::uint64_t clock = 2; clock < 6; ++clock) of.push(0, clock, 300);
  EXPECT_EQ(of.take().clocks, 4U) << "clocks 1 to 4";
  of.push(0, 6, 400);
  EXPECT_EQ(of.take().clocks, 0U) << "rank 2 is of clock 5";
  of.push(2, 5, 500);
  of.push(2, 6, 600);
  EXPECT_EQ(of.take().ranks[2].last, 1U);
}

TEST(arrival_book, clocks_of_who_is_far_ahead_close_without_the_others) {
  book_of of(2);
  of.push(1, 0, 50);
  for (std::uint64_t clock = 0; clock < 2 * arrival_book::clocks_kept; ++clock)
    of.push(0, clock, 100);
  const auto closed = of.take();
  EXPECT_EQ(closed.clocks, arrival_book::clocks_kept);
  EXPECT_EQ(closed.ranks[1].clocks, 1U);
  of.push(1, 1, 10'000);  // which has closed
  of.push(1, arrival_book::clocks_kept, 20'000);
  of.push(1, arrival_book::clocks_kept + 1, 30'000);
  EXPECT_EQ(of.take().latest.late_ns, 19'900U);
}

TEST(arrival_book, begins_where_the_job_goes_on) {
  const auto ranks = workers(2);
  arrival_book book(2);
  for (const std::int64_t clock : {1000, 1001, 1002}) {
    book.arrived(0, static_cast<std::uint64_t>(clock), clock, ranks);
    book.arrived(1, static_cast<std::uint64_t>(clock), clock + 10, ranks);
  }
  const auto closed = book.take(7);
  EXPECT_EQ(closed.clocks, 2U);
  EXPECT_EQ(closed.ranks[1], (rank_arrivals{.clocks = 2, .last = 1, .late_ns = 10}))
      << "workers begin one after another, which is nobody's delay";
}

TEST(arrival_book, allocates_nothing_as_pushes_come_in) {
  book_of of(8);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 0; clock < 1000; ++clock)
    for (std::uint32_t rank = 0; rank < 8; ++rank)
      of.push(rank, clock, static_cast<std::int64_t>(clock * 8 + rank));
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::policies::sharding
