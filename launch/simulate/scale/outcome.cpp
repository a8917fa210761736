#include "launch/simulate/scale/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tidegate::sim::scale {

void staleness_counts::put_into(outcome& into) const {
  const auto pulls = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  if (pulls == 0) return;
  std::uint64_t seen = 0;
  double sum = 0;
  bool found = false;
  for (std::size_t clocks = 0; clocks < counts_.size(); ++clocks) {
    seen += counts_[clocks];
    sum += static_cast<double>(clocks) * static_cast<double>(counts_[clocks]);
    if (!found && static_cast<double>(seen) >= 0.99 * static_cast<double>(pulls)) {
      into.staleness_p99 = clocks;
      found = true;
    }
  }
  into.staleness_mean = sum / static_cast<double>(pulls);
  into.staleness_max = counts_.size() - 1;
}

double percentile_99(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto rank =
      static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace tidegate::sim::scale
