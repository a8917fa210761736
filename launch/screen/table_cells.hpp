// Cells of the tables of a run on a screen. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>

#include "launch/text/text_table.hpp"

namespace tidegate::launch {

inline constexpr std::size_t column_gap = 2;
inline constexpr std::size_t bar_columns_most = 60;

inline std::string percent(double share) {
  return number_text("%.0f%%", 100 * share);
}

inline std::string fitted(const std::string& text, std::size_t width, bool to_the_right) {
  if (text.size() >= width) return text.substr(0, width);
  const std::string blanks(width - text.size(), ' ');
  return to_the_right ? blanks + text : text + blanks;
}

}  // namespace tidegate::launch
