#include "launch/config/section.hpp"

#include <algorithm>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

section::section(const yaml_node* node, place where, std::string pattern, std::string shown,
                 problems& out, key_table table)
    : node_(node),
      where_(std::move(where)),
      pattern_(std::move(pattern)),
      shown_(std::move(shown)),
      out_(&out),
      table_(table) {}

const yaml_node* section::get(std::string_view key) const noexcept {
  if (node_ == nullptr) return nullptr;
  const auto* entry = node_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void section::wrong(std::string_view key, const std::string& subject) const {
  const auto* value = get(key);
  out_->add(value == nullptr ? where_ : value->where,
            join_path(shown_, key) + ": " + subject +
                "; allowed: " + std::string(key_of(join_path(pattern_, key), table_).allowed));
}

bool section::require(std::string_view key) const {
  if (get(key) != nullptr) return true;
  wrong(key, "is missing");
  return false;
}

const yaml_node* section::scalar(std::string_view key) const {
  const auto* value = get(key);
  if (value == nullptr) return nullptr;
  if (value->is_scalar()) return value;
  wrong(key, value->is_null() ? "has no value" : "is " + std::string(describe(*value)));
  return nullptr;
}

bool section::range(std::string_view key, const std::string& text, std::uint64_t n,
                    std::uint64_t least, std::uint64_t most) const {
  if (n >= least && n <= most) return true;
  wrong(key, text + (n < least ? " is too small" : " is too large"));
  return false;
}

bool section::number(std::string_view key, std::uint64_t& into, std::uint64_t least,
                     std::uint64_t most) const {
  const auto* value = scalar(key);
  if (value == nullptr) return false;
  const auto n = parse_unsigned(value->text);
  if (!n) {
    const bool negative = value->text.size() > 1 && value->text[0] == '-' &&
                          parse_unsigned(std::string_view(value->text).substr(1)).has_value();
    wrong(key, negative ? value->text + " is negative" : "'" + value->text + "' is no number");
    return false;
  }
  if (!range(key, value->text, *n, least, most)) return false;
  into = *n;
  return true;
}

bool section::bytes(std::string_view key, std::uint64_t& into, std::uint64_t least,
                    std::uint64_t most, std::uint64_t multiple) const {
  const auto* value = scalar(key);
  if (value == nullptr) return false;
  const auto n = parse_bytes(value->text);
  if (!n) {
    wrong(key, "'" + value->text + "' is no size in bytes");
    return false;
  }
  if (!range(key, value->text, *n, least, most)) return false;
  if (*n % multiple != 0) {
    wrong(key, value->text + " is no multiple of " + std::to_string(multiple));
    return false;
  }
  into = *n;
  return true;
}

bool section::duration_ms(std::string_view key, std::uint64_t& into, std::uint64_t least,
                          std::uint64_t most) const {
  const auto* value = scalar(key);
  if (value == nullptr) return false;
  const auto n = parse_duration_ms(value->text);
  if (!n) {
    wrong(key, "'" + value->text + "' is no duration");
    return false;
  }
  if (!range(key, value->text, *n, least, most)) return false;
  into = *n;
  return true;
}

bool section::real(std::string_view key, float& into,
                   const std::function<bool(float)>& is_allowed) const {
  const auto* value = scalar(key);
  if (value == nullptr) return false;
  const auto x = parse_real(value->text);
  if (!x || !is_allowed(*x)) {
    wrong(key, x ? value->text + " is not allowed" : "'" + value->text + "' is no number");
    return false;
  }
  into = *x;
  return true;
}

bool section::text(std::string_view key, std::string& into,
                   const std::function<bool(std::string_view)>& is_allowed) const {
  const auto* value = scalar(key);
  if (value == nullptr) return false;
  if (!is_allowed(value->text)) {
    wrong(key, "'" + value->text + "' is not allowed");
    return false;
  }
  into = value->text;
  return true;
}

section section::child(std::string_view key) const {
  const auto* value = get(key);
  auto where = value == nullptr ? where_ : value->where;
  if (value != nullptr && !value->is_map()) {
    wrong(key, value->is_null() ? "has no value" : "is " + std::string(describe(*value)));
    value = nullptr;
  }
  return {value, std::move(where), join_path(pattern_, key), join_path(shown_, key), *out_,
          table_};
}

bool is_plain_name(std::string_view name) noexcept {
  constexpr std::size_t name_bytes_max = 64;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= name_bytes_max &&
         std::all_of(name.begin(), name.end(), is_plain);
}

}  // namespace tidegate::launch
