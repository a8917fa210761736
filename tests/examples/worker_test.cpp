// The worker's loop against a session in memory: it learns a small data set, keeps the
// session's rules and passes errors up.
#include "examples/fashion_mnist/worker.hpp"

#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/examples/fake_session.hpp"

namespace tidegate::examples {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t pixels = 16;

// Class k lights up pixels 4k .. 4k + 3, with noise.
labelled_images make_images(std::uint32_t count, std::uint64_t seed) {
  splitmix64 random(seed);
  labelled_images data{.count = count, .pixels = pixels, .images = {}, .labels = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t label = random.below(4);
    data.labels.push_back(static_cast<std::uint8_t>(label));
    for (std::uint32_t p = 0; p < pixels; ++p) {
      data.images.push_back(
          static_cast<std::uint8_t>(random.below(100) + (p / 4 == label ? 120 : 0)));
    }
  }
  return data;
}

training_options options_of(std::vector<std::uint32_t> widths) {
  return {.widths = std::move(widths),
          .epochs = 5,
          .batch = 10,
          .kernels = *select_kernels(simd_level::automatic)};
}

class worker_test : public testing::Test {
 protected:
  status train(const training_options& options) {
    auto result = worker<fake_session>::make(session_, train_set_, options);
    if (!result) return result.error();
    work_.emplace(std::move(*result));
    return work_->train();
  }

  const labelled_images train_set_ = make_images(400, 1);
  const labelled_images test_set_ = make_images(200, 2);
  std::optional<worker<fake_session>> work_;
  fake_session session_;
};

TEST_F(worker_test, softmax_learns) {
  ASSERT_TRUE(train(options_of({pixels, 4})));
  ASSERT_TRUE(work_->report_final(train_set_, test_set_));
  EXPECT_GT(session_.metrics.at("test_accuracy"), 0.95);
  EXPECT_LT(session_.metrics.at("loss"), 0.3);
}

TEST_F(worker_test, mlp_learns) {
  session_.init = 0.3F;
  ASSERT_TRUE(train(options_of({pixels, 12, 8, 4})));
  ASSERT_TRUE(work_->report_final(train_set_, test_set_));
  EXPECT_GT(session_.metrics.at("test_accuracy"), 0.95);
  EXPECT_LE(session_.metrics.at("test_accuracy"), 1.0);
}

TEST_F(worker_test, keeps_the_rules_of_a_session) {
  ASSERT_TRUE(train(options_of({pixels, 4})));
  EXPECT_EQ(session_.now(), 5U * 400 / 10);
  EXPECT_EQ(session_.broken_rules, 0U) << "a gradient was written while its push was under way";
  EXPECT_EQ(session_.in_flight.size(), 2U) << "a push per table, of the last clock";
}

TEST_F(worker_test, reports_progress) {
  ASSERT_TRUE(train(options_of({pixels, 4})));
  ASSERT_GE(session_.reports.size(), 10U);
  const auto& last = session_.reports.back();
  EXPECT_EQ(last.clocks_total, 200U);
  EXPECT_DOUBLE_EQ(last.epoch, 5.0);
  EXPECT_EQ(last.samples, 2000U);
  EXPECT_LT(last.loss, session_.reports.front().loss);
}

TEST_F(worker_test, a_restarted_worker_goes_on_where_the_other_was) {
  ASSERT_TRUE(train(options_of({pixels, 4})));
  const auto whole = session_.values();

  fake_session interrupted;
  interrupted.fail_clock_at = 77;
  auto options = options_of({pixels, 4});
  {
    auto first = worker<fake_session>::make(interrupted, train_set_, options);
    ASSERT_FALSE(first->train());
  }
  interrupted.fail_clock_at = ~0ULL;
  auto second = worker<fake_session>::make(interrupted, train_set_, options);
  ASSERT_TRUE(second->train());
  EXPECT_EQ(interrupted.values(), whole);
}

TEST_F(worker_test, passes_errors_up_with_their_place) {
  session_.fail_pull = {errc::unavailable, "shard 1 is gone"};
  const auto s = train(options_of({pixels, 4}));
  EXPECT_EQ(s.code(), errc::unavailable);
  EXPECT_THAT(s.message(), HasSubstr("pull fc1.weight: shard 1 is gone"));
}

TEST_F(worker_test, refuses_what_cannot_work) {
  auto options = options_of({pixels, 4});
  options.batch = 500;
  EXPECT_EQ(train(options).code(), errc::invalid_argument);
  EXPECT_THAT(train(options_of({784, 10})).message(), HasSubstr("16 pixels, not 784"));
}

}  // namespace
}  // namespace tidegate::examples
