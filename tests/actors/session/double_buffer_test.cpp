// The double buffer of gradients: what was written last is written again once shards have
// summed it, and never before.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {
namespace {

using tidegate::session;

constexpr std::uint64_t elements = 3000;

class double_buffer : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    first_ = join(0);
    second_ = join(1);
  }
  std::unique_ptr<session> join(std::uint32_t rank) {
    auto result = cluster_.join("job", rank);
    EXPECT_TRUE(result.has_value());
    auto joined = std::make_unique<session>(std::move(*result));
    tables_[rank] = *joined->open_table("w", {elements});
    return joined;
  }
  const float* write(session& member, std::uint32_t rank, float value) {
    const auto gradient = member.gradient(tables_[rank]);
    std::ranges::fill(gradient, value);
    return gradient.data();
  }

  runtime::loopback_network network_;
  local_cluster cluster_{
      small_cluster(2, 2, {policies::consistency_kind::bsp, 0}, 4096),
      [this] {
        return runtime::expected<std::unique_ptr<runtime::link>>(network_.make_link());
      },
      GetParam()};
  std::unique_ptr<session> first_, second_;
  tidegate::table tables_[2];
};

// The first worker is a clock ahead: no shard has read its first gradient when it writes its
// second.
TEST_P(double_buffer, is_not_written_while_a_push_is_under_way) {
  const auto* entry = write(*first_, 0, 1.0F);
  const auto early = first_->push(tables_[0]);
  ASSERT_TRUE(first_->clock().ok());
  const auto* other = write(*first_, 0, 1000.0F);
  EXPECT_NE(entry, other);
  EXPECT_FALSE(early.ready());
  write(*second_, 1, 1.0F);
  const auto late = second_->push(tables_[1]);
  ASSERT_TRUE(early.wait().ok());
  ASSERT_TRUE(late.wait().ok());
  EXPECT_EQ(first_->gradient(tables_[0]).data(), other) << "chosen for this clock";
  ASSERT_TRUE(first_->pull(tables_[0]).wait().ok());
  const auto values = first_->parameters(tables_[0]);
  ASSERT_EQ(values.size(), elements);
  // SGD with the mean of two ones.
  for (const float value : values) ASSERT_EQ(value, -0.5F);
}

TEST_P(double_buffer, is_the_same_when_everything_is_summed) {
  const auto* before = write(*first_, 0, 1.0F);
  for (int clock = 0; clock < 3; ++clock) {
    EXPECT_EQ(write(*first_, 0, 1.0F), before);
    write(*second_, 1, 1.0F);
    const auto late = second_->push(tables_[1]);
    ASSERT_TRUE(second_->clock().ok());
    ASSERT_TRUE(first_->exchange({&tables_[0], 1}).ok());
    ASSERT_TRUE(late.wait().ok());
  }
}

// The acknowledgements have come, and nobody has looked: shards have answered a call of the
// other worker since they sent them.
TEST_P(double_buffer, is_the_same_when_everything_is_summed_as_a_look_shows) {
  const auto* value = write(*first_, 0, 1.0F);
  const auto early = first_->push(tables_[0]);
  ASSERT_TRUE(first_->clock().ok());
  write(*second_, 1, 1.0F);
  ASSERT_TRUE(second_->push(tables_[1]).wait().ok());
  ASSERT_TRUE(second_->clock().ok());
  ASSERT_TRUE(second_->pull(tables_[1]).wait().ok());
  EXPECT_EQ(first_->gradient(tables_[0]).data(), value);
  EXPECT_TRUE(early.ready());
}

// Both halves are under way: clocks end and pulls begin, and whoever wants to write waits.
TEST_P(double_buffer, is_waited_for_by_who_writes_and_not_by_who_reads) {
  std::vector<tidegate::pending> pushes;
  for (int clock = 0; clock < 2; ++clock) {
    write(*first_, 0, 1.0F);
    pushes.push_back(first_->push(tables_[0]));
    ASSERT_TRUE(first_->clock().ok());
  }
  const auto ahead = first_->pull(tables_[0]);
  EXPECT_FALSE(pushes[0].ready() || ahead.ready());
  std::thread writer([&] {
    write(*first_, 0, 1.0F);
    EXPECT_TRUE(pushes[0].ready()) << "the shards have summed what lay there";
    EXPECT_FALSE(pushes[1].ready());
  });
  write(*second_, 1, 1.0F);
  ASSERT_TRUE(second_->push(tables_[1]).wait().ok());
  writer.join();
  ASSERT_TRUE(second_->clock().ok());
  write(*second_, 1, 1.0F);
  const auto late = second_->push(tables_[1]);
  ASSERT_TRUE(ahead.wait().ok());
  ASSERT_TRUE(late.wait().ok());
  const auto values = first_->parameters(tables_[0]);
  ASSERT_EQ(values.size(), elements);
  for (const float value : values) ASSERT_EQ(value, -1.0F);
}

// Whoever pushes memory of its own keeps no pending: after clock() that of the clock before the
// last is free.
TEST_P(double_buffer, two_buffers_of_the_program_suffice) {
  const std::vector<float> values(elements, 1.0F);
  std::atomic<bool> begins_second{false};
  std::thread writer([&] {
    const auto early = first_->push(tables_[0], values);
    EXPECT_TRUE(first_->clock().ok());
    const auto late = first_->push(tables_[0], values);
    begins_second = true;
    EXPECT_TRUE(first_->clock().ok());
    EXPECT_TRUE(early.ready());
    EXPECT_FALSE(late.ready());
  });
  while (!begins_second) std::this_thread::yield();
  ASSERT_TRUE(second_->push(tables_[1], values).wait().ok());
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(windows, double_buffer, testing::Values(true, false),
                         [](const auto& windows) { return windows.param ? "shared" : "sent"; });

}  // namespace
}  // namespace tidegate::tests
