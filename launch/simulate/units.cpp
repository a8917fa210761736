#include "launch/simulate/units.hpp"

#include <charconv>
#include <cmath>
#include <span>

namespace tidegate::simulate {

namespace {

struct unit {
  std::string_view suffix;
  double factor;
};

// Longer suffixes first where one ends like another.
constexpr unit time_units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr unit rate_units[] = {
    {"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}, {"GB/s", 1e9}, {"MB/s", 1e6}};

std::optional<double> parse_scaled(std::string_view text, std::span<const unit> units) {
  for (const auto& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    text.remove_suffix(unit.suffix.size());
    double value = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    value *= unit.factor;
    if (error != std::errc{} || stop != end || !std::isfinite(value) || value < 0)
      return std::nullopt;
    return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  if (text == "0") return 0;
  return parse_scaled(text, time_units);
}

std::optional<double> parse_rate(std::string_view text) {
  const auto rate = parse_scaled(text, rate_units);
  return rate && *rate > 0 ? rate : std::nullopt;
}

}  // namespace tidegate::simulate
