// Fields of the frames of agents and launchers, as they are read from JSON values.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

using json = nlohmann::ordered_json;

// Numbers of wrong size, missing fields and wrong kinds are all exceptions of this library.
struct bad_field : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
Number number_of(const json& from, const char* key) {
  const auto& field = from.at(key);
  if (!field.is_number_unsigned()) throw bad_field(key);
  const auto value = field.template get<std::uint64_t>();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
    throw bad_field(key);
  return static_cast<Number>(value);
}

inline bool flag_of(const json& from, const char* key) {
  return from.at(key).get<bool>();
}

inline std::string text_of(const json& from, const char* key) {
  return from.at(key).get<std::string>();
}

}  // namespace tidegate::launch
