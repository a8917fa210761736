// What a process has said last, for the line that tells its end. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegate::launch {

// The last line that is not blank, as a terminal would show it: what follows its last carriage
// return, without control characters, and at most 160 bytes. Empty: no line is left.
std::string last_line_of(std::string_view text);

// The same of what the file has from this byte on; empty where it cannot be read.
std::string last_line_in(const std::string& path, std::uint64_t from);

}  // namespace tidegate::launch
