#include "runtime/kernels/update.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::kernels {

namespace {

constexpr std::size_t block =
    1024;  // floats: all partial sums of a deep tree stay in the L1 cache

void add_block(const float* a, const float* b, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

// Sums the inputs whose ranks lie in [lo, lo + span), span a power of two. Returns where the
// sum is: an input itself when it is the only one, else `out`.
const float* sum_range(std::span<const gradient> inputs, std::uint64_t lo, std::uint64_t span,
                       std::size_t offset, float* out, std::size_t n) {
  if (inputs.size() == 1) return inputs[0].data + offset;
  const std::uint64_t half = span / 2;
  const auto middle = std::partition_point(
      inputs.begin(), inputs.end(), [&](const gradient& g) { return g.rank < lo + half; });
  const auto left = inputs.first(static_cast<std::size_t>(middle - inputs.begin()));
  const auto right = inputs.subspan(left.size());
  if (left.empty()) return sum_range(right, lo + half, half, offset, out, n);
  if (right.empty()) return sum_range(left, lo, half, offset, out, n);
  float scratch[block];
  const float* a = sum_range(left, lo, half, offset, out, n);
  const float* b = sum_range(right, lo + half, half, offset, scratch, n);
  add_block(a, b, out, n);
  return out;
}

const float* sum_block(std::span<const gradient> inputs, std::size_t offset, float* out,
                       std::size_t n) {
  const std::uint64_t span = std::bit_ceil(std::uint64_t{inputs.back().rank} + 1);
  return sum_range(inputs, 0, span, offset, out, n);
}

struct step {
  optimizer_kind kind;
  float rate;  // with Adam's bias correction in it
  float momentum, beta1, beta2, epsilon, scale;
};

void sgd_block(const step& s, const float* g, const float* before, float* after,
               std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) after[i] = before[i] - s.rate * (s.scale * g[i]);
}

void momentum_block(const step& s, const float* g, const float* before, float* after, float* v,
                    std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = s.momentum * v[i] + s.scale * g[i];
    after[i] = before[i] - s.rate * v[i];
  }
}

void adam_block(const step& s, const float* g, const chunk_arrays& at, std::size_t offset,
                std::size_t n) {
  const float* before = at.before + offset;
  float* after = at.after + offset;
  float* m = at.state1 + offset;
  float* v = at.state2 + offset;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = s.scale * g[i];
    m[i] = s.beta1 * m[i] + (1.0F - s.beta1) * x;
    v[i] = s.beta2 * v[i] + (1.0F - s.beta2) * (x * x);
    after[i] = before[i] - s.rate * m[i] / (std::sqrt(v[i]) + s.epsilon);
  }
}

step make_step(const optimizer& how, adam_powers& powers, float scale) {
  step s{how.kind, how.learning_rate, how.momentum, how.beta1, how.beta2, how.epsilon, scale};
  if (how.kind == optimizer_kind::adam) {
    powers.beta1 *= how.beta1;
    powers.beta2 *= how.beta2;
    s.rate = static_cast<float>(how.learning_rate * std::sqrt(1.0 - powers.beta2) /
                                (1.0 - powers.beta1));
  }
  return s;
}

}  // namespace

void tree_sum(std::span<const gradient> inputs, float* out, std::size_t n) {
  TIDEGATE_ASSERT(!inputs.empty(), "something to sum");
  for (std::size_t offset = 0; offset < n; offset += block) {
    const std::size_t length = std::min(block, n - offset);
    const float* sum = sum_block(inputs, offset, out + offset, length);
    if (sum != out + offset) std::memcpy(out + offset, sum, length * sizeof(float));
  }
}

std::size_t state_arrays(optimizer_kind kind) noexcept {
  switch (kind) {
    case optimizer_kind::sgd:
      return 0;
    case optimizer_kind::momentum:
      return 1;
    case optimizer_kind::adam:
      return 2;
  }
  return 0;
}

void apply_update(const optimizer& how, adam_powers& powers, std::span<const gradient> inputs,
                  float scale, const chunk_arrays& at) {
  TIDEGATE_ASSERT(!inputs.empty(), "a step has a gradient");
  const step s = make_step(how, powers, scale);
  float scratch[block];
  for (std::size_t offset = 0; offset < at.n; offset += block) {
    const std::size_t n = std::min(block, at.n - offset);
    const float* g = sum_block(inputs, offset, scratch, n);
    switch (s.kind) {
      case optimizer_kind::sgd:
        sgd_block(s, g, at.before + offset, at.after + offset, n);
        break;
      case optimizer_kind::momentum:
        momentum_block(s, g, at.before + offset, at.after + offset, at.state1 + offset, n);
        break;
      case optimizer_kind::adam:
        adam_block(s, g, at, offset, n);
        break;
    }
  }
}

std::size_t first_not_finite(const float* data, std::size_t n) noexcept {
  constexpr std::uint32_t exponent = 0x7f80'0000;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t end = std::min(n, start + block);
    bool bad = false;  // no branch inside, so that the loop vectorizes
    for (std::size_t i = start; i < end; ++i)
      bad |= (std::bit_cast<std::uint32_t>(data[i]) & exponent) == exponent;
    if (!bad) continue;
    for (std::size_t i = start; i < end; ++i)
      if ((std::bit_cast<std::uint32_t>(data[i]) & exponent) == exponent) return i;
  }
  return n;
}

}  // namespace tidegate::runtime::kernels
