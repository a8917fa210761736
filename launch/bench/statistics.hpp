// Order statistics of measured times. Pure, any thread.
#pragma once

#include <vector>

namespace tidegate::bench {

// The smallest value that at least `share` of the values do not exceed (nearest rank); share in
// [0, 1]. 0 without values.
double percentile(std::vector<double> values, double share);

// Of an even number of values the mean of the middle two.
double median(std::vector<double> values);

}  // namespace tidegate::bench
