#include "actors/store/worker_rows.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/parts/row_part.hpp"

namespace tidegate::actors {
namespace {

using runtime::row_part;

constexpr std::uint32_t row_floats = 40;
constexpr std::uint64_t job_seed = 5;
constexpr std::uint64_t job_token = 6;
constexpr auto for_use = worker_rows::pull_kind::for_use;
constexpr auto ahead = worker_rows::pull_kind::ahead;

// A worker, and the only part of its table as the shard has it.
class rows_of_a_worker : public testing::Test {
 protected:
  rows_of_a_worker() : rows_(grant(), job_seed, job_token) {
    std::iota(ids_.begin(), ids_.end(), 1);
    out_.resize(ids_.size() * row_floats);
    move();
  }
  static policies::table_grant grant() {
    policies::table_grant grant;
    grant.name = "user";
    grant.elements = 1;
    grant.rows.dim = row_floats;
    return grant;
  }
  // Its rows are in another place from now on, those that were pushed are gone.
  void move() {
    runtime::row_part_options options;
    options.rows = {.name = "user", .capacity = 100, .dim = row_floats};
    options.keeps = 1;
    auto part = row_part::create(options);
    ASSERT_TRUE(part);
    part_ = std::make_unique<row_part>(std::move(*part));
    version_ = 0;
  }
  void step() {
    const auto parts = rows_.write_push(0, ids_, std::vector<float>(out_.size(), 1.0F));
    ASSERT_TRUE(parts);
    EXPECT_EQ(rows_.pushed_list(0, 0, true), std::nullopt);
    const auto batch = runtime::read_row_batch(rows_.batch(0, 0, false).bytes, row_floats);
    const runtime::batch_merger::input input{0, *batch};
    ASSERT_TRUE(
        part_
            ->apply({.options = {.clock = version_ + 1}, .from = version_, .to = version_ + 1},
                    {&input, 1})
            .ok());
    ++version_;
  }

  sent_payload send(worker_rows::pull_kind kind, std::optional<std::uint32_t> moves) {
    if (!moves) rows_.pulled_list(kind, 0);
    return rows_.request(kind, 0, moves, false);
  }
  // A request as a shard reads it, in this memory where it was coded.
  static runtime::row_request request_in(const sent_payload& sent,
                                         runtime::cache_lines& memory) {
    if (!sent.is_coded) return *runtime::read_row_request(sent.bytes);
    runtime::id_coder coder;
    const auto coded = *runtime::read_coded_request(sent.bytes);
    const auto ids = *coder.decode(coded.list.code, coded.list.ids);
    const auto plain = memory.resize(runtime::gather_request_bytes(ids.size()));
    runtime::write_request(coded.header, ids, plain);
    return *runtime::read_row_request(plain);
  }
  // The shard answers what the worker asks it. Returns how many bytes that were; 0: refused.
  std::size_t answer(std::optional<std::uint32_t> moves) {
    runtime::cache_lines memory;
    const auto request = request_in(send(for_use, moves), memory);
    runtime::cache_lines room;
    const auto into = room.resize(part_->answer_bytes(request));
    const auto bytes = part_->answer(version_, request, into);
    return take(into.first(bytes)) ? bytes : 0;
  }
  bool take(std::span<const std::byte> answer) {
    const auto room = rows_.room(for_use, 0, answer.size());
    if (room.size() != answer.size()) return false;
    std::copy(answer.begin(), answer.end(), room.begin());
    return true;
  }
  std::size_t bytes_of_values() const { return values_of(ids_.size()); }
  static std::size_t values_of(std::size_t rows) {
    return runtime::gather_answer_bytes(rows, row_floats);
  }
  // Asks for all rows ahead of their use; the answer arrives, or is cut off.
  void pull_ahead(bool arrives = true) {
    const auto asked = rows_.write_ahead(ids_);
    ASSERT_TRUE(asked);
    ASSERT_EQ(*asked, worker_rows::part_list{0});
    runtime::cache_lines memory;
    const auto request = request_in(send(ahead, {}), memory);
    runtime::cache_lines room;
    const auto into = room.resize(part_->answer_bytes(request));
    ASSERT_EQ(part_->answer(version_, request, into), into.size());
    const auto place = rows_.room(ahead, 0, into.size());
    ASSERT_EQ(place.size(), into.size());
    if (!arrives) {
      std::fill_n(place.begin(), place.size() / 2, std::byte{1});
      send(ahead, {});  // it is asked for again
      return;
    }
    std::copy(into.begin(), into.end(), place.begin());
  }
  // Whether the pull has ended with the rows of the part as they are.
  void expect_read() {
    const auto [unread, unmapped] = rows_.scatter(out_);
    EXPECT_TRUE(unread.empty());
    EXPECT_TRUE(unmapped.ok()) << unmapped.message();
    std::vector<float> expected(out_.size());
    part_->gather(version_, ids_, expected);
    EXPECT_EQ(out_, expected);
  }

  std::vector<std::uint64_t> ids_ = std::vector<std::uint64_t>(8);
  std::vector<float> out_;
  worker_rows rows_;
  std::unique_ptr<row_part> part_;
  std::uint32_t version_ = 0;
};

TEST_F(rows_of_a_worker, are_read_in_place_on_one_host_and_sent_elsewhere) {
  for (const std::optional<std::uint32_t> moves :
       {std::optional(0U), std::optional<std::uint32_t>()}) {
    step();
    ASSERT_TRUE(rows_.write_gather(ids_));
    EXPECT_EQ(answer(moves), moves ? runtime::row_lease_bytes : bytes_of_values());
    expect_read();
  }
}

TEST_F(rows_of_a_worker, that_are_stepped_before_they_are_read_are_sent_once) {
  step();
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes);
  step();
  const auto late = rows_.scatter(out_);
  EXPECT_EQ(late.unread, worker_rows::part_list{0});
  EXPECT_TRUE(late.unmapped.ok());
  EXPECT_EQ(answer(0), bytes_of_values());
  expect_read();
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes) << "the next pull is in place again";
  expect_read();
}

