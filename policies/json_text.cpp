#include "policies/json_text.hpp"

#include <cmath>
#include <set>
#include <vector>

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;

runtime::expected<json> parse_json_object(std::string_view text, const std::string& what,
                                          int depth_max) {
  std::string wrong;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  // Values below depth_max are dropped as they come, so that memory stays near the text's size.
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (!wrong.empty()) return false;
    if (depth > depth_max) wrong = "goes deeper than " + std::to_string(depth_max) + " levels";
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second)
      wrong = "has the key '" + parsed.get<std::string>() + "' twice";
    return wrong.empty();
  };
  auto parsed = json::parse(text.begin(), text.end(), watch, false);
  if (!wrong.empty()) return runtime::fail(errc::corrupt, what + ": " + wrong);
  if (!parsed.is_object())
    return runtime::fail(errc::corrupt, what + ": is no JSON object, or not all of one");
  return parsed;
}

runtime::expected<std::string> json_line(const json& value) {
  try {
    return value.dump();
  } catch (const json::exception&) {
    return runtime::fail(errc::invalid_argument, "a name that is not UTF-8 cannot be written");
  }
}

json_fields::json_fields(const json& object, std::string what, runtime::status& problem)
    : object_(object), what_(std::move(what)), problem_(problem) {
  if (!object_.is_object() && problem_.ok())
    problem_ = {errc::corrupt, what_ + ": is no JSON object"};
}

const json* json_fields::find(const char* key) {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  wrong(key, "is missing");
  return nullptr;
}

void json_fields::wrong(const char* key, const std::string& why) {
  if (problem_.ok()) problem_ = {errc::corrupt, what_ + ": '" + key + "' " + why};
}

std::uint64_t json_fields::number(const char* key, std::uint64_t most) {
  const auto* found = find(key);
  if (found == nullptr) return 0;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= most)
    return found->get<std::uint64_t>();
  wrong(key, "is no whole number of at most " + std::to_string(most));
  return 0;
}

double json_fields::real(const char* key) {
  const auto* found = find(key);
  if (found == nullptr) return 0;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  wrong(key, "is no number");
  return 0;
}

std::string json_fields::text(const char* key, std::size_t bytes_max) {
  const auto* found = find(key);
  if (found == nullptr) return {};
  if (found->is_string() && found->get_ref<const std::string&>().size() <= bytes_max)
    return found->get<std::string>();
  wrong(key, "is no text of at most " + std::to_string(bytes_max) + " bytes");
  return {};
}

const json& json_fields::array(const char* key) {
  static const json none = json::array();
  const auto* found = find(key);
  if (found != nullptr && found->is_array()) return *found;
  if (found != nullptr) wrong(key, "is no array");
  return none;
}

const json& json_fields::object(const char* key) {
  static const json none = json::object();
  const auto* found = find(key);
  if (found != nullptr && found->is_object()) return *found;
  if (found != nullptr) wrong(key, "is no object");
  return none;
}

bool is_row(const json& row, std::size_t size, std::uint64_t most) {
  if (!row.is_array() || row.size() != size) return false;
  for (const auto& one : row)
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() > most) return false;
  return true;
}

}  // namespace tidegate::policies
