#include "actors/shard/shard_checkpoints.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/small_ingress.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;

constexpr std::uint64_t token = 7;
constexpr std::uint32_t table = 5;

// A home without a link that writes down the lines of its log.
class quiet_home final : public shell_home {
 public:
  void log(severity, const std::string& line) override { lines.push_back(line); }
  runtime::link& link() noexcept override { std::abort(); }
  std::int64_t now() const override { return 0; }
  const shell_limits& limits() const noexcept override { return limits_; }
  const std::string& address() const noexcept override { return address_; }
  runtime::expected<runtime::peer_id> connect(const std::string&) override { return 0; }
  bool shares_memory_with(const std::string&) const override { return false; }
  runtime::status fence(const std::string&) override { return {}; }
  void break_link() override {}
  void after_progress(continuation&) override {}
  void before_progress(continuation&) override {}
  void forget(const continuation&) override {}
  void report_unreachable(const std::vector<policies::unreachable_peer>&) override {}
  void look_in(std::int64_t) override {}

  std::vector<std::string> lines;

 private:
  shell_limits limits_;
  std::string address_;
};

// Chunks of one parameter each, the number of the slot.
class small_memory final : public shard_memory {
 public:
  ingress_memory& ingress() noexcept override { return ingress_; }
  runtime::status add_table(const policies::open_table_call&,
                            std::span<const policies::owned_chunk>,
                            const store_options&) override {
    return {};
  }
  void discard(std::uint32_t) override {}
  runtime::status restore(const policies::checkpoint_reader&, std::size_t, runtime::storage&,
                          std::span<const policies::owned_chunk>,
                          policies::shard_core&) override {
    return {};
  }
  description describe(std::uint32_t slot) const override {
    description chunk;
    chunk.table = table;
    chunk.about.table = "weights";
    chunk.about.shape = {2};
    chunk.about.chunk = slot;
    chunk.about.first = slot;
    chunk.about.elements = 1;
    if (!row_clock) return chunk;
    chunk.about.rows = {.dim = 2, .capacity = 100};
    chunk.about.row_count = 9;
    chunk.about.row_clock = *row_clock + slot;
    return chunk;
  }
  void copy_rows(std::uint32_t, const policies::chunk_description& about, std::size_t i,
                 std::span<float> to, std::shared_ptr<const void>) override {
    if (i != policies::values_array) return;
    EXPECT_EQ(to.size(), (about.needs_base() ? 4U : 9U) * 2);
    copied.push_back(about);
  }
  std::uint64_t rows_since(std::uint32_t, std::uint64_t) const override { return 4; }
  // Chunks are parts of a table of rows, of which this was the last step.
  std::optional<std::uint64_t> row_clock;
  mutable std::vector<policies::chunk_description> copied;
  void copy_out(const array_name& array, std::span<float> to,
                std::shared_ptr<const void> keeps) override {
    EXPECT_EQ(to.size(), 1U);
    to[0] = static_cast<float>(array.slot);
    copies.push_back(std::move(keeps));
  }
  // Copies are on their way until work has ended.
  std::vector<std::shared_ptr<const void>> copies;
  runtime::status apply(const effects::apply&, inputs) override { return {}; }
  double measure(const effects::measure&, inputs) override { return 0; }
  std::span<const std::byte> payload_bytes(policies::payload_handle) const override {
    return {};
  }
  std::span<const float> gradient(std::uint32_t, policies::payload_handle) const override {
    return {};
  }
  std::span<const float> sum_of(std::uint32_t, std::uint64_t) const override { return {}; }
  void keep_sum(std::uint32_t, std::uint64_t, policies::payload_handle) override {}
  std::shared_ptr<const std::vector<float>> seed_of(
      const effects::seed&, const policies::shard_core::seed_state&) override {
    return {};
  }
  std::uint64_t seed_bytes_max(std::uint32_t, std::uint32_t) const override { return 0; }
  runtime::buffer lease_seed(std::size_t) override { return {}; }
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t,
                                                    std::span<const std::byte>) override {
    return runtime::fail(errc::corrupt, "no seeds here");
  }
  lent_place place_of_sums(std::uint32_t) const override { return {}; }
  runtime::status map_sums(std::uint32_t, std::uint64_t, std::span<const std::byte>) override {
    return {};
  }
  void forget_sums() override {}
  policies::payload_handle sum_in_place(std::uint32_t, std::uint32_t) override {
    return policies::no_payload;
  }

 private:
  tests::small_ingress ingress_;
};

class recording_port final : public shard_port {
 public:
  runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) override {
    opened.push_back(job);
    return runtime::fail(errc::not_found, "no folder");
  }
  void write_part(std::uint64_t, const std::string& job, policies::file_writer) override {
    written.push_back(job);
  }
  void report(const policies::checkpoint_report& part) override { reports.push_back(part); }
  void give_way(bool) override {}
  void leave() override {}
  void give_up(const runtime::status&) override {}

  std::vector<std::string> opened;
  std::vector<std::string> written;
  std::vector<policies::checkpoint_report> reports;
};

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

  quiet_home home;
  small_memory memory;
  recording_port port;
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
  EXPECT_EQ(checkpoints.restore(call, chunks).code(), errc::not_found);
  EXPECT_EQ(port.opened, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace tidegate::actors
