// Tables are opened in many turns, and whatever else is called meanwhile waits its turn.
#include "actors/shard/table_opener.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/small_shard.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::status;

constexpr std::uint64_t job_token = 7;

class table_opener_test : public testing::Test {
 protected:
  table_opener_test() {
    core.admin().open_job(job_token, {.workers = 1});
    checkpoints.open_job(job_token, "a");
  }

  static policies::open_table_call table_of(std::uint32_t table, std::uint32_t chunks,
                                            std::uint64_t elements) {
    policies::open_table_call call;
    call.token = job_token;
    call.table = table;
    call.name = "t" + std::to_string(table);
    call.shape = {chunks * elements};
    for (std::uint32_t i = 0; i < chunks; ++i)
      call.places.push_back(
          {.chunk = i, .shard = 0, .first = i * elements, .elements = elements});
    return call;
  }
  void open(const policies::open_table_call& call) {
    opener.in_order([this, call] {
      opener.open(call, {}, [this, table = call.table](const status& opened) {
        happened.push_back("table " + std::to_string(table) + " " +
                           (opened.ok() ? "is open" : opened.message()));
      });
    });
  }
  void call(const std::string& name) {
    opener.in_order([this, name] { happened.push_back(name); });
  }
  bool knows(std::uint32_t table) const { return !core.registry().slots_of(table).empty(); }

  tests::quiet_home home;
  tests::small_memory memory;
  tests::recording_port port;
  policies::shard_core core;
  shard_checkpoints checkpoints{home, memory, port, core, 0};
  table_opener opener{home, memory, checkpoints, core};
  std::vector<std::string> happened;
};

constexpr std::uint64_t half_a_turn = (1U << 20U) / 2 / sizeof(float);

TEST_F(table_opener_test, opens_a_small_table_at_once) {
  open(table_of(1, 3, 10));
  EXPECT_EQ(happened, std::vector<std::string>{"table 1 is open"});
  EXPECT_TRUE(knows(1));
  EXPECT_FALSE(home.turn());
}

TEST_F(table_opener_test, makes_so_many_bytes_of_a_large_one_in_a_turn) {
  open(table_of(1, 5, half_a_turn));
  EXPECT_EQ(memory.chunks_made.size(), 2U);
  EXPECT_FALSE(knows(1)) << "the core hears of it when it is whole";
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(memory.chunks_made.size(), 4U);
  EXPECT_TRUE(happened.empty());
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(memory.chunks_made, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(happened, std::vector<std::string>{"table 1 is open"});
  EXPECT_TRUE(knows(1));
  EXPECT_FALSE(home.turn());
}

TEST_F(table_opener_test, makes_a_chunk_in_any_case) {
  home.set.opening_bytes = 1;
  open(table_of(1, 2, 1000));
  EXPECT_EQ(memory.chunks_made.size(), 1U);
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(happened, std::vector<std::string>{"table 1 is open"});
}

TEST_F(table_opener_test, calls_wait_in_order) {
  call("a");
  open(table_of(1, 4, half_a_turn));
  call("b");
  open(table_of(2, 4, half_a_turn));
  call("c");
  EXPECT_EQ(happened, std::vector<std::string>{"a"});
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(happened, (std::vector<std::string>{"a", "table 1 is open", "b"}))
      << "and the next table has begun";
  EXPECT_EQ(memory.chunks_made.size(), 6U);
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(happened,
            (std::vector<std::string>{"a", "table 1 is open", "b", "table 2 is open", "c"}));
  EXPECT_EQ(core.registry().slots_of(2).front(), 4U);
}

TEST_F(table_opener_test, a_table_that_cannot_be_made_is_forgotten) {
  memory.chunks_max = 3;
  open(table_of(1, 4, half_a_turn));
  call("b");
  EXPECT_TRUE(home.turn());
  EXPECT_EQ(happened, (std::vector<std::string>{"table 1 no memory", "b"}));
  EXPECT_EQ(memory.forgotten, std::vector<std::uint32_t>{1});
  EXPECT_FALSE(knows(1));
  // Its slots are used up.
  memory.chunks_max = 100;
  open(table_of(1, 1, 10));
  EXPECT_EQ(core.registry().slots_of(1).front(), 4U);
  EXPECT_EQ(happened.back(), "table 1 is open");
}

TEST_F(table_opener_test, says_why_a_checkpoint_cannot_be_read) {
  auto restored = table_of(1, 2, 10);
  restored.restore = {1, 1};
  open(restored);
  EXPECT_EQ(happened, std::vector<std::string>{"table 1 no folder"});
  EXPECT_FALSE(knows(1));
}

TEST_F(table_opener_test, nothing_is_called_after_its_end) {
  open(table_of(1, 4, half_a_turn));
  call("b");
  opener.close();
  EXPECT_FALSE(home.turn());
  EXPECT_TRUE(happened.empty());
}

}  // namespace
}  // namespace tidegate::actors
