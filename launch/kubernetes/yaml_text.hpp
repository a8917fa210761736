// JSON as YAML that people read. Pure, any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tidegate::launch {

// One document, without a line that ends it. Texts of several lines are written as such.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace tidegate::launch
