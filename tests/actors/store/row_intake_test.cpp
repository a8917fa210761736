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

  runtime::size_pools pools_{std::make_shared<runtime::heap_source>()};
  row_intake intake_{pools_};
  runtime::id_coder coder_;
};

TEST_F(row_intake_of_a_shard, puts_ids_before_gradients_that_stay_where_they_are) {
  for (const std::size_t rows : {1, 7, 8, 9, 64, 65, 3000}) {
    pushed_batch pushed;
    write(pushed, rows);
    const auto sent = pushed.send(false, coder_);
    ASSERT_TRUE(sent.is_coded);
    auto batch = arrive(sent.bytes, intake_.lease_coded(sent.bytes.size(), intake_dim));
    const auto* const end = batch.data() + batch.size();
    ASSERT_TRUE(intake_.take_batch(batch, intake_dim).ok());
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
  const auto sent = pushed.send(false, coder_);
  auto batch = arrive(sent.bytes, intake_.lease_coded(sent.bytes.size(), intake_dim));
  batch.data()[runtime::row_batch_alignment + 8] = std::byte{65};  // a width
  const auto bytes = batch.bytes();
  EXPECT_EQ(intake_.take_batch(batch, intake_dim).code(), runtime::errc::corrupt);
  EXPECT_EQ(batch.data(), bytes.data());
  EXPECT_EQ(intake_.take_batch(batch, intake_dim + 1).code(), runtime::errc::corrupt);
}

TEST_F(row_intake_of_a_shard, takes_requests) {
  asked_rows asked;
  const auto ids = asked.begin(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 5 * i;
  const auto sent = asked.in_form(false);
  EXPECT_LT(sent.size(), 600U);
  auto request = arrive(sent, intake_.lease(sent.size()));
  ASSERT_TRUE(intake_.take_request(request).ok());
  const auto read = runtime::read_row_request(request.bytes());
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), read->ids.begin(), read->ids.end()));
}

TEST_F(row_intake_of_a_shard, of_a_request_without_memory_says_so) {
  asked_rows asked;
  asked.begin(1)[0] = 5;
  auto request = arrive(asked.in_form(false), intake_.lease(asked.in_form(false).size()));
  struct no_memory final : runtime::memory_source {
    runtime::region allocate(std::size_t) override { return {}; }
    void release(std::byte*, std::size_t, void*) noexcept override {}
  };
  runtime::size_pools empty(std::make_shared<no_memory>());
  row_intake short_of_memory(empty);
  EXPECT_EQ(short_of_memory.take_request(request).code(), runtime::errc::over_limit);
}

// What has been sent may be read until the push is acknowledged.
TEST(pushed_batch, stays_as_it_was_first_sent) {
  runtime::id_coder coder;
  for (const bool is_here : {true, false}) {
    pushed_batch pushed;
    const auto room = runtime::begin_row_batch(pushed.begin(10, 1), 10, 1);
    for (std::size_t i = 0; i < 10; ++i) room.ids[i] = i;
    const auto first = pushed.send(is_here, coder);
    const std::vector<std::byte> bytes(first.bytes.begin(), first.bytes.end());
    const auto again = pushed.send(!is_here, coder);
    EXPECT_EQ(first.is_coded, !is_here);
    EXPECT_EQ(again.is_coded, first.is_coded);
    EXPECT_EQ(again.bytes.data(), first.bytes.data());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), again.bytes.begin(), again.bytes.end()));
  }
}

}  // namespace
}  // namespace tidegate::actors
