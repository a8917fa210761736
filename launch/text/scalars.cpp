#include "launch/text/scalars.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace tidegate::launch {

namespace {

struct unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// Longer suffixes first where one ends like another.
constexpr unit byte_units[] = {
    {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024ULL * 1024 * 1024}};
constexpr unit duration_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}};

template <std::size_t N>
std::optional<std::uint64_t> parse_scaled(std::string_view text, const unit (&units)[N]) {
  for (const auto& u : units) {
    if (!text.ends_with(u.suffix)) continue;
    const auto n = parse_unsigned(text.substr(0, text.size() - u.suffix.size()));
    if (!n || *n > std::numeric_limits<std::uint64_t>::max() / u.factor) return std::nullopt;
    return *n * u.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string format_scaled(std::uint64_t n, const unit (&units)[N], std::string_view plain) {
  std::string text = std::to_string(n) + std::string(plain);
  for (const auto& u : units) {
    if (n != 0 && n % u.factor == 0) {
      text = std::to_string(n / u.factor) + std::string(u.suffix);
    }
  }
  return text;
}

bool is_one_of(std::string_view text, std::string_view sign_free) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  return std::equal(text.begin(), text.end(), sign_free.begin(), sign_free.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t n = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return n;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (const auto plain = parse_unsigned(text)) return plain;
  return parse_scaled(text, byte_units);
}

std::string format_bytes(std::uint64_t bytes) {
  return format_scaled(bytes, byte_units, "");
}

std::optional<std::uint64_t> parse_duration_ms(std::string_view text) {
  if (text == "0") return 0;
  return parse_scaled(text, duration_units);
}

std::string format_duration_ms(std::uint64_t ms) {
  return format_scaled(ms, duration_units, "ms");
}

std::optional<float> parse_real(std::string_view text) {
  if (is_one_of(text, "inf")) return std::numeric_limits<float>::infinity();
  if (is_one_of(text, "nan")) return std::numeric_limits<float>::quiet_NaN();
  if (text.starts_with('+')) text.remove_prefix(1);
  float value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument || text.empty()) return std::nullopt;
  // Too large for a float32, or too small to be told from 0: neither is what was written.
  if (error == std::errc::result_out_of_range) return std::numeric_limits<float>::infinity();
  return value;
}

std::string format_real(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

}  // namespace tidegate::launch
