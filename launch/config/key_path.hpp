// Paths of keys as users write them. Pure, any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidegate::launch {

// The keys of a path: it is cut at dots outside of double quotes, which are taken off.
// Nothing: a key is empty, or a quote is open.
std::optional<std::vector<std::string>> split_path(std::string_view path);

// True if these are the keys of the pattern, in which * stands for any.
bool matches(std::string_view pattern, std::span<const std::string> keys);

}  // namespace tidegate::launch
