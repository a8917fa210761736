#include "actors/session/optimizers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/config/words.hpp"

namespace tidegate::actors {
namespace {

using policies::optimizer_kind;

TEST(optimizers, have_the_names_and_defaults_that_yaml_gives_them) {
  for (const auto& [name, kind] : launch::optimizer_words) {
    optimizer wanted;
    wanted.name = name;
    const auto spec = to_spec(wanted, "t");
    ASSERT_TRUE(spec) << name;
    EXPECT_EQ(*spec, policies::default_optimizer(kind)) << name;
  }
}

TEST(optimizers, take_what_is_given) {
  optimizer wanted;
  wanted.name = "adamw";
  wanted.learning_rate = 0.1F;
  wanted.beta1 = 0.3F;
  wanted.beta2 = 0.4F;
  wanted.epsilon = 0.5F;
  wanted.weight_decay = 0.6F;
  wanted.clip_value = 0.7F;
  wanted.lazy = true;
  wanted.reduce = "max";
  wanted.schedule = schedule{.kind = "cosine", .warmup = 5, .clocks = 9, .factor = 0.5F};
  auto expected = policies::default_optimizer(optimizer_kind::adamw);
  expected.learning_rate = 0.1F;
  expected.beta1 = 0.3F;
  expected.beta2 = 0.4F;
  expected.epsilon = 0.5F;
  expected.weight_decay = 0.6F;
  expected.clip_value = 0.7F;
  expected.lazy = true;
  expected.reduce = runtime::reduction::max;
  expected.schedule = {
      .kind = runtime::schedule_kind::cosine, .warmup = 5, .clocks = 9, .factor = 0.5F};
  const auto spec = to_spec(wanted, "t");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(*spec, expected);
}

TEST(optimizers, without_a_name_are_not_lazy) {
  optimizer wanted;
  wanted.lazy = true;
  const auto spec = to_spec(wanted, "fc1");
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message(),
              testing::HasSubstr("optimizer.lazy is given without a name of an optimizer"));
}

TEST(optimizers, that_are_not_known_are_refused_by_name) {
  optimizer wanted;
  wanted.name = "adagrid";
  const auto spec = to_spec(wanted, "fc1");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code(), runtime::errc::invalid_argument);
  EXPECT_THAT(spec.error().message(),
              testing::AllOf(testing::HasSubstr("options of table 'fc1'"),
                             testing::HasSubstr("'adagrid' is not known"),
                             testing::HasSubstr("sgd, momentum, nesterov, adagrad")));
}

}  // namespace
}  // namespace tidegate::actors
