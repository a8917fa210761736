#include "launch/text/problems.hpp"

#include <algorithm>
#include <tuple>

namespace tidegate::launch {

std::string place::to_string() const {
  if (from_set()) return source;
  return source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string problems::to_string() const {
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.where.from_set(), a.where.line, a.where.column) <
           std::tuple(b.where.from_set(), b.where.line, b.where.column);
  });
  std::string text;
  for (const auto& p : sorted) {
    if (!text.empty()) text += '\n';
    text += p.where.to_string() + ": " + p.message;
  }
  return text;
}

runtime::status problems::to_status() const {
  if (empty()) return {};
  return {runtime::errc::invalid_argument, to_string()};
}

}  // namespace tidegate::launch
