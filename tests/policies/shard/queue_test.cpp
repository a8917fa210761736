// The order in which a shard carries out what its core has decided.
#include "policies/shard/queue.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

using apply = shard_effects::apply;
using release = shard_effects::release;

// Effects are told apart by the payload that they release.
struct shard_queue_test : testing::Test {
  void add(std::uint64_t job, std::uint32_t table, payload_handle name) {
    queue.of(job, table).list.push_back(release{name});
  }
  bool step() {
    return queue.step([&](const auto& effect, auto) {
      performed.push_back(std::get<release>(effect).payload);
    });
  }
  std::vector<payload_handle> all() {
    while (step()) {
    }
    return std::exchange(performed, {});
  }

  shard_queue queue;
  std::vector<payload_handle> performed;
};

TEST_F(shard_queue_test, the_table_that_was_opened_first_comes_first) {
  add(1, 7, 71);
  add(1, 7, 72);
  add(1, 3, 31);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(all(), (std::vector<payload_handle>{31, 71, 72}));
  EXPECT_TRUE(queue.empty());
}

TEST_F(shard_queue_test, an_early_layer_overtakes_what_is_half_done) {
  for (payload_handle i = 0; i < 4; ++i) add(1, 9, 90 + i);
  step();
  step();
  add(1, 2, 20);
  add(1, 5, 50);
  EXPECT_EQ(all(), (std::vector<payload_handle>{90, 91, 20, 50, 92, 93}));
}

TEST_F(shard_queue_test, jobs_take_turns) {
  for (payload_handle i = 0; i < 3; ++i) {
    add(1, 1, 10 + i);
    add(2, 8, 80 + i);
  }
  while (step()) queue.take_turns();
  EXPECT_EQ(performed, (std::vector<payload_handle>{10, 80, 11, 81, 12, 82}));
}

TEST_F(shard_queue_test, a_job_is_drained_alone) {
  add(1, 1, 10);
  add(2, 2, 20);
  add(2, 3, 30);
  queue.drain(2, [&](const auto& effect, auto) {
    performed.push_back(std::get<release>(effect).payload);
  });
  EXPECT_EQ(performed, (std::vector<payload_handle>{20, 30}));
  queue.drain(77, [](const auto&, auto) { FAIL(); });
  EXPECT_EQ(all(), (std::vector<payload_handle>{20, 30, 10}));
}

TEST_F(shard_queue_test, inputs_stay_with_their_step_and_what_is_done_goes) {
  // One step with two inputs is added for each that is carried out: never empty.
  auto& out = queue.of(1, 1);
  std::uint32_t added = 0;
  const auto add_step = [&] {
    const auto first = static_cast<std::uint32_t>(out.inputs.size());
    out.inputs.push_back({0, 2 * added});
    out.inputs.push_back({1, 2 * added + 1});
    out.list.push_back(apply{added++, first, 2, 0, 0});
  };
  add_step();
  std::size_t largest = 0;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    add_step();
    ASSERT_TRUE(queue.step([&](const auto& effect, auto inputs) {
      const auto& what = std::get<apply>(effect);
      EXPECT_EQ(what.slot, i);
      const auto mine = inputs.subspan(what.first, what.count);
      EXPECT_EQ(mine[0].payload, 2 * i);
      EXPECT_EQ(mine[1].payload, 2 * i + 1);
    }));
    largest = std::max({largest, out.list.size(), out.inputs.size()});
  }
  EXPECT_LT(largest, 2000U);
}

TEST_F(shard_queue_test, a_warm_queue_allocates_nothing) {
  performed.reserve(1000);
  const auto round = [&] {
    for (std::uint32_t table = 9; table > 0; --table)
      for (payload_handle i = 0; i < 5; ++i) add(table % 2, table, i);
    while (step()) queue.take_turns();
    performed.clear();
  };
  round();
  const auto before = tests::allocations();
  round();
  EXPECT_EQ(tests::allocations() - before, 0U);
}

}  // namespace
}  // namespace tidegate::policies
