#include "actors/shard/shard_checkpoints.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/small_shard.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;

constexpr std::uint64_t token = 7;
constexpr auto table = tests::small_memory::table;

// A job with a table of two chunks.
class shard_checkpoints_test : public testing::Test {
 protected:
  shard_checkpoints_test() {
    policies::shard_core::job_options options;
    options.workers = 1;
    core.admin().open_job(token, options);
    const std::vector<policies::chunk_place> places{
        {.chunk = 0, .shard = 0, .first = 0, .elements = 1},
        {.chunk = 1, .shard = 0, .first = 1, .elements = 1}};
    chunks = core.admin().open_table(token, table, places);
    checkpoints.open_job(token, "a");
  }

  bool begin(std::uint64_t number, std::uint64_t base = 0) {
    return checkpoints.begin(
        {.token = token, .id = {1, number}, .clock = 4, .tables = {table}, .base = {1, base}},
        chunks.size());
  }
  void snapshot(std::uint32_t slot) {
    policies::shard_core::cut_state state;
    state.version = 4;
    state.ranks = {{4, false}};
    checkpoints.snapshot({slot, 0}, state);
  }

  tests::quiet_home home;
  tests::small_memory memory;
  tests::recording_port port;
  policies::shard_core core;
  shard_checkpoints checkpoints{home, memory, port, core, 3};
  std::vector<policies::owned_chunk> chunks;
};

TEST_F(shard_checkpoints_test, writes_its_part_when_every_chunk_has_come_to_the_cut) {
  ASSERT_TRUE(begin(1));
  snapshot(0);
  EXPECT_TRUE(port.written.empty());
  snapshot(1);
  EXPECT_EQ(port.written, std::vector<std::string>{"a"});
  EXPECT_TRUE(port.reports.empty()) << "it is not durable yet";
  checkpoints.part_written(token, {.name = "part", .bytes = 9, .sha256 = ""}, "");
  ASSERT_EQ(port.reports.size(), 1U);
  const auto& report = port.reports[0];
  EXPECT_EQ(report.id.number, 1U);
  EXPECT_EQ(report.shard, 3U);
  EXPECT_EQ(report.clock, 4U);
  EXPECT_EQ(report.file.name, "part");
  EXPECT_TRUE(report.failure.empty());
}

TEST_F(shard_checkpoints_test, begins_no_other_part_while_it_writes) {
  ASSERT_TRUE(begin(1));
  snapshot(0);
  ASSERT_TRUE(begin(2)) << "a part that is not being written is given up";
  EXPECT_EQ(checkpoints.under_way(token).number, 2U);
  snapshot(0);
  snapshot(1);
  EXPECT_FALSE(begin(3));
  checkpoints.part_written(token, {}, "full");
  ASSERT_EQ(port.reports.size(), 1U);
  EXPECT_EQ(port.reports[0].failure, "full");
  EXPECT_EQ(home.lines.size(), 1U) << "a failure is logged";
  EXPECT_TRUE(begin(3));
}

TEST_F(shard_checkpoints_test, writes_its_part_when_work_has_copied_it) {
  auto& work = memory.ingress().work();
  ASSERT_TRUE(begin(1));
  snapshot(0);
  work.begin(2);
  snapshot(1);
  work.end(1);
  checkpoints.work_ended();
  EXPECT_TRUE(port.written.empty());
  EXPECT_FALSE(begin(2)) << "the part is whole, and not there yet";
  work.end(2);
  checkpoints.work_ended();
  EXPECT_EQ(port.written, std::vector<std::string>{"a"});
  checkpoints.work_ended();
  EXPECT_EQ(port.written.size(), 1U);
}

// Only what has changed since the checkpoint that is named, if this process wrote that one.
TEST_F(shard_checkpoints_test, of_rows_it_writes_what_has_changed) {
  // Returns since which clock the two parts were written, and whether they need another.
  const auto take = [&](std::uint64_t number, std::uint64_t base, std::uint64_t clock) {
    memory.row_clock = clock;
    memory.copied.clear();
    EXPECT_TRUE(begin(number, base));
    snapshot(0);
    snapshot(1);
    checkpoints.part_written(token, {}, "");
    EXPECT_EQ(memory.copied.size(), 2U);
    const auto& other = memory.copied.front();
    EXPECT_EQ(other.row_since, other.needs_base() ? memory.copied.back().row_since - 1 : 0)
        << "each goes by its own cut";
    const auto& part = memory.copied.back();
    EXPECT_EQ(port.reports.back().needs_base, part.needs_base());
    EXPECT_EQ(part.base.number, part.needs_base() ? base : 0);
    return part.needs_base() ? std::optional(part.row_since) : std::nullopt;
  };
  EXPECT_EQ(take(1, 0, 10), std::nullopt);
  EXPECT_EQ(take(2, 1, 20), 11U);
  EXPECT_EQ(take(3, 1, 30), std::nullopt) << "2 was not durable, and 1 is not its last";
  EXPECT_EQ(take(4, 3, 40), 31U);
  EXPECT_EQ(take(5, 0, 50), std::nullopt) << "all is asked for";
}

// A part that is given up leaves its memory to them, and the next one has memory of its own.
TEST_F(shard_checkpoints_test, copies_on_their_way_keep_their_memory) {
  ASSERT_TRUE(begin(1));
  snapshot(0);
  const auto before = memory.copies[0];
  ASSERT_TRUE(begin(2));
  snapshot(0);
  EXPECT_NE(memory.copies[1], before);
  memory.copies.clear();
}

TEST_F(shard_checkpoints_test, ignores_a_snapshot_that_belongs_to_no_part) {
  snapshot(0);
  checkpoints.part_written(token + 1, {}, "");
  EXPECT_TRUE(port.written.empty());
  EXPECT_TRUE(port.reports.empty());
}

TEST_F(shard_checkpoints_test, restores_from_the_folder_of_the_job) {
  policies::open_table_call call;
  call.token = token;
  call.name = "weights";
  call.restore.number = 1;
  EXPECT_EQ(checkpoints.restore(call, chunks.front()).error().code(), errc::not_found);
  EXPECT_EQ(port.opened, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace tidegate::actors
