#include "runtime/batches/batch_merger.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <set>
#include <string>

#include "tests/runtime/batches/batch_memory.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

struct pushed_batches {
  // Of ranks with gaps between them.
  pushed_batches(std::uint64_t seed, std::size_t ranks, std::uint32_t row_width)
      : dim(row_width) {
    rng random(seed);
    batch_writer writer;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      pushes.emplace_back(mix64(seed * 100 + rank), random.below(200), 1 + random.below(300),
                          dim);
      writer.begin(pushes.back().ids, 1, 1);
      memories.push_back(written(writer, 0, pushes.back().gradients, dim));
      inputs.push_back({.rank = rank * (1 + static_cast<std::uint32_t>(seed % 3)),
                        .batch = *read_row_batch(memories.back().bytes(), dim)});
    }
  }
  // Each row by itself, by the canonical tree over those that have it.
  std::map<std::uint64_t, std::vector<float>> sums() const {
    std::vector<std::map<std::uint64_t, std::vector<float>>> rows;
    std::set<std::uint64_t> ids;
    for (const auto& push : pushes) {
      rows.push_back(push.rows(dim));
      for (const auto& [id, values] : rows.back()) ids.insert(id);
    }
    std::map<std::uint64_t, std::vector<float>> result;
    for (const auto id : ids) {
      std::vector<kernels::gradient> gradients;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (const auto at = rows[i].find(id); at != rows[i].end())
          gradients.push_back({.data = at->second.data(), .rank = inputs[i].rank});
      auto& sum = result[id];
      sum.resize(dim);
      kernels::tree_sum(gradients, sum.data(), dim);
    }
    return result;
  }

  std::uint32_t dim;
  std::list<random_push> pushes;
  std::list<batch_memory> memories;
  std::vector<batch_merger::input> inputs;
};

TEST(batch_merger, sums_each_row_over_the_ranks_that_have_it) {
  batch_merger merger;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const pushed_batches of(seed, seed % 9, seed % 2 == 0 ? 3 : 16);
    const auto expected = of.sums();
    merger.begin(of.inputs, of.dim);
    ASSERT_EQ(merger.rows_left(), expected.size());
    std::map<std::uint64_t, std::vector<float>> got;
    std::uint64_t last = 0;
    std::vector<std::uint64_t> ids(7);
    std::vector<float> values(7 * of.dim);
    for (;;) {
      const auto rows = merger.next(7, ids.data(), values.data());
      for (std::size_t i = 0; i < rows; ++i) {
        ASSERT_TRUE(got.empty() || ids[i] > last) << "rows ascend";
        last = ids[i];
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * of.dim);
        got[ids[i]].assign(begin, begin + of.dim);
      }
      if (rows < 7) break;
    }
    ASSERT_EQ(got, expected) << "seed " << seed;
    for (const auto& [id, row] : got)
      ASSERT_EQ(std::memcmp(row.data(), expected.at(id).data(), row.size() * sizeof(float)), 0);
    ASSERT_EQ(merger.rows_left(), 0U);
  }
}

TEST(batch_merger, leaves_rows_of_one_rank_where_they_lie) {
  batch_merger merger;
  const pushed_batches of(4, 3, 5);
  const auto expected = of.sums();
  merger.begin(of.inputs, of.dim);
  std::vector<std::uint64_t> ids(expected.size());
  std::vector<const float*> rows(expected.size());
  std::vector<float> values(expected.size() * of.dim, -1.0F);
  ASSERT_EQ(merger.next(ids.size(), ids.data(), rows.data(), values.data()), expected.size());
  std::size_t in_place = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(std::memcmp(rows[i], expected.at(ids[i]).data(), of.dim * sizeof(float)), 0);
    if (rows[i] == values.data() + i * of.dim) continue;
    ++in_place;
    EXPECT_EQ(values[i * of.dim], -1.0F) << "nothing is written for it";
  }
  EXPECT_GT(in_place, 0U);
  EXPECT_LT(in_place, ids.size());
}

// An aggregator sums some ranks first; the bits stay.
TEST(batch_merger, of_sums_gives_what_it_gives_of_all) {
  batch_merger merger;
  const pushed_batches of(3, 4, 5);  // ranks 0, 1, 2, 3
  std::list<batch_memory> memories;
  std::vector<batch_merger::input> halves;
  for (const std::size_t first : {0U, 2U}) {
    merger.begin(std::span(of.inputs).subspan(first, 2), of.dim);
    const auto rows = static_cast<std::uint32_t>(merger.rows_left());
    auto& memory = memories.emplace_back(row_batch_bytes(rows, of.dim));
    const auto room = begin_row_batch(memory.bytes(), rows, of.dim);
    ASSERT_EQ(merger.next(rows, room.ids.data(), room.values.data()), rows);
    halves.push_back(
        {.rank = of.inputs[first].rank, .batch = *read_row_batch(memory.bytes(), of.dim)});
  }
  merger.begin(halves, of.dim);
  std::map<std::uint64_t, std::vector<float>> got;
  std::uint64_t id = 0;
  std::vector<float> row(of.dim);
  while (merger.next(1, &id, row.data()) == 1) got[id] = row;
  EXPECT_EQ(got, of.sums());
}

TEST(batch_merger, allocates_nothing_once_warm) {
  const pushed_batches of(5, 8, 16);
  batch_merger merger;
  std::vector<std::uint64_t> ids(64);
  std::vector<float> values(64 * 16);
  const auto use = [&] {
    merger.begin(of.inputs, 16);
    merger.rows_left();
    while (merger.next(64, ids.data(), values.data()) == 64) continue;
  };
  use();
  const auto before = tests::allocations();
  use();
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
