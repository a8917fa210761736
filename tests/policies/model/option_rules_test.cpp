#include "policies/model/option_rules.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<float>::infinity();

void expect_refused(const optimizer_options& options, const std::string& option,
                    const std::string& allowed) {
  const auto spec = checked_optimizer(options, "fc1");
  ASSERT_FALSE(spec) << option;
  EXPECT_EQ(spec.error().code(), errc::invalid_argument);
  EXPECT_THAT(spec.error().message(), AllOf(HasSubstr("options of table 'fc1': " + option),
                                            HasSubstr("; allowed: " + allowed)));
}

TEST(option_rules, options_that_are_not_given_have_the_defaults_of_the_optimizer) {
  for (const auto& known : runtime::optimizers_known) {
    const auto spec = checked_optimizer({.name = known.name}, "t");
    ASSERT_TRUE(spec) << known.name;
    EXPECT_EQ(*spec, default_optimizer(known.kind)) << known.name;
  }
}

TEST(option_rules, every_optimizer_takes_its_own_options_and_no_others) {
  for (const auto& known : runtime::optimizers_known)
    for (const auto& rule : optimizer_rules) {
      optimizer_options options{.name = known.name};
      options.*rule.given = 0.25F;
      const auto spec = checked_optimizer(options, "t");
      ASSERT_EQ(static_cast<bool>(spec), rule.belongs_to(known.kind))
          << known.name << " " << rule.name;
      if (!spec) continue;
      EXPECT_EQ(*spec.*rule.value, 0.25F) << known.name << " " << rule.name;
    }
}

TEST(option_rules, values_out_of_range_are_refused_with_option_value_and_range) {
  for (const auto& rule : optimizer_rules)
    for (const float value : {-1.0F, nan, infinity, -infinity}) {
      for (const auto& known : runtime::optimizers_known) {
        if (!rule.belongs_to(known.kind)) continue;
        optimizer_options options{.name = known.name};
        options.*rule.given = value;
        expect_refused(options, "optimizer." + std::string(rule.name) + ": ",
                       std::string(rule.allowed));
      }
    }
  expect_refused({.name = "sgd", .learning_rate = -1.0F}, "optimizer.learning_rate: -1 is out",
                 "a finite number >= 0");
  expect_refused({.name = "momentum", .momentum = 5.0F}, "optimizer.momentum: 5 is out",
                 ">= 0 and < 1");
  expect_refused({.name = "adam", .beta2 = 1.0F}, "optimizer.beta2: 1 is out", ">= 0 and < 1");
  expect_refused({.name = "adam", .epsilon = 0.0F}, "optimizer.epsilon: 0 is out",
                 "a finite number > 0");
}

TEST(option_rules, an_option_of_another_optimizer_names_those_that_have_it) {
  expect_refused({.name = "sgd", .momentum = 0.5F},
                 "optimizer.momentum: 0.5 does not belong to optimizer 'sgd'",
                 "only with name momentum, nesterov");
}

TEST(option_rules, rules_of_plugins_are_named_behind_a_prefix) {
  const auto spec = checked_optimizer(
      {.name = "plugin:lion", .beta1 = 0.7F, .reduce = "plugin:strongest", .states = 2}, "t");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, optimizer_kind::plugin);
  EXPECT_EQ(spec->rule.view(), "lion");
  EXPECT_EQ(spec->beta1, 0.7F);
  EXPECT_EQ(spec->reduce, runtime::reduction::plugin);
  EXPECT_EQ(spec->reduce_rule.view(), "strongest");
  EXPECT_EQ(state_arrays(*spec), 2U);
  EXPECT_EQ(runtime::name_of(*spec), "plugin:lion");
  for (const auto* name : {"plugin:", "plugin:a b", "plugin:a.name.of.24.letters....", "lion"})
    expect_refused({.name = name}, std::string("optimizer.name: '") + name + "' is not known",
                   "sgd, momentum");
  expect_refused({.name = "sgd", .reduce = "plugin:"}, "optimizer.reduce: 'plugin:'",
                 "mean, sum");
  expect_refused({.name = "sgd", .states = 0}, "optimizer.states: 0",
                 "0 to 2; only with name plugin:NAME");
  expect_refused({.states = 1}, "optimizer.states is given without", "sgd, momentum");
}

