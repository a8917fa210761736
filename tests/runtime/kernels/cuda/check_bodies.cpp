// The bodies of the kernels on this CPU against the formulas, element by element
// (update_reference.hpp): what is left of bodies_test.cpp on a machine without Tidegate's
// packages, so that a device is compared with something that was tried there.

#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/runtime/kernels/cuda/emulation.hpp"
#include "tests/runtime/kernels/cuda/random_step.hpp"
#include "tests/runtime/kernels/update_reference.hpp"

namespace {

using tidegate::tests::call_kind;
using tidegate::tests::random_step;
using tidegate::tests::step_memory;
namespace kernels = tidegate::runtime::kernels;

constexpr std::uint64_t seeds = 300;

void make_expected(const random_step& step, std::byte* memory) {
  const auto inputs = step.inputs_in(memory);
  const auto arrays = step.arrays_in(memory);
  tidegate::tests::parameters p{.w = {0}, .s1 = {0}, .s2 = {0}};
  for (std::size_t i = 0; i < arrays.n; ++i) {
    const float sum = tidegate::tests::reference_sum(inputs, i);
    if (arrays.sum != nullptr) arrays.sum[i] = sum;
    arrays.after[i] = step.call() == call_kind::update ? arrays.before[i] : sum;
    if (step.call() != call_kind::update) continue;
    p.w[0] = arrays.before[i];
    if (arrays.state1 != nullptr) p.s1[0] = arrays.state1[i];
    if (arrays.state2 != nullptr) p.s2[0] = arrays.state2[i];
    tidegate::tests::reference_step(step.options(), step.number(), step.scale(), sum, p, 0);
    arrays.after[i] = p.w[0];
    if (arrays.state1 != nullptr) arrays.state1[i] = p.s1[0];
    if (arrays.state2 != nullptr) arrays.state2[i] = p.s2[0];
  }
}

bool passes(std::uint64_t seed) {
  const random_step step(seed, {.inputs_max = 24, .elements_max = 2600, .ranks = 100});
  const step_memory expected(step.bytes()), got(step.bytes());
  step.fill(expected.data());
  step.fill(got.data());
  make_expected(step, expected.data());
  const auto constants = step.constants();
  tidegate::tests::emulate(step.inputs_in(got.data()),
                           step.call() == call_kind::update ? &constants : nullptr,
                           step.arrays_in(got.data()));
  if (std::memcmp(expected.data(), got.data(), step.bytes()) == 0) return true;
  std::printf("differs from its formula: %s\n", step.describe().c_str());
  return false;
}

}  // namespace

int main() {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) wrong += passes(seed) ? 0 : 1;
  std::printf("%d of %d steps differ\n", wrong, static_cast<int>(seeds));
  return wrong == 0 ? 0 : 1;
}