TEST_F(rows_of_a_worker, that_cannot_be_mapped_are_sent_until_their_shard_has_moved) {
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes);
  move();  // the memory that is leased has gone
  const auto lost = rows_.scatter(out_);
  EXPECT_EQ(lost.unread, worker_rows::part_list{0});
  EXPECT_EQ(lost.unmapped.code(), runtime::errc::unavailable);
  for (int pull = 0; pull < 2; ++pull) {
    EXPECT_EQ(answer(0), bytes_of_values());
    expect_read();
    ASSERT_TRUE(rows_.write_gather(ids_));
  }
  EXPECT_EQ(answer(1), runtime::row_lease_bytes);
  expect_read();
}

TEST_F(rows_of_a_worker, are_found_in_their_new_place_when_the_old_one_was_let_go) {
  for (int pull = 0; pull < 3; ++pull) {
    step();
    ASSERT_TRUE(rows_.write_gather(ids_));
    EXPECT_EQ(answer(0), runtime::row_lease_bytes);
    if (pull == 1) rows_.let_go();
    expect_read();
    rows_.let_go();
    move();
  }
}

TEST_F(rows_of_a_worker, asked_for_ahead_come_again_if_they_have_changed) {
  step();
  pull_ahead();
  // Rows of the clock at which they were asked for may have been stepped after that.
  for (const auto& [pushed, come] : std::vector<std::pair<std::vector<std::uint64_t>, int>>{
           {{3}, 8}, {{3, 5}, 2}, {{7}, 3}, {ids_, 8}}) {
    const auto all = std::exchange(ids_, pushed);
    out_.resize(ids_.size() * row_floats);
    step();
    ids_ = all;
    out_.resize(ids_.size() * row_floats);
    ASSERT_TRUE(rows_.write_gather(ids_));
    EXPECT_EQ(answer({}), runtime::row_changes_bytes(ids_.size(), come, row_floats));
    expect_read();
  }
}

TEST_F(rows_of_a_worker, asked_for_ahead_are_of_no_use_to_other_ids_or_another_shard) {
  step();
  pull_ahead();
  const auto all = std::exchange(ids_, {1, 2, 3, 4, 5, 6, 7, 9});
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer({}), bytes_of_values());
  expect_read();
  ids_ = all;
  move();
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer({}), runtime::row_changes_bytes(ids_.size(), ids_.size(), row_floats));
  expect_read();
}

TEST_F(rows_of_a_worker, asked_for_ahead_whose_answer_was_lost_are_pulled) {
  pull_ahead(false);
  step();
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer({}), bytes_of_values());
  expect_read();
}

TEST_F(rows_of_a_worker, read_in_place_are_not_asked_for_ahead) {
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes);
  expect_read();
  EXPECT_TRUE(rows_.write_ahead(ids_)->empty());
}

TEST_F(rows_of_a_worker, a_lease_that_was_not_asked_for_is_refused) {
  step();
  ASSERT_TRUE(rows_.write_gather(ids_));
  send(for_use, {});
  std::vector<std::byte> lease(runtime::row_lease_bytes);
  runtime::encode({.place = part_->table().place(), .version = part_->table().view().version()},
                  lease);
  EXPECT_FALSE(take(lease));
}

TEST(rows_of_a_table, have_coded_ids_between_hosts_if_they_are_short) {
  for (const auto dim : {1U, runtime::coded_dim_most, runtime::coded_dim_most + 1}) {
    policies::table_grant grant;
    grant.name = "user";
    grant.elements = 1;
    grant.rows.dim = dim;
    worker_rows rows(grant, job_seed, job_token);
    const std::vector<std::uint64_t> ids = {3, 5, 9};
    ASSERT_TRUE(rows.write_push(0, ids, std::vector<float>(ids.size() * dim, 1.0F)));
    ASSERT_TRUE(rows.write_gather(ids));
    const bool is_short = dim <= runtime::coded_dim_most;
    EXPECT_EQ(rows.sends_plain_ids(false), !is_short);
    EXPECT_EQ(rows.pushed_list(0, 0, false).has_value(), is_short);
    EXPECT_EQ(rows.batch(0, 0, false).is_coded, is_short);
    if (is_short) rows.pulled_list(for_use, 0);
    EXPECT_EQ(rows.request(for_use, 0, std::nullopt, false).is_coded, is_short) << dim;
    EXPECT_TRUE(rows.sends_plain_ids(true)) << "on this host";
  }
}

TEST_F(rows_of_a_worker, pages_are_never_leased) {
  step();
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes);
  expect_read();
  rows_.write_scan(0, {});
  EXPECT_EQ(answer(0), runtime::row_batch_bytes(ids_.size(), row_floats));
  const auto page = rows_.page(0);
  ASSERT_TRUE(page);
  EXPECT_TRUE(std::equal(ids_.begin(), ids_.end(), page->ids.begin(), page->ids.end()));
  ASSERT_TRUE(rows_.write_gather(ids_));
  EXPECT_EQ(answer(0), runtime::row_lease_bytes);
  expect_read();
}

}  // namespace
}  // namespace tidegate::actors