TEST(option_rules, a_schedule_has_the_defaults_of_its_kind) {
  using runtime::schedule_kind;
  const auto read = [](const schedule_options& schedule) {
    const auto spec = checked_optimizer({.name = "sgd", .schedule = schedule}, "t");
    EXPECT_TRUE(spec);
    return spec ? spec->schedule : runtime::rate_schedule();
  };
  EXPECT_EQ(read({.kind = "constant", .warmup = 7}), (runtime::rate_schedule{.warmup = 7}));
  EXPECT_EQ(read({.kind = "step", .clocks = 5}),
            (runtime::rate_schedule{
                .kind = schedule_kind::step, .warmup = 0, .clocks = 5, .factor = 0.1F}));
  EXPECT_EQ(read({.kind = "cosine", .clocks = 5}),
            (runtime::rate_schedule{.kind = schedule_kind::cosine, .clocks = 5}));
}

TEST(option_rules, a_schedule_that_makes_no_sense_is_refused) {
  const auto expect = [](const schedule_options& schedule, const std::string& option,
                         const std::string& allowed) {
    expect_refused({.name = "sgd", .schedule = schedule}, option, allowed);
  };
  expect({.kind = "linear"}, "optimizer.schedule.kind: 'linear' is not known",
         "constant, step, cosine");
  expect({.kind = "step"}, "optimizer.schedule.clocks: 0 is out of range", "1 to 4294967295");
  expect({.kind = "step", .clocks = 1ULL << 32}, "optimizer.schedule.clocks: 4294967296",
         "1 to 4294967295");
  expect({.kind = "constant", .warmup = 1ULL << 32}, "optimizer.schedule.warmup: 4294967296",
         "0 to 4294967295");
  expect({.kind = "constant", .clocks = 5}, "optimizer.schedule: clocks and factor",
         "only with kind step, cosine");
  for (const float factor : {-0.5F, 1.5F, nan, infinity})
    expect({.kind = "cosine", .clocks = 5, .factor = factor},
           "optimizer.schedule.factor: ", ">= 0 and <= 1");
  expect_refused({.name = "assign", .schedule = schedule_options{.kind = "constant"}},
                 "optimizer.schedule does not belong to optimizer 'assign'",
                 "only with name sgd, momentum");
  expect_refused({.schedule = schedule_options{.kind = "constant"}},
                 "optimizer.schedule is given without a name", "sgd");
}

TEST(option_rules, an_option_without_a_name_is_refused) {
  EXPECT_TRUE(checked_optimizer({}, "t"));
  expect_refused(
      {.learning_rate = 0.1F},
      "optimizer.learning_rate is given without a name of an optimizer",
      "sgd, momentum, nesterov, adagrad, adam, adamw, assign, proximal, rowwise_adagrad, ftrl, "
      "group_adagrad, plugin:NAME; or no option at all");
}

TEST(option_rules, first_values_are_finite_and_of_one_kind) {
  const auto uniform = checked_init({.uniform = 0.5F}, "t");
  ASSERT_TRUE(uniform);
  EXPECT_EQ(*uniform, (init_spec{init_kind::uniform, 0.5F}));
  const auto constant = checked_init({.constant = -2.0F}, "t");
  ASSERT_TRUE(constant);
  EXPECT_EQ(*constant, (init_spec{init_kind::constant, -2.0F}));
  const auto pushed = checked_init({.pushed = true}, "t");
  ASSERT_TRUE(pushed);
  EXPECT_EQ(*pushed, (init_spec{init_kind::pushed, 0.0F}));
  const std::pair<init_options, std::string> refused[] = {
      {{.uniform = -1.0F}, "init_uniform: -1 is out of range; allowed: a finite number >= 0"},
      {{.uniform = nan}, "init_uniform: nan"},
      {{.uniform = infinity}, "init_uniform: inf"},
      {{.constant = nan}, "init_constant: nan is out of range; allowed: a finite number"},
      {{.constant = -infinity}, "init_constant: -inf"},
      {{.uniform = 1.0F, .constant = 1.0F},
       "init_uniform: 1 and init_constant: 1 are both given; allowed: one of them"},
      {{.uniform = 1.0F, .pushed = true},
       "init_pushed and init_uniform: 1 are both given; allowed: one of them"},
      {{.constant = 2.0F, .pushed = true}, "init_pushed and init_constant: 2 are both given"}};
  for (const auto& [options, message] : refused) {
    const auto init = checked_init(options, "fc1");
    ASSERT_FALSE(init) << message;
    EXPECT_EQ(init.error().code(), errc::invalid_argument);
    EXPECT_THAT(init.error().message(), HasSubstr("options of table 'fc1': " + message));
  }
}

}  // namespace
}  // namespace tidegate::policies
