#include "runtime/base/object_place.hpp"

#include <algorithm>

namespace tidegate::runtime {

namespace {

constexpr std::string_view scheme = "s3://";
constexpr std::size_t bucket_bytes_min = 3;
constexpr std::size_t bucket_bytes_max = 63;
constexpr std::size_t prefix_bytes_max = 512;

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_bucket(std::string_view name) {
  return name.size() >= bucket_bytes_min && name.size() <= bucket_bytes_max &&
         is_lower_or_digit(name.front()) && is_lower_or_digit(name.back()) &&
         name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '.' || c == '-'; });
}

bool is_segment(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
                  c == '-' || c == '=';
         });
}

bool is_prefix(std::string_view prefix) {
  if (prefix.size() > prefix_bytes_max) return false;
  for (;;) {
    const auto end = prefix.find('/');
    if (!is_segment(prefix.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    prefix.remove_prefix(end + 1);
  }
}

}  // namespace

std::string object_place::key_of(std::string_view name) const {
  auto key = prefix;
  if (!key.empty()) key += '/';
  return key.append(name);
}

std::string object_place::url_of(std::string_view name) const {
  std::string url(scheme);
  url += bucket;
  url += '/';
  return url += key_of(name);
}

expected<object_place> parse_object_place(std::string_view text) {
  const auto wrong = [&] {
    std::string message(1, '\'');
    message.append(text).append("' is no place of objects; allowed: ");
    return fail(errc::invalid_argument, message.append(allowed_object_place));
  };
  if (!is_object_place(text)) return wrong();
  auto rest = text.substr(scheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto slash = rest.find('/');
  object_place place{.bucket = std::string(rest.substr(0, slash)), .prefix = {}};
  if (!is_bucket(place.bucket)) return wrong();
  if (slash == std::string_view::npos) return place;
  place.prefix = std::string(rest.substr(slash + 1));
  if (!is_prefix(place.prefix)) return wrong();
  return place;
}

}  // namespace tidegate::runtime
