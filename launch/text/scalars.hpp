// Numbers, sizes and durations as they stand in YAML. Pure, any thread; nothing means: not one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidegate::launch {

// Decimal digits only; nothing when it does not fit.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

// "65536", "64KiB", "4MiB" -> bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// The shortest form that parse_bytes reads back: "256KiB".
std::string format_bytes(std::uint64_t bytes);

// "500ms", "30s", "2m" -> milliseconds. A number without a unit is nothing, except 0.
std::optional<std::uint64_t> parse_duration_ms(std::string_view text);
std::string format_duration_ms(std::uint64_t ms);

// A float32; ".inf", "nan" and numbers beyond its range give values that are not finite.
std::optional<float> parse_real(std::string_view text);
// The shortest text that reads back as the same float.
std::string format_real(float value);

}  // namespace tidegate::launch
