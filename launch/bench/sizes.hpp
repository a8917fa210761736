// Sizes and lists on the command line. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

inline constexpr std::uint64_t size_bytes_max = std::uint64_t{64} << 30U;  // of one exchange

// "4096", "64KiB", "4MiB", "1GiB" -> bytes: whole floats, 4 to size_bytes_max. Errors:
// invalid_argument.
runtime::expected<std::uint64_t> parse_size(std::string_view text);

// "4MiB,16MiB"; at least one.
runtime::expected<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

// "0,2,1": whole numbers up to `most`; at least one.
runtime::expected<std::vector<std::uint32_t>> parse_numbers(std::string_view text,
                                                            std::uint32_t most);

// The shortest form that parse_size reads back: "256 KiB" without the blank.
std::string format_size(std::uint64_t bytes);

}  // namespace tidegate::bench
