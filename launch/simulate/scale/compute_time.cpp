#include "launch/simulate/scale/compute_time.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "launch/simulate/cluster/draws.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::sim::scale {

namespace {

// In (0, 1].
double uniform(draws& from) noexcept {
  return static_cast<double>((from.next() >> 11) + 1) * 0x1p-53;
}

double standard_normal(draws& from) noexcept {
  const auto radius = std::sqrt(-2 * std::log(uniform(from)));
  return radius * std::cos(2 * std::numbers::pi * uniform(from));
}

}  // namespace

compute_time::compute_time(const compute_spec& spec, std::uint32_t workers, std::uint64_t seed)
    : spec_(spec), seed_(seed), slow_(workers, 0) {
  const auto wanted = spec.slow_fraction * workers;
  if (wanted <= 0) return;
  const auto slow =
      std::min(workers, std::max<std::uint32_t>(1, static_cast<std::uint32_t>(wanted + 0.5)));
  std::vector<std::uint32_t> ranks(workers);
  std::iota(ranks.begin(), ranks.end(), 0);
  draws chance(runtime::stream_key(seed, "slow"));
  for (std::uint32_t at = 0; at < slow; ++at) {
    std::swap(ranks[at], ranks[chance.between(at, workers - 1)]);
    slow_[ranks[at]] = 1;
  }
}

double compute_time::seconds(std::uint32_t rank, std::uint64_t clock) const {
  draws chance(runtime::mix64(seed_ ^ runtime::mix64(rank)) ^ clock);
  auto factor = slow_[rank] != 0 ? spec_.slow_factor : 1.0;
  switch (spec_.shape) {
    case compute_spec::kind::constant:
      break;
    case compute_spec::kind::lognormal:  // its mean is 1
      factor *= std::exp(spec_.spread * (standard_normal(chance) - spec_.spread / 2));
      break;
    case compute_spec::kind::exponential:
      factor *= 1 - spec_.spread - spec_.spread * std::log(uniform(chance));
      break;
  }
  const bool pauses = spec_.pause_chance > 0 && chance.chance(spec_.pause_chance);
  return spec_.mean * factor + (pauses ? spec_.pause_seconds : 0);
}

}  // namespace tidegate::sim::scale
