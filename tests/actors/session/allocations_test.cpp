// The hot path allocates nothing per chunk: a clock of a table in many chunks makes as many
// allocations as one in few, through client, mailboxes, link and shard.
#include "tests/support/allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "actors/environment/own_link.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {
namespace {

constexpr std::uint64_t chunk_bytes = 4096;
constexpr std::uint64_t chunk_elements = chunk_bytes / sizeof(float);
constexpr int warm_up = 20;
constexpr int clocks = 60;

using one_clock = runtime::status (*)(tidegate::session&, const tidegate::table&);

runtime::status exchange(tidegate::session& session, const tidegate::table& table) {
  return session.exchange({&table, 1});
}

runtime::status push_and_pull(tidegate::session& session, const tidegate::table& table) {
  const auto pushed = session.push(table);
  if (auto next = session.clock(); !next.ok()) return next;
  return session.pull(table).wait();
}

// The fewest of any clock in this whole process, once warm: other threads speak now and then.
std::uint64_t per_clock(std::uint64_t chunks, bool windows, one_clock run) {
  local_cluster cluster(small_cluster(2, 2, {policies::consistency_kind::bsp, 0}, chunk_bytes),
                        actors::make_own_link, windows);
  std::atomic<std::uint64_t> fewest{std::numeric_limits<std::uint64_t>::max()};
  cluster.run_workers("job", [&](tidegate::session& session) {
    const auto table = session.open_table("w", {chunks * chunk_elements});
    ASSERT_TRUE(table) << table.error().to_string();
    // Each pulls what the other has pushed: a clock of one is between two of the other.
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int clock = 0; clock < clocks; ++clock) {
      const auto before = allocations();
      const auto done = run(session, *table);
      ASSERT_TRUE(done.ok()) << done.to_string();
      if (clock >= warm_up) least = std::min(least, allocations() - before);
    }
    if (session.info().rank == 0) fewest = least;
    EXPECT_TRUE(session.finish().ok());
  });
  return fewest;
}

void expect_as_many_for_few_chunks_as_for_many(bool windows, one_clock run) {
  const auto few = per_clock(4, windows, run);
  const auto many = per_clock(68, windows, run);
  // Of the operation itself, and of the other worker's.
  EXPECT_LE(few, 40U);
  // The two workers' clocks overlap more or less; a single one per chunk would be 64 more.
  EXPECT_LE(many, few + 32);
}

TEST(allocations, none_per_chunk_in_place) {
  expect_as_many_for_few_chunks_as_for_many(true, exchange);
  expect_as_many_for_few_chunks_as_for_many(true, push_and_pull);
}

TEST(allocations, none_per_chunk_in_frames) {
  expect_as_many_for_few_chunks_as_for_many(false, exchange);
  expect_as_many_for_few_chunks_as_for_many(false, push_and_pull);
}

}  // namespace
}  // namespace tidegate::tests
