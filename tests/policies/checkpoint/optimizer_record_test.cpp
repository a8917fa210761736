// Optimizers as numbers of a journal: those of this version, and of those before it.
#include "policies/checkpoint/optimizer_record.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

// They have no options of rows; those before have no l1 and l2 and are not lazy; the first had
// neither schedule nor clip value.
TEST(optimizer_record, of_earlier_versions_has_fewer_numbers) {
  const std::string now = R"([0,1056964608,1056964608,1056964608,1056964608,1056964608,)"
                          R"(1056964608,1056964608,0,5,0,0,1,1056964608,1056964608,)"
                          R"(1056964608,1056964608,3])";
  for (const std::size_t numbers : {7, 12, 15, 17, 18, 8}) {
    auto cut = std::string::npos;
    std::size_t found = 0;
    for (std::size_t i = 0; i < now.size() && cut == std::string::npos; ++i)
      if (now[i] == ',' && ++found == numbers) cut = i;
    const auto text =
        R"({"optimizer":)" + (numbers == 18 ? now : now.substr(0, cut) + "]") + "}";
    runtime::status problem;
    const auto parsed = nlohmann::json::parse(text);
    json_fields fields(parsed, "record", problem);
    const auto optimizer = decode_optimizer(fields, problem);
    EXPECT_EQ(problem.ok(), numbers != 8) << problem.to_string();
    if (numbers == 8) continue;
    EXPECT_EQ(optimizer.weight_decay, 0.5F);
    EXPECT_EQ(optimizer.clip_value, numbers > 7 ? 0.5F : 0.0F);
    EXPECT_EQ(optimizer.schedule.warmup, numbers > 7 ? 5U : 0U);
    EXPECT_EQ(optimizer.lazy, numbers >= 15);
    EXPECT_EQ(optimizer.l2, numbers >= 15 ? 0.5F : 0.0F);
    EXPECT_EQ(optimizer.beta, numbers >= 17 ? 0.5F : 1.0F);
    EXPECT_EQ(optimizer.l21, numbers >= 17 ? 0.5F : 0.0F);
    EXPECT_EQ(optimizer.reduce,
              numbers == 18 ? runtime::reduction::max : runtime::reduction::of_job);
  }
}

TEST(optimizer_record, has_the_rules_of_plugins_by_their_names) {
  optimizer_spec optimizer = default_optimizer(optimizer_kind::plugin);
  optimizer.rule = *runtime::make_rule_name("a-rule_with.23.letters-");
  optimizer.rule_states = 2;
  optimizer.reduce = runtime::reduction::plugin;
  optimizer.reduce_rule = *runtime::make_rule_name("x");
  const auto read = [](const nlohmann::json& numbers, runtime::status& problem) {
    const nlohmann::json record = {{"optimizer", numbers}};
    json_fields fields(record, "record", problem);
    return decode_optimizer(fields, problem);
  };
  runtime::status problem;
  EXPECT_EQ(read(encode_optimizer(optimizer), problem), optimizer);
  EXPECT_TRUE(problem.ok()) << problem.to_string();
  // Another number of states, a name with a space, and one with something behind its end.
  for (const auto& [at, number] : {std::pair{18, 3U}, {19, 0x20202020U}, {30, 1U}}) {
    auto numbers = encode_optimizer(optimizer);
    numbers[static_cast<std::size_t>(at)] = number;
    runtime::status wrong;
    (void)read(numbers, wrong);
    EXPECT_EQ(wrong.code(), runtime::errc::corrupt) << "number " << at;
  }
}

}  // namespace
}  // namespace tidegate::policies
