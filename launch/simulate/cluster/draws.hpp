// The one source of chance of a simulation. What is drawn is folded into a digest, so that two
// runs of a seed can be told to be the same to the last draw.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::sim {

class draws {
 public:
  explicit draws(std::uint64_t seed) noexcept : random_(runtime::mix64(seed)) {}

  std::uint64_t next() noexcept {
    const auto drawn = random_.next();
    digest_ = runtime::mix64(digest_ ^ drawn);
    ++count_;
    return drawn;
  }
  // Uniform in [0, bound); bound >= 1.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Uniform in [low, high].
  template <class Number>
  Number between(Number low, Number high) noexcept {
    TIDEGATE_ASSERT(low <= high, "a range");
    return static_cast<Number>(
        low + static_cast<Number>(below(static_cast<std::uint64_t>(high - low) + 1)));
  }
  bool chance(double probability) noexcept {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

  std::uint64_t digest() const noexcept { return digest_; }
  std::uint64_t count() const noexcept { return count_; }

 private:
  runtime::rng random_;
  std::uint64_t digest_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace tidegate::sim
