// "Did you mean ...": the nearest of a few known words. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tidegate::launch {

// The known word at the least edit distance (insert, delete, replace, swap of neighbours);
// empty when none is near enough to be what was meant. The first wins among equals.
std::string nearest(std::string_view word, std::span<const std::string> known);

// "a, b, c"
std::string join(std::span<const std::string> words, std::string_view separator = ", ");

}  // namespace tidegate::launch
