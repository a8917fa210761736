// Text of others (failures, names, logs) as it may be shown. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace tidegate::launch {

// Returns the text with U+FFFD in place of what is not UTF-8.
std::string valid_utf8(std::string_view text);

// Likewise, and with blanks in place of control characters (C0, DEL and C1), which a terminal
// would obey.
std::string printable(std::string_view text);

// Likewise, of at most so many bytes, 3 or more: "..." stands for the rest, and no letter is
// cut.
std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace tidegate::launch
