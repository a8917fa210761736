#include "actors/store/row_intake.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "actors/store/asked_rows.hpp"
#include "actors/store/pushed_batch.hpp"
#include "runtime/memory/memory_source.hpp"

namespace tidegate::actors {
namespace {

constexpr std::uint32_t intake_dim = 2;
constexpr std::uint64_t names = 17;  // their key

class row_intake_of_a_shard : public testing::Test {
 protected:
  // What has been sent arrives.
  runtime::buffer arrive(std::span<const std::byte> bytes, runtime::buffer place) {
    EXPECT_EQ(place.size(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), place.data());
    return place;
  }
  // A push of multiples of a number.
  std::span<float> write(pushed_batch& batch, std::size_t rows) {
    const auto room =
        runtime::begin_row_batch(batch.begin(static_cast<std::uint32_t>(rows), intake_dim),
                                 static_cast<std::uint32_t>(rows), intake_dim);
    for (std::size_t i = 0; i < rows; ++i) room.ids[i] = 300 * (i + 1);
    for (std::size_t i = 0; i < room.values.size(); ++i) room.values[i] = static_cast<float>(i);
    return room.values;
  }

  sent_payload send(pushed_batch& batch, bool names_list) {
    EXPECT_TRUE(batch.list(false, coder_, names));
    return batch.payload(names_list);
  }

  runtime::size_pools pools_{std::make_shared<runtime::heap_source>()};
  row_intake intake_{pools_};
  runtime::id_coder coder_;
  runtime::kept_lists kept_;
  row_intake::lists from_{.kept = kept_, .key = names};
};

TEST_F(row_intake_of_a_shard, puts_ids_before_gradients_that_stay_where_they_are) {
  for (const std::size_t rows : {1, 7, 8, 9, 64, 65, 3000}) {
    pushed_batch pushed;
    write(pushed, rows);
    const auto sent = send(pushed, false);
    ASSERT_TRUE(sent.is_coded);
    auto batch = arrive(sent.bytes, intake_.lease_coded(sent.bytes.size(), intake_dim));
    const auto* const end = batch.data() + batch.size();
    ASSERT_TRUE(intake_.take_batch(batch, intake_dim, from_).ok());
    EXPECT_EQ(batch.data() + batch.size(), end);
    const auto read = runtime::read_row_batch(batch.bytes(), intake_dim);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(read->ids.size(), rows);
    for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(read->ids[i], 300 * (i + 1));
    for (std::size_t i = 0; i < read->values.size(); ++i)
      EXPECT_EQ(read->values[i], static_cast<float>(i));
  }
  EXPECT_EQ(pools_.leased(), 0U);
}

TEST_F(row_intake_of_a_shard, refuses_what_is_no_code_and_leaves_it) {
  pushed_batch pushed;
  write(pushed, 100);
  const auto sent = send(pushed, false);
  auto batch = arrive(sent.bytes, intake_.lease_coded(sent.bytes.size(), intake_dim));
  batch.data()[runtime::row_batch_alignment + 8] = std::byte{65};  // a width
  const auto bytes = batch.bytes();
  EXPECT_EQ(intake_.take_batch(batch, intake_dim, from_).code(), runtime::errc::corrupt);
  EXPECT_EQ(batch.data(), bytes.data());
  EXPECT_EQ(intake_.take_batch(batch, intake_dim + 1, from_).code(), runtime::errc::corrupt);
}

TEST_F(row_intake_of_a_shard, takes_requests) {
  asked_rows asked;
  const auto ids = asked.begin(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 5 * i;
  asked.list(names);
  const auto sent = asked.coded(false);
  EXPECT_LT(sent.size(), 600U);
  auto request = arrive(sent, intake_.lease(sent.size()));
  ASSERT_TRUE(intake_.take_request(request, from_).ok());
  const auto read = runtime::read_row_request(request.bytes());
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), read->ids.begin(), read->ids.end()));
}

TEST_F(row_intake_of_a_shard, finds_a_list_by_its_name_once_it_has_come) {
  pushed_batch pushed;
  write(pushed, 100);
  const auto named = send(pushed, true);
  auto unknown = arrive(named.bytes, intake_.lease_coded(named.bytes.size(), intake_dim));
  EXPECT_EQ(intake_.take_batch(unknown, intake_dim, from_).code(), runtime::errc::not_found);
  const auto listed = send(pushed, false);
  auto first = arrive(listed.bytes, intake_.lease_coded(listed.bytes.size(), intake_dim));
  ASSERT_TRUE(intake_.take_batch(first, intake_dim, from_).ok());
  ASSERT_TRUE(intake_.take_batch(unknown, intake_dim, from_).ok()) << "it is as it was";
  ASSERT_EQ(unknown.size(), first.size());
  EXPECT_TRUE(std::equal(first.bytes().begin(), first.bytes().end(), unknown.data()));
  // A pull of the same ids needs no list, either.
  asked_rows asked;
  const auto ids = asked.begin(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 300 * (i + 1);
  asked.list(names);
  auto request = arrive(asked.coded(true), intake_.lease(64));
  ASSERT_TRUE(intake_.take_request(request, from_).ok());
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(),
                         runtime::read_row_request(request.bytes())->ids.begin()));
}

TEST_F(row_intake_of_a_shard, refuses_a_list_with_the_name_of_another) {
  pushed_batch pushed;
  write(pushed, 100);
  const auto sent = send(pushed, false);
  auto batch = arrive(sent.bytes, intake_.lease_coded(sent.bytes.size(), intake_dim));
  row_intake::lists other{.kept = kept_, .key = names + 1};
  EXPECT_EQ(intake_.take_batch(batch, intake_dim, other).code(), runtime::errc::corrupt);
  EXPECT_EQ(kept_.size(), 0U);
  EXPECT_TRUE(intake_.take_batch(batch, intake_dim, from_).ok());
}

TEST_F(row_intake_of_a_shard, of_a_request_without_memory_says_so) {
  asked_rows asked;
  asked.begin(1)[0] = 5;
  asked.list(names);
  const auto sent = asked.coded(false);
  auto request = arrive(sent, intake_.lease(sent.size()));
  struct no_memory final : runtime::memory_source {
    runtime::region allocate(std::size_t) override { return {}; }
    void release(std::byte*, std::size_t, void*) noexcept override {}
  };
  runtime::size_pools empty(std::make_shared<no_memory>());
  row_intake short_of_memory(empty);
  EXPECT_EQ(short_of_memory.take_request(request, from_).code(), runtime::errc::over_limit);
}

// What has been sent may be read until the push is acknowledged.
TEST(pushed_batch, stays_as_it_was_first_sent) {
  runtime::id_coder coder;
  for (const bool is_here : {true, false}) {
    pushed_batch pushed;
    const auto room = runtime::begin_row_batch(pushed.begin(10, 1), 10, 1);
    for (std::size_t i = 0; i < 10; ++i) room.ids[i] = i;
    EXPECT_EQ(pushed.list(is_here, coder, names).has_value(), !is_here);
    const auto first = pushed.payload(false);
    const std::vector<std::byte> bytes(first.bytes.begin(), first.bytes.end());
    const auto list = pushed.list(!is_here, coder, names);
    EXPECT_EQ(list.has_value(), !is_here) << "as before";
    pushed.payload(true);
    const auto again = pushed.payload(false);
    EXPECT_EQ(first.is_coded, !is_here);
    EXPECT_EQ(again.is_coded, first.is_coded);
    EXPECT_EQ(again.bytes.data(), first.bytes.data());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), again.bytes.begin(), again.bytes.end()));
  }
}

}  // namespace
}  // namespace tidegate::actors
