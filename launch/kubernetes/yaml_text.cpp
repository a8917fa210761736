#include "launch/kubernetes/yaml_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

// A text that some reader may take for something else has quotes.
bool is_plain(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_inner = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
  };
  std::string lower;
  for (const char c : text) lower += is_letter(c) ? static_cast<char>(c | 0x20) : c;
  for (const auto* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
    if (lower == word) return false;
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), is_inner);
}

bool has_lines(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().ends_with('\n');
}

void write_text(YAML::Emitter& out, const std::string& text) {
  if (text.ends_with('\n'))
    out << YAML::Literal << text.substr(0, text.size() - 1);
  else if (is_plain(text))
    out << text;
  else
    out << YAML::DoubleQuoted << text;
}

void write(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key;
      write_text(out, key);
      out << YAML::Value;
      write(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    bool is_flat = true;
    for (const auto& inner : value)
      is_flat = is_flat && !inner.is_structured() && !has_lines(inner);
    if (is_flat) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& inner : value) write(out, inner);
    out << YAML::EndSeq;
  } else if (!value.is_string()) {
    out << value.dump();
  } else {
    write_text(out, value.get<std::string>());
  }
}

}  // namespace

std::string yaml_text(const json& value) {
  YAML::Emitter out;
  write(out, value);
  return out.c_str();
}

}  // namespace tidegate::launch
