// Calls of functions of tables, against a real cluster in this process.
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/base/rng.hpp"
#include "runtime/batches/row_parts.hpp"
#include "tests/actors/session/session_fixture.hpp"

namespace tidegate::tests {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t elements = 1000;
constexpr std::uint64_t chunk_bytes = 256;
constexpr std::uint64_t clocks = 8;

class session_functions : public session_test {
 protected:
  // What a worker does in each clock: call the table's sum, between a pull and a push.
  void train(session& s, std::vector<std::vector<double>>& sums) {
    const auto table = open(s, elements, 0.25F);
    for (std::uint64_t clock = 0; clock < clocks; ++clock) {
      ASSERT_TRUE(s.pull(table).wait().ok());
      const auto values = s.parameters(table);
      const floats before(values.begin(), values.end());
      const auto called = s.call(table, "sum_of_squares");
      ASSERT_TRUE(called) << called.error().message();
      sums[s.info().rank].push_back(called->front());
      EXPECT_TRUE(std::equal(before.begin(), before.end(), values.begin()))
          << "what is read in place stays";
      EXPECT_EQ(called->front(), expected_sum(before));
      auto gradient = s.gradient(table);
      for (std::uint64_t i = 0; i < elements; ++i)
        gradient[i] = values[i] + runtime::uniform_signed(s.info().rank + clock, i);
      ASSERT_TRUE(s.push(table).wait().ok());
      ASSERT_TRUE(s.clock().ok());
    }
    EXPECT_TRUE(s.finish().ok());
  }
  // In the order of chunks.
  static double expected_sum(const floats& values) {
    constexpr auto chunk = chunk_bytes / sizeof(float);
    double all = 0;
    for (std::size_t first = 0; first < values.size(); first += chunk) {
      double sum = 0;
      for (auto i = first; i < std::min<std::size_t>(values.size(), first + chunk); ++i)
        sum += double{values[i]} * double{values[i]};
      all = first == 0 ? sum : all + sum;
    }
    return all;
  }
};

TEST_F(session_functions, find_the_version_of_their_clock_on_any_shards_and_ways) {
  std::set<std::vector<double>> found;
  for (const bool windows : {false, true})
    for (const std::uint32_t shards : {1U, 3U}) {
      local_cluster cluster(small_cluster(shards, 2, {consistency_kind::bsp, 0}, chunk_bytes),
                            links(), windows);
      std::vector<std::vector<double>> sums(2);
      cluster.run_workers("job", [&](session& s) { train(s, sums); });
      EXPECT_EQ(sums[0].size(), clocks);
      found.insert(sums[0]);
      found.insert(sums[1]);
    }
  EXPECT_EQ(found.size(), 1U);
}

TEST_F(session_functions, are_answered_under_every_policy) {
  for (const auto kind : {consistency_kind::ssp, consistency_kind::async}) {
    local_cluster cluster(small_cluster(2, 2, {kind, 1}, chunk_bytes), links());
    cluster.run_workers("job", [&](session& s) {
      const auto table = open(s, elements, 0.5F);
      for (std::uint64_t clock = 0; clock < clocks; ++clock) {
        const auto count = s.call(table, "count_not_finite");
        ASSERT_TRUE(count) << count.error().message();
        EXPECT_THAT(*count, ElementsAre(0.0));
        const floats gradient(elements, 1.0F);
        ASSERT_TRUE(s.push(table, gradient).wait().ok());
        ASSERT_TRUE(s.clock().ok());
      }
      EXPECT_TRUE(s.finish().ok());
    });
  }
}

// What a function of rows is shown: of each part its rows, ascending by id; parts in their
// order.
double expected_sum_of_rows(const tidegate::row_table& table, std::uint32_t parts,
                            std::uint64_t key) {
  std::vector<double> sums(parts, 0.0);
  EXPECT_TRUE(table
                  .for_each([&](std::uint64_t id, std::span<const float> values) {
                    for (const double x : values)
                      sums[runtime::part_of_row(id, key, parts)] += x * x;
                  })
                  .ok());
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

TEST_F(session_functions, find_all_rows_of_their_clock_on_any_shards_and_ways) {
  constexpr std::uint32_t parts = 40;  // more than are asked at a time
  std::set<std::vector<double>> found;
  for (const bool windows : {false, true})
    for (const std::uint32_t shards : {1U, 3U}) {
      local_cluster cluster(small_cluster(shards, 2, {consistency_kind::bsp, 0}), links(),
                            windows);
      std::vector<std::vector<double>> sums(2);
      cluster.run_workers("job", [&](session& s) {
        const auto table =
            s.open_rows("user", 3, {{.capacity = 1000, .parts = parts, .evict_unseen = 4}});
        ASSERT_TRUE(table) << table.error().message();
        const auto none = table->call("min");
        ASSERT_TRUE(none) << none.error().message();
        EXPECT_EQ(none->front(), std::numeric_limits<double>::infinity());
        const auto key = runtime::stream_key(s.info().seed, "user");
        for (std::uint64_t clock = 0; clock < clocks; ++clock) {
          const auto called = table->call("sum_of_squares");
          ASSERT_TRUE(called) << called.error().message();
          EXPECT_EQ(called->front(), expected_sum_of_rows(*table, parts, key));
          sums[s.info().rank].push_back(called->front());
          const std::vector<std::uint64_t> ids{clock, 3 * clock + s.info().rank, 77};
          floats gradients(9);
          for (std::size_t i = 0; i < gradients.size(); ++i)
            gradients[i] = runtime::uniform_signed(clock + s.info().rank, i);
          ASSERT_TRUE(table->push(ids, gradients).wait().ok());
          EXPECT_EQ(table->call("sum").error().code(), errc::out_of_order);
          ASSERT_TRUE(s.clock().ok());
        }
        EXPECT_EQ(table->call("median").error().code(), errc::not_found);
        EXPECT_EQ(table->call("sum", std::vector{1.0}).error().code(), errc::invalid_argument);
        EXPECT_TRUE(s.finish().ok());
      });
      EXPECT_EQ(sums[0].size(), clocks);
      found.insert(sums[0]);
      found.insert(sums[1]);
    }
  EXPECT_EQ(found.size(), 1U);
}

TEST_F(session_functions, say_what_is_wrong_with_a_call) {
  local_cluster cluster(small_cluster(2, 1, {consistency_kind::bsp, 0}, chunk_bytes), links());
  cluster.run_workers("job", [&](session& s) {
    const auto table = open(s, elements, 0.5F);
    const auto fails = [&](errc code, const std::string& part, std::string_view function,
                           std::span<const double> arguments = {}) {
      const auto called = s.call(table, function, arguments);
      ASSERT_FALSE(called);
      expect(called.error(), code, part);
    };
    fails(errc::not_found, "built in are count_above", "no_such");
    fails(errc::invalid_argument, "these 1 arguments", "sum", std::vector<double>{1.0});
    fails(errc::invalid_argument, "at most 63 bytes", std::string(64, 'x'));
    fails(errc::invalid_argument, "at most 32 arguments", "sum", std::vector<double>(33));
    EXPECT_EQ(s.call(tidegate::table{77, elements}, "sum").error().code(), errc::not_found);
    const floats gradient(elements, 1.0F);
    const auto push = s.push(table, gradient);
    fails(errc::out_of_order, "out of order", "sum");
    EXPECT_TRUE(push.wait().ok());
    EXPECT_TRUE(s.clock().ok());
    const auto above = s.call(table, "count_above", std::vector<double>{100.0});
    ASSERT_TRUE(above) << above.error().message();
    EXPECT_THAT(*above, ElementsAre(0.0));
    EXPECT_TRUE(s.finish().ok());
  });
}

}  // namespace
}  // namespace tidegate::tests
