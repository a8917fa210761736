#include "runtime/kernels/tree.hpp"

#include <algorithm>
#include <bit>

namespace tidegate::runtime::kernels {

namespace {

bool is_dense(std::span<const gradient> inputs, std::uint64_t lo, std::uint64_t span) {
  if (inputs.size() == 1) return true;
  const auto at = first_fork(inputs, lo, span);
  return at.left == std::bit_ceil(inputs.size()) / 2 &&
         is_dense(inputs.first(at.left), at.lo, at.half) &&
         is_dense(inputs.subspan(at.left), at.lo + at.half, at.half);
}

}  // namespace

fork first_fork(std::span<const gradient> inputs, std::uint64_t lo, std::uint64_t span) {
  for (;;) {
    const std::uint64_t half = span / 2;
    const auto middle = std::partition_point(
        inputs.begin(), inputs.end(), [&](const gradient& g) { return g.rank < lo + half; });
    const auto left = static_cast<std::size_t>(middle - inputs.begin());
    if (left > 0 && left < inputs.size()) return {.lo = lo, .half = half, .left = left};
    if (left == 0) lo += half;
    span = half;
  }
}

std::uint64_t ranks_spanned(std::span<const gradient> inputs) {
  return std::bit_ceil(std::uint64_t{inputs.back().rank} + 1);
}

operand at_offset(const gradient& input, std::size_t offset) {
  return {static_cast<const std::byte*>(input.data) + offset * size_of(input.type), input.type};
}

bool have_loop(std::span<const gradient> inputs, std::size_t offset, dense_inputs& found) {
  found.type = inputs[0].type;
  found.count = inputs.size();
  if (!is_fused(found.type, found.count)) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type != found.type) return false;
    found.data[i] = at_offset(inputs[i], offset).data;
  }
  return true;
}

bool find_dense(std::span<const gradient> inputs, dense_inputs& found) {
  return have_loop(inputs, 0, found) && is_dense(inputs, 0, ranks_spanned(inputs));
}

}  // namespace tidegate::runtime::kernels
