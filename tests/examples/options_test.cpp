#include "examples/fashion_mnist/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegate::examples {
namespace {

using testing::HasSubstr;

expected<options> parse(const std::vector<const char*>& arguments) {
  return parse_options(arguments);
}

TEST(options, defaults_are_those_of_the_usage_text) {
  const auto result = parse({});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->model, "mlp");
  EXPECT_EQ(result->epochs, 10U);
  EXPECT_EQ(result->batch, 32U);
  EXPECT_EQ(result->data, dataset_folder);
  EXPECT_EQ(result->simd, simd_level::automatic);
  EXPECT_FALSE(result->help);
  EXPECT_THAT(std::string(usage), HasSubstr(dataset_folder));
}

TEST(options, all_can_be_set) {
  const auto result = parse({"--model", "softmax", "--epochs", "5", "--batch", "64", "--data",
                             "/some/where", "--simd", "baseline"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->model, "softmax");
  EXPECT_EQ(result->epochs, 5U);
  EXPECT_EQ(result->batch, 64U);
  EXPECT_EQ(result->data, "/some/where");
  EXPECT_EQ(result->simd, simd_level::baseline);
  EXPECT_TRUE(parse({"--help"})->help);
}

TEST(options, refuses_what_it_does_not_understand) {
  const std::vector<std::vector<const char*>> wrong = {
      {"--model", "cnn"},
      {"--epochs", "0"},
      {"--epochs", "-1"},
      {"--epochs", "5x"},
      {"--epochs", ""},
      {"--batch", "5000"},
      {"--simd", "avx512"},
      {"--speed", "9"},
      {"--batch"},
      {"mlp"},
      {"--batch", "99999999999"},
  };
  for (const auto& arguments : wrong) {
    const auto result = parse(arguments);
    ASSERT_FALSE(result) << arguments.front();
    EXPECT_EQ(result.error().code(), errc::invalid_argument);
    EXPECT_THAT(result.error().message(), HasSubstr(arguments.front()));
  }
}

}  // namespace
}  // namespace tidegate::examples
