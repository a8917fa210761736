// Paragraphs with the number of their language, and the n-grams of their characters. No cluster
// is needed here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tidegate/status.hpp>

namespace tidegate::examples {

struct paragraph {
  std::uint32_t language = 0;
  std::string text;  // UTF-8
};

inline constexpr std::uint32_t languages = 16;

// Reads a file that prepare.py has written. Errors: not_found, corrupt (a line of another
// form).
expected<std::vector<paragraph>> read_paragraphs(const std::string& path);

// Returns the ids of all n-grams of 1 to 3 characters, in 2^22: an n-gram as three numbers of
// 21 bits, hashed (Knuth, volume 3, section 6.4: multiplication by the golden ratio).
std::vector<std::uint64_t> ngrams_of(std::string_view text);

}  // namespace tidegate::examples
