#include "launch/bench/worker.hpp"

#include <algorithm>
#include <iterator>

#include <gmock/gmock.h>

#include "launch/bench/cluster_run.hpp"
#include "launch/bench/exchange.hpp"
#include "launch/bench/rows_reference.hpp"
#include "launch/bench/rows_worker.hpp"

namespace tidegate::bench {
namespace {

worker_order some_order() {
  worker_order order;
  order.arena = "/tmp/a b";
  order.bytes = 4096;
  order.warmup = 2;
  order.tables = 3;
  order.place.shards = 4;
  order.optimizer = runtime::kernels::optimizer_kind::adam;
  order.place.cpus = {1, 0};
  order.device = "emulated:3";
  order.in_a_row = 6;
  return order;
}

TEST(worker_order, survives_the_command_line) {
  for (const auto& cpus : {std::vector<int>{1, 0}, std::vector<int>{}}) {
    auto order = some_order();
    order.place.cpus = cpus;
    auto words = worker_command("tidegate", order);
    ASSERT_GT(words.size(), 2U);
    EXPECT_EQ(words[1], "bench-worker");
    words.erase(words.begin(), words.begin() + 2);
    const auto read = parse_worker(words);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->arena, order.arena);
    EXPECT_EQ(read->bytes, order.bytes);
    EXPECT_EQ(read->warmup, order.warmup);
    EXPECT_EQ(read->tables, order.tables);
    EXPECT_EQ(read->place.shards, order.place.shards);
    EXPECT_EQ(read->optimizer, order.optimizer);
    EXPECT_EQ(read->place.cpus, order.place.cpus);
    EXPECT_EQ(read->device, order.device);
    EXPECT_EQ(read->in_a_row, order.in_a_row);
  }
}

TEST(worker_order, refuses_what_no_benchmark_would_write) {
  auto words = worker_command("tidegate", some_order());
  words.erase(words.begin(), words.begin() + 2);
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto wrong = words;
    wrong[i] = "x";
    EXPECT_FALSE(parse_worker(wrong)) << i;
  }
  words.pop_back();
  EXPECT_FALSE(parse_worker(words));
}

TEST(rows_order, survives_the_command_line) {
  rows_order order;
  order.arena = "/tmp/a b";
  order.rows = {
      .rows = 7, .dim = 6, .batch = 5, .zipf = 0.99, .repeats = 4, .memory = 5'000'000'000};
  order.warmup = 3;
  order.place = {.shards = 2, .cpus = {1, 0}};
  auto words = rows_worker_command("tidegate", order);
  ASSERT_GT(words.size(), 2U);
  EXPECT_EQ(words[1], "bench-rows-worker");
  words.erase(words.begin(), words.begin() + 2);
  const auto read = parse_rows_worker(words);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, order);
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto wrong = words;
    wrong[i] = "x";
    EXPECT_FALSE(parse_rows_worker(wrong)) << i;
  }
}

TEST(rows_order, has_batches_for_all_rows) {
  rows_order order;
  order.rows = {.rows = 10'000, .dim = 6, .batch = 5000, .zipf = 0, .repeats = 4};
  const auto plan = plan_rows(order, 3);
  EXPECT_LE(plan.batch_growing, 5000U);
  EXPECT_GE(plan.growing * plan.batch_growing * 3, 10'000U);
  EXPECT_LT((plan.growing - 1) * plan.batch_growing * 3, 10'000U);
  EXPECT_EQ(plan.bare_round(plan.rounds - 1) + 1, plan.iterations());
}

TEST(rows_reference, counts_who_pushes_a_row) {
  const rows_options options{.rows = 30, .dim = 2, .batch = 4, .zipf = 0, .repeats = 1};
  rows_reference reference(options);
  ASSERT_EQ(reference.ids().size(), 30U);
  std::vector<float> values(60, 0.0F);
  EXPECT_TRUE(reference.check(values).ok());
  drawn_rows a{.numbers = {3, 5}, .ids = {}}, b{.numbers = {5}, .ids = {}};
  reference.step(std::vector{a, b});
  // AdaGrad's first step has the length of the rate, whatever the gradient is.
  const auto options_of_steps = rows_optimizer();
  const auto after = [&](float gradient) {
    return -options_of_steps.learning_rate * gradient / (gradient + options_of_steps.epsilon);
  };
  values[6] = values[7] = after(1);
  values[10] = values[11] = after(2);
  EXPECT_TRUE(reference.check(values).ok()) << reference.check(values).message();
  values[11] = 0;
  EXPECT_THAT(reference.check(values).message(), testing::HasSubstr("column 1"));
}

TEST(row_draws, of_seeds_side_by_side_are_not_alike) {
  const rows_options options{.rows = 1'000'000, .dim = 2, .batch = 1000, .zipf = 0};
  auto a = row_draws(options, 1).next().numbers, b = row_draws(options, 2).next().numbers;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<runtime::row_number> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_LT(both.size(), 100U);
}

TEST(exchange, places_and_counts) {
  EXPECT_TRUE(cpus_of_pin("none").empty());
  EXPECT_FALSE(cpus_of_pin("auto").empty());
  EXPECT_EQ(cpus_of_pin("1,0,1"), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(default_iterations(4), 200U);
  EXPECT_EQ(default_iterations(64U << 20U), 32U);
  EXPECT_EQ(default_iterations(std::uint64_t{1} << 33U), 10U);
}

}  // namespace
}  // namespace tidegate::bench
