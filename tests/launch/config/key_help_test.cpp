#include "launch/config/key_help.hpp"

#include <gmock/gmock.h>

#include "launch/config/key_path.hpp"

namespace tidegate::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string_view> paths_of(std::string_view word) {
  std::vector<std::string_view> paths;
  for (const auto* key : find_keys(word)) paths.push_back(key->path);
  return paths;
}

std::string refusal_of(std::string_view word) {
  const auto text = key_help(word);
  if (text) return "accepted";
  EXPECT_EQ(text.error().code(), runtime::errc::invalid_argument);
  return text.error().message();
}

TEST(key_path, is_cut_at_dots_outside_of_quotes) {
  EXPECT_THAT(*split_path("a.\"b.c\".d"), ElementsAre("a", "b.c", "d"));
  for (const auto* bad : {"", ".", "a.", ".a", "a..b", "\"a", "a.\"\""})
    EXPECT_FALSE(split_path(bad)) << bad;
}

TEST(key_path, matches_a_pattern_as_a_whole) {
  const std::vector<std::string> keys{"jobs", "m.l", "workers"};
  EXPECT_TRUE(matches("jobs.*.workers", keys));
  EXPECT_FALSE(matches("jobs.*", keys));
  EXPECT_FALSE(matches("jobs.*.workers.x", keys));
  EXPECT_FALSE(matches("jobs.x.workers", keys));
}

TEST(find_keys, by_pattern_or_path) {
  for (const auto* word : {"jobs.*.consistency.policy", "jobs.mlp.consistency.policy"})
    EXPECT_THAT(paths_of(word), ElementsAre("jobs.*.consistency.policy")) << word;
  EXPECT_THAT(paths_of("jobs"), ElementsAre("jobs"));
  EXPECT_THAT(paths_of("jobs.mlp.tables.\"fc1.weight\".shape"),
              ElementsAre("jobs.*.tables.*.shape"));
  EXPECT_THAT(paths_of("jobs.mlp.tables.t.segments[12].columns"),
              ElementsAre("jobs.*.tables.*.segments.*.columns"));
}

TEST(find_keys, by_its_end) {
  EXPECT_THAT(paths_of("staleness"), ElementsAre("jobs.*.consistency.staleness"));
  EXPECT_THAT(paths_of("evict.rows"), ElementsAre("jobs.*.tables.*.evict.rows"));
  EXPECT_THAT(paths_of("rows"),
              ElementsAre("jobs.*.tables.*.rows", "jobs.*.tables.*.evict.rows"));
  // The end of a name is no name.
  EXPECT_TRUE(paths_of("leness").empty());
  EXPECT_TRUE(paths_of("").empty());
}

TEST(key_help, tells_all_of_a_key) {
  const auto text = key_help("staleness");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "jobs.*.consistency.staleness\n"
            "  clocks that the fastest worker may be ahead\n"
            "\n"
            "  type      number\n"
            "  default   required by ssp\n"
            "  allowed   0 to 1000000; only with policy ssp\n");
}

TEST(key_help, tells_the_keys_below) {
  const auto text = key_help("jobs.mlp.consistency");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("\nBelow it:\n\n  jobs.*.consistency.policy\n"));
  EXPECT_THAT(*text, HasSubstr("  jobs.*.consistency.staleness\n"));
  EXPECT_THAT(*text, Not(HasSubstr("jobs.*.workers")));
}

TEST(key_help, lists_several) {
  const auto text = key_help("max_restarts");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, StartsWith("4 keys end with 'max_restarts':\n"));
  EXPECT_THAT(*text, HasSubstr("\n  supervision.coordinator.max_restarts\n"));
}

TEST(key_help, fits_eighty_columns) {
  for (const auto& key : known_keys()) {
    const auto text = key_help(key.path);
    ASSERT_TRUE(text) << key.path;
    EXPECT_THAT(*text, StartsWith(std::string(key.path) + "\n"));
    for (std::size_t begin = 0; begin < text->size();) {
      const auto end = text->find('\n', begin);
      EXPECT_LE(end - begin, 80U) << text->substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(key_help, of_an_unknown_key_has_the_nearest) {
  EXPECT_THAT(refusal_of("stalenes"), HasSubstr("no key 'stalenes'; did you mean "
                                                "jobs.*.consistency.staleness?"));
  EXPECT_THAT(refusal_of("jobs.mlp.wokers"),
              HasSubstr("did you mean 'workers'?; below jobs.* there are: workers, "));
  EXPECT_THAT(refusal_of("jobs.mlp.workers.x"), HasSubstr("jobs.*.workers has no keys below"));
  EXPECT_THAT(refusal_of("zzzzzzzz"), HasSubstr("`tidegate help yaml` shows all"));
  EXPECT_THAT(refusal_of("a..b"), HasSubstr("keys joined by dots"));
  EXPECT_THAT(refusal_of("\x1b[31m"), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tidegate::launch
