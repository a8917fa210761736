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

}  // namespace tidegate::launch
