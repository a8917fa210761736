// Text in lines of a width. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tidegate::launch {

// Lines of at most `width` characters, unless a word alone is longer. The first begins with
// `first`, the others with as many blanks; each ends with a newline.
std::string wrapped(std::span<const std::string> words, std::string_view first,
                    std::size_t width = 80);

// The same of a text, which is cut at blanks.
std::string wrapped(std::string_view text, std::string_view first, std::size_t width = 80);

}  // namespace tidegate::launch
