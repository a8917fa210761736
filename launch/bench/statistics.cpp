#include "launch/bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tidegate::bench {

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index = std::clamp(rank - 1, 0.0, static_cast<double>(values.size() - 1));
  return values[static_cast<std::size_t>(index)];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace tidegate::bench
