#include "launch/config/yaml_keys.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "launch/config/read_spec.hpp"
#include "launch/config/words.hpp"
#include "launch/config/write_yaml.hpp"
#include "policies/model/option_rules.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

TEST(yaml_keys, and_docs_yaml_md_say_the_same) {
  std::ifstream docs(TIDEGATE_DOCS_DIR "/yaml.md");
  ASSERT_TRUE(docs.good());
  std::set<std::string> documented;
  for (std::string line; std::getline(docs, line);) {
    if (line.starts_with("| `")) {
      EXPECT_TRUE(documented.insert(line).second) << "twice: " << line;
    }
  }
  std::set<std::string> known;
  for (const auto& k : known_keys()) known.insert(markdown_row(k));
  for (const auto& row : known)
    EXPECT_TRUE(documented.count(row)) << "missing in docs:\n" << row;
  for (const auto& row : documented) EXPECT_TRUE(known.count(row)) << "no such key:\n" << row;
}

TEST(yaml_keys, have_unique_paths_whose_parents_are_maps) {
  std::set<std::string_view> paths;
  for (const auto& k : known_keys()) {
    EXPECT_TRUE(paths.insert(k.path).second) << k.path;
    const auto dot = k.path.rfind('.');
    if (dot == std::string_view::npos) continue;
    const auto type = key_of(k.path.substr(0, dot)).type;
    const bool is_item = k.path.ends_with(".*") && type == "list";
    EXPECT_TRUE(type.ends_with("map") || is_item) << k.path;
  }
}

TEST(yaml_keys, below_a_map) {
  EXPECT_THAT(keys_below(""), testing::ElementsAre("cluster", "security", "monitor", "otlp",
                                                   "supervision", "faults", "jobs"));
  EXPECT_THAT(keys_below("jobs"), testing::ElementsAre("*"));
  EXPECT_THAT(keys_below("cluster.control"), testing::ElementsAre("host", "port"));
  EXPECT_TRUE(keys_below("cluster.name").empty());
}

// The presets of the table are those of the spec: setting a key to its preset changes nothing.
TEST(yaml_keys, presets_are_what_the_spec_holds) {
  const auto yaml = with_job("");
  const auto base = write_yaml(*parse_cluster(yaml, "c.yaml", {}));
  int compared = 0;
  for (const auto& k : known_keys()) {
    const bool conditional = k.allowed.find("only with") != std::string_view::npos;
    if (conditional || k.preset == "required" || k.preset == "-") continue;
    // A map whose keys name what the file's other keys must have.
    if (k.path.starts_with("jobs.*.tables.") || k.path.starts_with("faults.slow.*")) continue;
    auto path = std::string(k.path);
    if (const auto star = path.find('*'); star != std::string::npos) path.replace(star, 1, "j");
    // What follows a semicolon is the preset of one optimizer.
    const auto set = path + "=" + std::string(k.preset.substr(0, k.preset.find(';')));
    const auto spec = parse_cluster(yaml, "c.yaml", {set});
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(write_yaml(*spec), base) << set;
    ++compared;
  }
  EXPECT_GT(compared, 12);
}

TEST(yaml_keys, allow_for_optimizers_what_the_rules_allow) {
  for (const std::string map : {"jobs.*.optimizer.", "jobs.*.tables.*.optimizer."})
    for (const auto& rule : policies::optimizer_rules) {
      const auto& key = key_of(map + std::string(rule.name));
      EXPECT_TRUE(key.allowed.starts_with(rule.allowed)) << key.path;
      for (const auto& [name, kind] : optimizer_words) {
        if (rule.belongs_to_all()) continue;
        const auto names = key.allowed.substr(key.allowed.find("only with name"));
        const auto words = " " + std::string(names) + ",";
        const bool named = words.find(" " + std::string(name) + ",") != std::string::npos ||
                           words.find(" " + std::string(name) + " or") != std::string::npos;
        EXPECT_EQ(named, rule.belongs_to(kind)) << key.path << " " << name;
      }
    }
}

TEST(yaml_keys, help_lists_them_all) {
  const auto text = keys_help();
  for (const auto& k : known_keys()) EXPECT_THAT(text, testing::HasSubstr(std::string(k.path)));
}

TEST(yaml_keys_death, a_key_without_a_row_is_a_bug) {
  EXPECT_DEATH(key_of("cluster.nothing"), "row in the table");
}

}  // namespace
}  // namespace tidegate::launch
