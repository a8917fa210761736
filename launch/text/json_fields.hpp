// Fields of JSON that others have written: what is missing, or of another type, counts as
// empty. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::launch {

template <class Json>
std::string text_in(const Json& from, const char* key, const char* otherwise = "-") {
  if (!from.is_object()) return otherwise;
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->template get<std::string>() : otherwise;
}

template <class Json>
double number_in(const Json& from, const char* key) {
  if (!from.is_object()) return 0;
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->template get<double>() : 0;
}

template <class Json>
std::uint64_t count_in(const Json& from, const char* key) {
  if (!from.is_object()) return 0;
  const auto at = from.find(key);
  return at != from.end() && at->is_number_unsigned() ? at->template get<std::uint64_t>() : 0;
}

template <class Json>
bool flag_in(const Json& from, const char* key) {
  if (!from.is_object()) return false;
  const auto at = from.find(key);
  return at != from.end() && at->is_boolean() && at->template get<bool>();
}

template <class Json>
const Json& list_in(const Json& from, const char* key) {
  static const Json none = Json::array();
  if (!from.is_object()) return none;
  const auto at = from.find(key);
  return at != from.end() && at->is_array() ? *at : none;
}

// The kind of a line of events.jsonl; lines of before have another word for it.
template <class Json>
std::string event_kind_in(const Json& event) {
  return text_in(event, "kind", text_in(event, "what", "").c_str());
}

}  // namespace tidegate::launch
