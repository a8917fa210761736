// The key that a door and those who come to it share: a file with text that nobody can guess.
// Pure but for the file; any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/secret.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Characters that the text has at least, without white space at its ends: 16 bytes in
// hexadecimal digits.
inline constexpr std::size_t door_key_characters_min = 32;

// Returns the key of TLS that this text stands for. Errors: invalid_argument (too short).
runtime::expected<runtime::digest> door_key_of(std::string_view text);
// Likewise, of a file. Errors: not_found, io_error, invalid_argument (others than its owner and
// its group may read or change the file, too).
runtime::expected<runtime::digest> read_door_key(const std::string& path);
// Returns such a text, drawn: 64 hexadecimal digits. Errors: io_error.
runtime::expected<std::string> draw_door_key();

}  // namespace tidegate::launch
