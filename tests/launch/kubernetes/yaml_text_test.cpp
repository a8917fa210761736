#include "launch/kubernetes/yaml_text.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

using json = nlohmann::ordered_json;

TEST(yaml_text, is_what_people_write) {
  const json value{{"kind", "JobSet"},
                   {"data", {{"file", "a: 1\nb: 2\n"}}},
                   {"command", {"tidegate", "door"}},
                   {"script", {"sh", "set -e\nexec it\n"}},
                   {"list", json::array({{{"a", 1}}, {{"a", 2}}})},
                   {"yes", true},
                   {"none", json::object()}};
  EXPECT_EQ(yaml_text(value),
            "kind: JobSet\n"
            "data:\n"
            "  file: |\n"
            "    a: 1\n"
            "    b: 2\n"
            "command: [tidegate, door]\n"
            "script:\n"
            "  - sh\n"
            "  - |\n"
            "    set -e\n"
            "    exec it\n"
            "list:\n"
            "  - a: 1\n"
            "  - a: 2\n"
            "\"yes\": true\n"
            "none: {}");
}

// Quoted: YAML 1.1 takes some of them for something else.
TEST(yaml_text, keeps_texts_texts) {
  for (const auto* text : {"no", "on", "1e3", "0x1F", "null", "~", "a: b", "- x", "1.5", ""})
    EXPECT_EQ(yaml_text(json{{"a", text}}), "a: \"" + std::string(text) + "\"");
}

}  // namespace
}  // namespace tidegate::launch
