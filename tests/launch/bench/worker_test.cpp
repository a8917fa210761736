#include "launch/bench/worker.hpp"

#include <gmock/gmock.h>

#include "launch/bench/exchange.hpp"

namespace tidegate::bench {
namespace {

worker_order some_order() {
  worker_order order;
  order.arena = "/tmp/a b";
  order.bytes = 4096;
  order.warmup = 2;
  order.tables = 3;
  order.shards = 4;
  order.optimizer = runtime::kernels::optimizer_kind::adam;
  order.cpus = {1, 0};
  order.device = "emulated:3";
  order.in_a_row = 6;
  return order;
}

TEST(worker_order, survives_the_command_line) {
  for (const auto& cpus : {std::vector<int>{1, 0}, std::vector<int>{}}) {
    auto order = some_order();
    order.cpus = cpus;
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
    EXPECT_EQ(read->shards, order.shards);
    EXPECT_EQ(read->optimizer, order.optimizer);
    EXPECT_EQ(read->cpus, order.cpus);
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
