// Plugins: functions of shared libraries are run like those that are built in, and what is
// wrong with a library is said.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/functions/function_library.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string plugin(int kind) {
  return TEST_PLUGINS + std::to_string(kind) + ".so";
}

TEST(plugin, has_functions_beside_those_that_are_built_in) {
  function_library library;
  const auto added = library.add_plugin(plugin(0));
  ASSERT_TRUE(added.ok()) << added.to_string();
  EXPECT_THAT(library.names(), HasSubstr("sum_of_squares, first_and_size, again"));
  const std::vector<float> parameters(5, 1.0F);
  const function_chunk chunk{.parameters = parameters, .first = 7};
  const std::vector<double> factor{2.0}, below{-1.0};
  const auto results = library.run({.name = "first_and_size", .arguments = factor}, chunk);
  EXPECT_EQ(results.outcome, errc::ok);
  EXPECT_EQ(results.combine, combine_kind::maximum);
  EXPECT_THAT(results.values(), ElementsAre(7.0, 10.0));
  EXPECT_EQ(library.run({.name = "first_and_size", .arguments = below}, chunk).outcome,
            errc::invalid_argument);
  EXPECT_EQ(library.run({.name = "first_and_size", .arguments = {}}, chunk).outcome,
            errc::invalid_argument);
  EXPECT_THAT(library.run({.name = "sum", .arguments = {}}, chunk).values(), ElementsAre(5.0));
}

TEST(plugin, that_is_not_right_is_refused_and_adds_nothing) {
  const struct {
    int kind;
    const char* why;
  } wrong[] = {{1, "'sum' has a name that is taken by a function that is built in"},
               {2, "'twice' is there twice"},
               {3, "has no name of 1 to 63 of"},
               {4, "'many' has more than 32 arguments, other than 1 to 32 results"},
               {5, "'idle' has nothing to run"},
               {6, "is of ABI 4, and this Tidegate has 3"},
               {7, "has neither functions nor reductions nor optimizers"},
               {8, "exports no tidegate_plugin_of"},
               {9, "reduction 'larger' is there twice"},
               {10, "reduction 'larger' has nothing to run"},
               {11, "optimizer has no name of 1 to 23 of"},
               {12, "optimizer 'descent' has nothing to run, more than 2 numbers of state"},
               {13, "has a list that is nowhere, or of more than 1024"}};
  for (const auto& [kind, why] : wrong) {
    function_library library;
    const auto added = library.add_plugin(plugin(kind));
    EXPECT_EQ(added.code(), errc::invalid_argument);
    EXPECT_THAT(added.message(), HasSubstr(why));
    EXPECT_EQ(library.names(), function_library::built_in().names());
    EXPECT_EQ(library.rules().find_optimizer("descent"), nullptr);
  }
}

TEST(plugin, has_rules) {
  function_library library;
  ASSERT_TRUE(library.add_plugin(plugin(0)).ok());
  const auto& rules = library.rules();
  const auto* const larger = rules.find_reduction("larger");
  const auto* const descent = rules.find_optimizer("descent");
  ASSERT_TRUE(larger != nullptr && descent != nullptr);
  const float a[] = {1, 5}, b[] = {3, 4};
  float out[2];
  larger->rule.combine(a, b, out, 2);
  EXPECT_THAT(out, ElementsAre(3.0F, 5.0F));
  EXPECT_THAT(library.add_plugin(plugin(0)).message(), HasSubstr("taken by plugin"));
}

TEST(plugin, has_rules_that_options_have_to_fit) {
  function_library library;
  ASSERT_TRUE(library.add_plugin(plugin(0)).ok());
  using steps = plugin_rules::steps;
  auto options = plugin_traits.defaults;
  options.rule = *make_rule_name("descent");
  EXPECT_TRUE(library.rules().check(options, steps::elements).ok());
  options.rule_states = 1;
  EXPECT_THAT(library.rules().check(options, steps::rows).message(),
              HasSubstr("allowed: states: 0"));
  options.rule = *make_rule_name("of_rows");
  EXPECT_TRUE(library.rules().check(options, steps::rows).ok());
  EXPECT_THAT(library.rules().check(options, steps::elements).message(),
              HasSubstr("steps whole rows"));
  options.reduce = reduction::plugin;
  options.reduce_rule = *make_rule_name("median");
  const auto unknown = library.rules().check(options, steps::rows);
  EXPECT_EQ(unknown.code(), errc::not_found);
  EXPECT_THAT(unknown.message(),
              HasSubstr("'plugin:median' is not here; allowed: plugin:larger"));
  EXPECT_THAT(function_library::built_in().rules().check(options, steps::rows).message(),
              HasSubstr("allowed: none, as no plugin of the cluster has any"));
}

TEST(plugin, that_is_not_there_is_told) {
  function_library library;
  const auto added = library.add_plugin(plugin(99));
  EXPECT_EQ(added.code(), errc::not_found);
  EXPECT_THAT(added.message(), HasSubstr("plugin_99.so cannot be loaded"));
  ASSERT_TRUE(library.add_plugin(plugin(0)).ok());
  EXPECT_THAT(library.add_plugin(plugin(0)).message(), HasSubstr("taken by plugin"));
}

}  // namespace
}  // namespace tidegate::runtime
