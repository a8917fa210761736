// Files that are no YAML, and what their writer is told. Each is read as a cluster file is.
#include "launch/config/yaml_mistakes.hpp"

#include <array>

#include <gmock/gmock.h>

#include "launch/config/yaml_tree.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct bad_file {
  const char* text;
  const char* refusal;  // without "c.yaml:" and "not valid YAML: "
};

constexpr auto bad_files = std::to_array<bad_file>({
    // Indentation.
    {"cluster: {name: c}\njobs:\n  mlp:\n    workers: 2\n   command: x\n",
     "5:4: line 5 is indented by 3, its neighbours by 4 and 2"},
    {"cluster:\n  name: c\n   shards: 2\njobs: {}\n",
     "3:4: line 3 is indented by 3, its neighbours by 2"},
    {"cluster:\n  name: c\n jobs:\n  mlp: {}\n",
     "3:2: line 3 is indented by 1, its neighbours by 2 and 0"},
    {"jobs:\n  a:\n    command:\n      - x\n     - y\n",
     "5:6: line 5 is indented by 5, its neighbours by 6 and 4"},
    {"jobs:\n  a:\n    command:\n      - x\n        - y: 2\n",
     "5:9: line 5 is indented by 8, its neighbours by 6"},
    {"segments:\n  - columns: 4\n   init: 2\n",
     "3:4: line 3 is indented by 3, its neighbours by 4 and 2"},
    {"a:   # it's\n  b: c  # \"a\n   d: 2\n",
     "3:4: line 3 is indented by 3, its neighbours by 2"},
    {"a: |\n    x: y\n   z\n", "3:4: line 3 is indented by 3, its neighbours by 4 and 0"},
    {"a:\n\tb: c\n", "2:1: a tab in the indentation; allowed: spaces"},
    // What yaml-cpp takes for the end.
    {"  a:\n    b: c\nd: {}\n",
     "3:1: the YAML ends early: line 3 is indented by 0, line 1 by 2"},
    {"- a\n- b\nc: 1\n",
     "3:1: the YAML ends early: what begins here does not belong to what is before it"},
    // Colons.
    {"cluster:\n  name:foo\n  shards: 2\n",
     "2:3: there is no blank behind the colon of 'name'; allowed: name: value"},
    {"cluster:\n  name foo\n  shards: 2\n",
     "2:3: there is no colon behind 'name'; allowed: name: value"},
    {"cluster\n  name: foo\n",
     "1:1: there is no colon behind 'cluster'; allowed: cluster: value"},
    {"a:\n  name: a: b\n",
     "2:10: a second colon in the value of 'name'; allowed: quotes around the value"},
    {"a: 1\n- b\n", "2:1: an item of a list stands beside keys; allowed: items below a key"},
    // Quotes.
    {"a:\n  name: \"foo\n  b: 2\nc: {d: [\"x\"]}\n",
     "2:9: the quote '\"' that begins here is not closed"},
    {"a:\n  name: \"foo\n  b: 2\n", "2:9: the quote '\"' that begins here is not closed"},
    {"a:\n  name: 'foo\n  b: 2\n", "2:9: the quote ''' that begins here is not closed"},
    {"a: \"x\" y\nb: 1\n",
     "1:6: there is text behind this quote, which closes that of column 4"},
    {"a: @x\n",
     "1:4: a text that begins with '@' is something else in YAML; allowed: quotes "
     "around it"},
    // Brackets.
    {"jobs:\n  a:\n    command: [x, y\n    workers: 2\n",
     "3:14: the bracket '[' that begins here is not closed"},
    {"a: {b: c\nd: {}\n", "1:4: the bracket '{' that begins here is not closed"},
    {"a: [x, y\n", "1:4: the bracket '[' that begins here is not closed"},
    {"jobs:\n  a: {command: [x, y}\n",
     "2:21: the bracket '}' does not close the '[' of line 2"},
    {"jobs:\n  a: {command: [x]]}\n", "2:19: the bracket ']' does not close the '{' of line 2"},
});

TEST(yaml_mistakes, are_told_with_line_and_column) {
  for (const auto& [text, refusal] : bad_files) {
    problems out;
    parse_yaml(text, "c.yaml", false, out);
    const auto said = out.to_string();
    const std::string_view expected(refusal);
    const auto place = expected.find(": ") + 2;
    EXPECT_EQ(said, "c.yaml:" + std::string(expected.substr(0, place)) +
                        "not valid YAML: " + std::string(expected.substr(place)))
        << text;
  }
}

TEST(yaml_mistakes, of_another_kind_are_told_as_the_parser_does) {
  problems out;
  parse_yaml("a: &x\n", "c.yaml", false, out);
  EXPECT_EQ(out.to_string(), "") << "an anchor without a value";
  parse_yaml("{a: b: c}\n", "c.yaml", false, out);
  EXPECT_THAT(out.to_string(), StartsWith("c.yaml:1:"));
}

TEST(yaml_mistakes, are_found_in_set_values_too) {
  EXPECT_EQ(refusal(fashion_yaml(), {"jobs.mlp.command=[a, b"}),
            "--set jobs.mlp.command=[a, b: not valid YAML: the bracket '[' that begins here is "
            "not closed");
}

TEST(yaml_mistakes, make_keys_without_values) {
  EXPECT_THAT(
      refusal("cluster:\n  shards: 2\n  name:foo\n", {}),
      HasSubstr("c.yaml:3:3: unknown key 'name:foo' in cluster; there is no blank behind "
                "the colon of 'name'"));
  EXPECT_THAT(refusal("cluster:\n  shards: 2\n  name foo\n", {}),
              HasSubstr("unknown key 'name foo' in cluster; there is no colon behind 'name'"));
}

TEST(yaml_mistakes, are_not_in_what_is_yaml) {
  for (const auto* text :
       {"a: \"b\n  c\"\nd: 'it''s'\n", "a:\n- b\n- c\nd: {e: [f,\n  g]}\n",
        "# it's\na: don't\n", "a: |\n  \"b\nc: d\n", "", "---\na: b\n", "a: x#y \"z\n",
        "title: 5 - 'til dawn\n", "{\ncluster: {name: \"a\n  b\"}, jobs: {}}\n", "a: b, 'c\n",
        "command:\n- |\n  s.split(\",'\")\n  'x\nd: e\n"}) {
    problems out;
    parse_yaml(text, "c.yaml", false, out);
    EXPECT_EQ(out.to_string(), "") << text;
  }
}

}  // namespace
}  // namespace tidegate::launch
