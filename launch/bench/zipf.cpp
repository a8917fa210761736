#include "launch/bench/zipf.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/assert.hpp"

namespace tidegate::bench {

namespace {

double share_of_first(std::uint64_t count, double theta) {
  double sum = 0;
  for (std::uint64_t k = 1; k <= count; ++k) sum += std::pow(static_cast<double>(k), -theta);
  return sum;
}

}  // namespace

zipf::zipf(std::uint64_t count, double theta)
    : count_(count),
      theta_(theta),
      sum_(theta == 0 ? 0 : share_of_first(count, theta)),
      exponent_(1 / (1 - theta)),
      slope_(theta == 0
                 ? 0
                 : (1 - std::pow(2 / static_cast<double>(count), 1 - theta)) /
                       (1 - share_of_first(std::min<std::uint64_t>(2, count), theta) / sum_)) {
  TIDEGATE_ASSERT(count > 0 && theta >= 0 && theta < 1, "a distribution of something");
}

std::uint64_t zipf::draw(runtime::rng& random) const {
  if (theta_ == 0 || count_ <= 2) return random.below(count_);
  const double u = static_cast<double>(random.next() >> 11U) * 0x1p-53;
  const double at = u * sum_;
  if (at < 1) return 0;
  if (at < 1 + std::pow(0.5, theta_)) return 1;
  const auto number =
      static_cast<double>(count_) * std::pow(slope_ * u - slope_ + 1, exponent_);
  return std::min(static_cast<std::uint64_t>(number), count_ - 1);
}

}  // namespace tidegate::bench
