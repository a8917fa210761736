#include "launch/bench/measure.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "launch/bench/pattern.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::bench {
namespace {

using runtime::kernels::optimizer_kind;
using testing::HasSubstr;

// The only rank of a server that adds up correctly until `wrong_clock`. Its gradients are in
// two places in turn.
class lone_rank final : public participant {
 public:
  explicit lone_rank(std::uint32_t wrong_clock) : wrong_clock_(wrong_clock) {}
  std::span<float> gradient(std::size_t) override { return gradients_[clock_ % 2]; }
  std::span<const float> parameters(std::size_t) const override { return parameters_; }
  runtime::status exchange() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i] -= gradients_[clock_ % 2][i] / 1024.0F;
    if (++clock_ == wrong_clock_) parameters_[17] += 0.25F;
    return {};
  }
  double servers_cpu_seconds() const override { return clock_; }
  std::uint32_t exchanges() const { return clock_; }

 private:
  std::uint32_t wrong_clock_;
  std::uint32_t clock_ = 0;
  std::vector<float> gradients_[2] = {std::vector<float>(20'000), std::vector<float>(20'000)};
  std::vector<float> parameters_ = std::vector<float>(20'000);
};

TEST(measure, records_and_verifies_every_iteration) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {1, 10});
  ASSERT_TRUE(shared);
  lone_rank right(0);
  const auto done = measure(*shared, {.rank = 0, .warmup = 3}, right);
  ASSERT_TRUE(done.ok()) << done.message();
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_GT(shared->exchange_ns(i), 0);
  EXPECT_EQ(shared->reported(0).verified, 10U);
  EXPECT_EQ(shared->reported(0).servers_cpu_seconds, 7);  // without the warm-up
}

TEST(measure, exchanges_in_a_row_are_of_one_gradient) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {1, 6});
  ASSERT_TRUE(shared);
  lone_rank right(0);
  const auto done = measure(*shared, {.rank = 0, .warmup = 2, .in_a_row = 5}, right);
  ASSERT_TRUE(done.ok()) << done.message();
  EXPECT_EQ(shared->reported(0).verified, 6U);
  EXPECT_EQ(right.exchanges(), 6U * exchanges_of_iteration(5));
}

TEST(measure, a_wrong_result_fails_it_and_says_where) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {1, 10});
  ASSERT_TRUE(shared);
  lone_rank wrong(4);
  const auto done = measure(*shared, {.rank = 0, .warmup = 2}, wrong);
  EXPECT_EQ(done.code(), runtime::errc::corrupt);
  EXPECT_THAT(done.message(), HasSubstr("rank 0, clock 4, element 17 of 20000: expected -"));
  EXPECT_THAT(shared->failure(), HasSubstr("rank 0, clock 4, element 17"));
}

TEST(measure, large_results_are_verified_first_last_and_now_and_then) {
  const auto large = verify_always_bytes_max + 4;
  EXPECT_TRUE(is_verified(3, 100, verify_always_bytes_max));
  EXPECT_TRUE(is_verified(0, 100, large));
  EXPECT_FALSE(is_verified(3, 100, large));
  EXPECT_TRUE(is_verified(8, 100, large));
  EXPECT_TRUE(is_verified(99, 100, large));
}

}  // namespace
}  // namespace tidegate::bench
