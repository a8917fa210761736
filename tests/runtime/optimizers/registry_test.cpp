#include "runtime/optimizers/registry.hpp"

#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

TEST(optimizer_registry, names_and_numbers_belong_to_a_single_optimizer) {
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (const auto& traits : optimizers_known) {
    EXPECT_TRUE(names.insert(traits.name).second) << traits.name;
    EXPECT_TRUE(numbers.insert(static_cast<int>(traits.kind)).second) << traits.name;
    EXPECT_EQ(find_optimizer(traits.name), traits.kind);
    EXPECT_EQ(find_optimizer(static_cast<std::uint64_t>(traits.kind)), traits.kind);
    EXPECT_EQ(traits.defaults.kind, traits.kind) << traits.name;
    EXPECT_LE(traits.state_arrays, 2u) << traits.name;
    EXPECT_TRUE(contains(traits.options, optimizer_option::learning_rate)) << traits.name;
  }
}

// Journals and checkpoints of earlier versions have these.
TEST(optimizer_registry, numbers_stay_what_they_were) {
  const std::pair<std::string_view, int> known[] = {
      {"sgd", 0},      {"momentum", 1},      {"adam", 2},
      {"nesterov", 3}, {"adagrad", 4},       {"adamw", 5},
      {"assign", 6},   {"proximal", 7},      {"rowwise_adagrad", 8},
      {"ftrl", 9},     {"group_adagrad", 10}};
  for (const auto& [name, number] : known) {
    ASSERT_TRUE(find_optimizer(name)) << name;
    EXPECT_EQ(static_cast<int>(*find_optimizer(name)), number) << name;
  }
}

TEST(optimizer_registry, does_not_find_others) {
  EXPECT_FALSE(find_optimizer("adagrid"));
  EXPECT_FALSE(find_optimizer(std::uint64_t{255}));
  EXPECT_FALSE(find_optimizer(~std::uint64_t{0}));
}

TEST(optimizer_registry, lists_the_optimizers_that_have_an_option) {
  EXPECT_EQ(optimizer_names(optimizer_option::epsilon, " or "),
            "adagrad, adam, adamw, rowwise_adagrad, group_adagrad or plugin:NAME");
  EXPECT_EQ(optimizer_names(optimizer_option::weight_decay, " or "), "adamw or plugin:NAME");
}

TEST(optimizer_registry, lists_those_of_rows_and_those_of_dense_tables) {
  EXPECT_EQ(row_optimizer_names(),
            "sgd, adagrad, adam, proximal, rowwise_adagrad, ftrl, group_adagrad, plugin:NAME");
  EXPECT_EQ(dense_optimizer_names(),
            "sgd, momentum, nesterov, adagrad, adam, adamw, assign, proximal, plugin:NAME");
}

TEST(optimizer_registry, has_any_rule_of_a_plugin_by_its_name) {
  EXPECT_EQ(find_optimizer("plugin:lion"), optimizer_kind::plugin);
  EXPECT_EQ(find_optimizer(11U), optimizer_kind::plugin);
  EXPECT_EQ(find_optimizer("plugin:"), std::nullopt);
  EXPECT_EQ(find_optimizer("lion"), std::nullopt);
  auto options = traits_of(optimizer_kind::plugin).defaults;
  options.rule = *rule_of_word("plugin:lion");
  options.rule_states = 2;
  EXPECT_EQ(name_of(options), "plugin:lion");
  EXPECT_EQ(state_arrays(options), 2U);
  EXPECT_EQ(reduction_of(options), "");
  options.reduce = reduction::plugin;
  options.reduce_rule = *rule_of_word("plugin:strongest");
  EXPECT_EQ(reduction_of(options), "plugin:strongest");
}

TEST(optimizer_registry, visits_the_class_of_a_kind) {
  for (const auto& traits : dense_optimizers)
    EXPECT_EQ(
        visit_optimizer(traits.kind,
                        [](auto optimizer) { return decltype(optimizer)::traits().name; }),
        traits.name);
}

}  // namespace
}  // namespace tidegate::runtime
