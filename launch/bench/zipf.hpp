// Numbers as popular things are asked for: number k with a share of 1 / (k + 1)^theta, the law
// of Zipf. The method is that of Gray et al. (SIGMOD 1994, "Quickly generating billion-record
// synthetic databases", section 3.2), which YCSB uses, too. One thread per generator.
#pragma once

#include <cstdint>

#include "runtime/base/rng.hpp"

namespace tidegate::bench {

class zipf {
 public:
  // Numbers below `count`, which is > 0; theta is in [0, 1), and 0 is uniform. Takes time that
  // grows with the count.
  zipf(std::uint64_t count, double theta);

  std::uint64_t draw(runtime::rng& random) const;

 private:
  std::uint64_t count_;
  double theta_;
  double sum_;  // of all shares, before they are divided by it
  double exponent_;
  double slope_;
};

}  // namespace tidegate::bench
