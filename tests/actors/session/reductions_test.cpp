// Tables whose pushes become one by other means than a sum, against a real cluster in this
// process.
#include <atomic>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "tests/actors/session/session_fixture.hpp"

namespace tidegate::tests {
namespace {

constexpr std::uint32_t workers = 3;
constexpr std::uint64_t elements = 300;
constexpr std::uint64_t clocks = 4;

// What a rank pushes: many zeros, so that `or` and `and` have something to do.
float pushed_by(std::uint64_t rank, std::uint64_t clock, std::uint64_t element) {
  const auto drawn = runtime::mix64(rank * 1000 + clock * 100'000 + element);
  return drawn % 3 == 0 ? 0.0F : static_cast<float>(drawn % 101) / 16 - 3;
}

float reduced(const std::string& by, const floats& values) {
  auto result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto next = values[i];
    if (by == "max") result = result > next ? result : next;
    if (by == "min") result = result < next ? result : next;
    if (by == "product") result *= next;
    if (by == "or") result = result != 0 ? result : next;
    if (by == "and") result = result == 0 ? result : next;
    if (by == "sum" || by == "mean") result += next;
  }
  return by == "mean" ? result * (1.0F / workers) : result;
}

// Rank 2 does not push in every other clock.
bool pushes(std::uint32_t rank, std::uint64_t clock) {
  return rank != 2 || clock % 2 == 0;
}

float expected_of(const std::string& by, std::uint64_t clock, std::uint64_t element) {
  floats values;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    if (pushes(rank, clock)) values.push_back(pushed_by(rank, clock, element));
  return reduced(by, values);
}

void run_dense(session& s, const std::string& by) {
  tidegate::table_options options;
  options.optimizer.name = "assign";
  options.optimizer.reduce = by;
  const auto t = s.open_table("t", {elements}, options);
  ASSERT_TRUE(t) << t.error().message();
  const auto rank = s.info().rank;
  while (s.now() < clocks) {
    auto gradient = s.gradient(*t);
    for (std::uint64_t i = 0; i < elements; ++i) gradient[i] = pushed_by(rank, s.now(), i);
    if (pushes(rank, s.now())) {
      ASSERT_TRUE(s.push(*t).wait().ok());
    }
    ASSERT_TRUE(s.clock().ok());
    ASSERT_TRUE(s.pull(*t).wait().ok());
    const auto values = s.parameters(*t);
    for (std::uint64_t i = 0; i < elements; ++i)
      ASSERT_EQ(values[i], expected_of(by, s.now() - 1, i)) << by << ", element " << i;
  }
  ASSERT_TRUE(s.finish().ok());
}

class session_reductions : public session_test {};

TEST_F(session_reductions, make_one_of_what_is_pushed_on_any_shards_and_ways) {
  for (const std::string by : {"mean", "sum", "max", "min", "product", "or", "and"})
    for (const std::uint32_t shards : {1U, 3U})
      for (const bool windows : {false, true}) {
        runtime::loopback_network late({shards, 3});
        local_cluster cluster(
            small_cluster(shards, workers, {consistency_kind::bsp, 0}, 128),
            [&] { return runtime::expected<std::unique_ptr<runtime::link>>(late.make_link()); },
            windows);
        std::atomic<int> finished{0};
        cluster.run_workers("job", [&](session& s) {
          run_dense(s, by);
          ++finished;
        });
        EXPECT_EQ(finished, static_cast<int>(workers));
      }
}

// Of an id that comes more than once in a push, too.
TEST_F(session_reductions, make_one_of_rows) {
  for (const std::string by : {"max", "min", "product", "or", "and"}) {
    local_cluster cluster(small_cluster(2, workers, {consistency_kind::bsp, 0}), links());
    cluster.run_workers("job", [&](session& s) {
      row_table_options options;
      options.optimizer.name = "sgd";
      options.optimizer.learning_rate = 1.0F;
      options.optimizer.reduce = by;
      options.init_constant = 0.0F;
      const auto t = s.open_rows("rows", 1, options);
      ASSERT_TRUE(t) << t.error().message();
      const std::vector<std::uint64_t> ids = {7, 9, 7, 7};
      floats gradients(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i)
        gradients[i] = pushed_by(s.info().rank, 0, i);
      ASSERT_TRUE(t->push(ids, gradients).wait().ok());
      ASSERT_TRUE(s.clock().ok());
      floats got(2);
      const std::vector<std::uint64_t> asked = {7, 9};
      ASSERT_TRUE(t->pull(asked, got).wait().ok());
      floats of_seven;
      floats of_nine;
      for (std::uint32_t rank = 0; rank < workers; ++rank) {
        of_seven.push_back(
            reduced(by, {pushed_by(rank, 0, 0), pushed_by(rank, 0, 2), pushed_by(rank, 0, 3)}));
        of_nine.push_back(pushed_by(rank, 0, 1));
      }
      EXPECT_EQ(got, (floats{0 - reduced(by, of_seven), 0 - reduced(by, of_nine)})) << by;
      ASSERT_TRUE(s.finish().ok());
    });
  }
}

TEST_F(session_reductions, that_are_wrong_are_refused) {
  auto spec = small_cluster(1, 1, {consistency_kind::bsp, 0});
  spec.jobs[0].clip_norm = 1.0F;
  local_cluster cluster(spec, links());
  cluster.run_workers("job", [&](session& s) {
    tidegate::table_options options;
    options.optimizer.name = "sgd";
    options.optimizer.reduce = "median";
    const auto unknown = s.open_table("t", {4}, options);
    ASSERT_FALSE(unknown);
    expect(unknown.error(), errc::invalid_argument,
           "'median' is not known; allowed: mean, sum, max, min, product, or, and");
    options.optimizer.reduce = "max";
    const auto clipped = s.open_table("t", {4}, options);
    ASSERT_FALSE(clipped);
    expect(clipped.error(), errc::invalid_argument, "clips the norm of sums");
    options.optimizer.reduce = "mean";
    EXPECT_TRUE(s.open_table("t", {4}, options));
    s.finish().ok();
  });
}

}  // namespace
}  // namespace tidegate::tests
