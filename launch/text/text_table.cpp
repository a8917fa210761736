#include "launch/text/text_table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace tidegate::launch {

std::string format_table(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      const bool to_right = std::find(right.begin(), right.end(), c) != right.end();
      line += (c == 0 ? "" : "  ") + (to_right ? pad + row[c] : row[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string milliseconds(double seconds) {
  return number_text("%.1f ms", 1e3 * seconds);
}

std::string bytes_for_people(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return number_text(unit == 0 ? "%.0f " : "%.1f ", value) + units[unit];
}

std::string number_text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace tidegate::launch
