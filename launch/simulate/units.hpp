// Times and rates as they stand in a scale file. Pure, any thread; nothing means: not one.
#pragma once

#include <optional>
#include <string_view>

namespace tidegate::simulate {

// "5us", "1.5ms", "30s", "0" -> seconds.
std::optional<double> parse_seconds(std::string_view text);

// "10Gbit/s", "12.5GB/s", "800MB/s" -> bytes per second, above 0. Decimal, as links and memory
// are sold and as `tidegate bench` writes them.
std::optional<double> parse_rate(std::string_view text);

}  // namespace tidegate::simulate
