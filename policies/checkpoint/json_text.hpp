// JSON that came from outside: parsed with bounds, and read field by field. Only for the
// sources of checkpoints. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Errors: corrupt (not JSON, no object, deeper than `depth_max`, a key twice, of which other
// readers would take another one). `subject` names the text in messages.
runtime::expected<nlohmann::json> parse_json_object(std::string_view text,
                                                    const std::string& subject, int depth_max);

// One line. Errors: invalid_argument (a text that is not UTF-8).
runtime::expected<std::string> json_line(const nlohmann::json& value);

// Reads the fields of an object; the first problem stays in `problem` (corrupt), and what is
// read after it is worth nothing.
class json_fields {
 public:
  json_fields(const nlohmann::json& object, std::string subject, runtime::status& problem);

  std::uint64_t number(const char* key,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  double real(const char* key);  // finite
  bool has(const char* key) const { return object_.contains(key); }
  std::string text(const char* key, std::size_t bytes_max);
  const nlohmann::json& array(const char* key);  // empty without such a field
  const nlohmann::json& object(const char* key);

 private:
  const nlohmann::json* find(const char* key);
  void wrong(const char* key, const std::string& why);

  const nlohmann::json& object_;
  std::string subject_;
  runtime::status& problem_;
};

// Bounds of numbers that may be anything their type holds.
inline constexpr auto any_64 = ~std::uint64_t{0};
inline constexpr auto any_32 = std::uint64_t{0xffff'ffff};

// Whole numbers, each at most `most`; `size` of them. False: it is something else.
bool is_row(const nlohmann::json& row, std::size_t size, std::uint64_t most);

}  // namespace tidegate::policies
