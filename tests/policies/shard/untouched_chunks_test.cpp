// A chunk that nobody touched costs no memory per worker, under any policy.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"
#include "tests/policies/shard/fixture.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

// The bytes that are asked for while a job of so many workers opens a table of so many chunks.
std::uint64_t bytes_to_open(const consistency_spec& consistency, std::uint32_t workers,
                            std::uint32_t chunks) {
  auto core = make_empty_core(consistency, workers);
  std::vector<chunk_place> places;
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
    places.push_back({.chunk = chunk, .shard = 0, .first = chunk * 16ULL, .elements = 16});
  const auto before = tests::bytes_asked_for();
  core.admin().open_table(job, 5, places);
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    EXPECT_EQ(core.admin().admit_worker(job, rank, 1), reply_code::ok);
  return tests::bytes_asked_for() - before;
}

TEST(untouched_chunks, cost_no_memory_per_worker) {
  for (const auto kind :
       {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async}) {
    const consistency_spec consistency{.kind = kind};
    const auto of_chunks = [&](std::uint32_t workers) {
      return bytes_to_open(consistency, workers, 1100) -
             bytes_to_open(consistency, workers, 100);
    };
    EXPECT_EQ(of_chunks(10), of_chunks(1000)) << to_string(consistency);
  }
}

// A worker that skips a chunk takes a place for each rank, and one that pulls it another.
TEST(untouched_chunks, cost_memory_from_their_first_use) {
  auto core = make_core({.kind = consistency_kind::bsp}, 100);
  shard_effects effects;
  const auto bytes_of = [&](const auto& use) {
    const auto before = tests::bytes_asked_for();
    use();
    return tests::bytes_asked_for() - before;
  };
  const auto pull = [&] { core.pull(tag(0, 0), false, effects); };
  EXPECT_GE(bytes_of(pull), 100U);
  const auto again = [&] { core.pull(tag(1, 0), false, effects); };
  EXPECT_LT(bytes_of(again), 5000U) << "effects may grow, and nothing else";
  const auto skip = [&] { core.push(tag(0, 0, 2), no_payload, effects); };
  EXPECT_GE(bytes_of(skip), 100U);
}

}  // namespace
}  // namespace tidegate::policies
