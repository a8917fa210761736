// The canonical tree over ranks, of single numbers: what reductions of arrays are compared
// with.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace tidegate::runtime::kernels {

// Combines the numbers of ranks [lo, lo + span), where span is a power of two. Those that are
// not there, or beyond the end, are passed over.
template <class Combine>
std::optional<float> of_tree(const Combine& combine,
                             const std::vector<std::optional<float>>& of_ranks, std::size_t lo,
                             std::size_t span) {
  if (span == 1) return lo < of_ranks.size() ? of_ranks[lo] : std::nullopt;
  const auto left = of_tree(combine, of_ranks, lo, span / 2);
  const auto right = of_tree(combine, of_ranks, lo + span / 2, span / 2);
  if (!left || !right) return left ? left : right;
  return combine(*left, *right);
}

}  // namespace tidegate::runtime::kernels
