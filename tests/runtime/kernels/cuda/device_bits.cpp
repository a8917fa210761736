// On a GPU every kernel leaves the bytes that its body leaves on the CPU: random steps of all
// optimizers, types, numbers of inputs, sets of ranks and alignments, a third of those that can
// with gaps, then long ones. Compares
// all memory of a step, so that a store beside an array shows as well. Then searches for
// numbers that are not finite, and steps and copies of rows.
//
// usage: device_bits [SECONDS [LONGEST]]   how long random steps are tried, 30 without it; and
//   elements of a long step at most: all are tried without it

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/cuda/finite.hpp"
#include "runtime/kernels/cuda/rows.hpp"
#include "runtime/kernels/cuda/update.hpp"
#include "tests/runtime/kernels/cuda/device.hpp"
#include "tests/runtime/kernels/cuda/emulation.hpp"
#include "tests/runtime/kernels/cuda/random_step.hpp"

namespace {

using tidegate::runtime::optimizer_kind;
using tidegate::tests::call_kind;
using tidegate::tests::device_memory;
using tidegate::tests::random_step;
using tidegate::tests::require;
using tidegate::tests::step_memory;
namespace kernels = tidegate::runtime::kernels;
namespace cuda = tidegate::runtime::kernels::cuda;

constexpr std::uint64_t seeds_max = 20'000;
constexpr std::size_t random_bytes_max = std::size_t{64} << 20;

// More inputs than a plan has room for are refused before anything is queued.
bool refuses_too_many_inputs() {
  std::vector<float> element(1, 1.0F);
  std::vector<kernels::gradient> inputs;
  for (std::uint32_t rank = 0; rank <= cuda::plan_inputs_max; ++rank)
    inputs.push_back({.data = element.data(), .rank = rank});
  const kernels::optimizer options{.kind = optimizer_kind::adam};
  tidegate::runtime::beta_powers powers;
  return cuda::queue_update(options, powers, inputs, 1.0F,
                            {.before = element.data(), .after = element.data(), .n = 1},
                            nullptr) == cuda::error_invalid &&
         powers.beta1 == 1.0;
}

int queue(const random_step& step, std::byte* memory) {
  const auto inputs = step.inputs_in(memory);
  const auto arrays = step.arrays_in(memory);
  auto powers = step.powers();
  switch (step.call()) {
    case call_kind::sum:
      return cuda::queue_sum(inputs, arrays.after, arrays.n, nullptr);
    case call_kind::assign:
      return cuda::queue_assign(inputs, arrays, step.where(), nullptr);
    case call_kind::update:
      return cuda::queue_update(step.options(), powers, inputs, step.scale(), arrays, nullptr);
  }
  return cuda::error_invalid;
}

bool passes(const random_step& step, const device_memory& device) {
  const step_memory expected(step.bytes()), got(step.bytes());
  step.fill(expected.data());
  require(cudaMemcpy(device.data(), expected.data(), step.bytes(), cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
  require(queue(step, device.data()), "queue");
  const auto constants = step.constants();
  tidegate::tests::emulate(step.inputs_in(expected.data()),
                           step.call() == call_kind::update ? &constants : nullptr,
                           step.arrays_in(expected.data()), step.where());
  require(cudaMemcpy(got.data(), device.data(), step.bytes(), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
  if (std::memcmp(expected.data(), got.data(), step.bytes()) == 0) return true;
  std::size_t first = 0;
  while (expected.data()[first] == got.data()[first]) ++first;
  std::printf("byte %zu differs from the CPU's: %s\n", first, step.describe().c_str());
  return false;
}

int try_random_steps(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const device_memory device(random_bytes_max);
  int wrong = 0, with_gaps = 0;
  std::uint64_t seed = 0;
  while (seed < seeds_max && std::chrono::steady_clock::now() < end) {
    const std::size_t elements_max = ++seed % 100 == 0 ? 100'000 : 5000;
    random_step step(seed, {.elements_max = elements_max});
    if (seed % 3 == 0 && step.choose_gaps()) ++with_gaps;
    wrong += passes(step, device) ? 0 : 1;
  }
  std::printf("%d of %d random steps differ; %d had gaps\n", wrong, static_cast<int>(seed),
              with_gaps);
  return wrong;
}

// Long steps: unaligned ends where the seed draws a phase, and whole tiles.
int try_long_steps(std::size_t longest) {
  struct long_step {
    std::size_t elements, inputs;
    optimizer_kind kind;
  };
  constexpr long_step steps[] = {
      {.elements = (std::size_t{1} << 26), .inputs = 2, .kind = optimizer_kind::sgd},
      {.elements = (std::size_t{1} << 26) + 3, .inputs = 1, .kind = optimizer_kind::adamw},
      {.elements = (std::size_t{1} << 24) - 1, .inputs = 8, .kind = optimizer_kind::adam},
      {.elements = (std::size_t{1} << 22) + 1, .inputs = 33, .kind = optimizer_kind::adagrad},
  };
  int wrong = 0;
  std::uint64_t seed = 100'000;
  for (const auto& each : steps) {
    if (each.elements > longest) continue;
    random_step step(++seed);
    step.choose(each.elements, each.kind, each.inputs);
    const device_memory device(step.bytes());
    const bool is_right = passes(step, device);
    std::printf("%s: %s\n", is_right ? "equal" : "DIFFERS", step.describe().c_str());
    wrong += is_right ? 0 : 1;
  }
  return wrong;
}

// Numbers that are finite but for some from `at` on; begins at an odd address for a vector.
bool finds(std::size_t n, std::size_t at) {
  std::vector<float> numbers(n, 1.0F);
  for (auto i = at; i < n; i += 1 + n / 5) numbers[i] = i % 2 == 0 ? NAN : -INFINITY;
  const device_memory device((n + 3) * sizeof(float)), result(sizeof(std::uint64_t));
  auto* const there = reinterpret_cast<float*>(device.data()) + 1;
  auto* const first = reinterpret_cast<std::uint64_t*>(result.data());
  require(cudaMemcpy(there, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
  require(cuda::queue_find_not_finite(there, n, first, nullptr), "queue_find_not_finite");
  std::uint64_t found = 0;
  require(cudaMemcpy(&found, first, sizeof found, cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
  if (found == tidegate::tests::emulate_find(numbers)) return true;
  std::printf("of %zu numbers, the first that is not finite is %zu, not %llu\n", n, at,
              static_cast<unsigned long long>(found));
  return false;
}

// A number that is not finite in the first turn of a thread, in a later one, in the rest; none.
int try_finds() {
  const std::size_t sizes[] = {0, 1, 255, 257, 5000, 3'000'001};
  int wrong = 0;
  for (const auto n : sizes)
    for (const auto at : {std::size_t{0}, n / 3, n - n / 7, n}) wrong += finds(n, at) ? 0 : 1;
  std::printf("%d searches for numbers that are not finite differ\n", wrong);
  return wrong;
}

// Rows that an optimizer steps: values, state and gradients in one piece of memory, every
// second row stepped and the others copied over by the first.
class random_rows {
 public:
  explicit random_rows(std::uint64_t seed) : random_(seed) {
    using tidegate::runtime::optimizer_kind;
    constexpr optimizer_kind kinds[] = {
        optimizer_kind::sgd,     optimizer_kind::adagrad,         optimizer_kind::adam,
        optimizer_kind::ftrl,    optimizer_kind::rowwise_adagrad, optimizer_kind::group_adagrad,
        optimizer_kind::proximal};
    constants_.options.kind = kinds[seed % std::size(kinds)];
    constants_.options.l1 = 0.01F;
    constants_.rates = {.rate = 0.05F};
    constants_.scale = 0.5F;
    constants_.row = {.rate = 0.05F,
                      .epsilon = 1e-8F,
                      .beta = 1,
                      .l1 = 0.01F,
                      .l2 = 0.02F,
                      .row_bound = 0.1F};
    columns_ = {.first = static_cast<std::uint32_t>(random_.below(5)),
                .columns = static_cast<std::uint32_t>(1 + random_.below(200)),
                .state = 0};
    wide_ = (columns_.first + columns_.columns + 3) / 4 * 4;
    count_ = 1 + random_.below(2000);
    memory_.resize(count_ * wide_ * 4);
    for (auto& number : memory_)
      number = static_cast<float>(random_.below(2001)) / 1000.0F - 0.5F;
  }

  bool passes() {
    const device_memory device(bytes()), lists(2 * count_ * sizeof(kernels::row_addresses));
    require(cudaMemcpy(device.data(), memory_.data(), bytes(), cudaMemcpyHostToDevice),
            "cudaMemcpy to the device");
    auto* const there = reinterpret_cast<float*>(device.data());
    const auto steps = steps_in(there);
    const auto copies = copies_in(there);
    auto* const step_list = reinterpret_cast<kernels::row_addresses*>(lists.data());
    auto* const copy_list = reinterpret_cast<kernels::row_copy*>(step_list + steps.size());
    require(cudaMemcpy(step_list, steps.data(), steps.size() * sizeof steps[0],
                       cudaMemcpyHostToDevice),
            "cudaMemcpy of steps");
    require(cudaMemcpy(copy_list, copies.data(), copies.size() * sizeof copies[0],
                       cudaMemcpyHostToDevice),
            "cudaMemcpy of copies");
    require(cuda::queue_row_step(constants_, columns_, step_list, steps.size(), nullptr),
            "queue_row_step");
    require(cuda::queue_row_copy(copy_list, copies.size(), wide_, true, nullptr),
            "queue_row_copy");
    tidegate::tests::emulate_row_step(constants_, columns_, steps_in(memory_.data()));
    tidegate::tests::emulate_row_copy(copies_in(memory_.data()), wide_, true);
    std::vector<float> got(memory_.size());
    require(cudaMemcpy(got.data(), device.data(), bytes(), cudaMemcpyDeviceToHost),
            "cudaMemcpy from the device");
    return std::memcmp(got.data(), memory_.data(), bytes()) == 0;
  }

 private:
  std::size_t bytes() const { return memory_.size() * sizeof(float); }
  // A row has values, two arrays of state, and a gradient.
  float* row(float* base, std::size_t i) const { return base + i * wide_ * 4; }
  std::vector<kernels::row_addresses> steps_in(float* base) const {
    std::vector<kernels::row_addresses> steps;
    for (std::size_t i = 0; i < count_; i += 2)
      steps.push_back({.values = row(base, i),
                       .state = row(base, i) + wide_,
                       .gradient = row(base, i) + 3 * wide_});
    return steps;
  }
  std::vector<kernels::row_copy> copies_in(float* base) const {
    std::vector<kernels::row_copy> copies;
    for (std::size_t i = 1; i < count_; i += 2)
      copies.push_back({.to = row(base, i), .from = i % 3 == 0 ? nullptr : row(base, i - 1)});
    return copies;
  }

  tidegate::runtime::rng random_;
  kernels::row_constants constants_;
  kernels::row_columns columns_;
  std::size_t wide_ = 0;
  std::size_t count_ = 0;
  std::vector<float> memory_;
};

int try_rows() {
  constexpr int tries = 700;
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= tries; ++seed)
    wrong += random_rows(seed).passes() ? 0 : 1;
  std::printf("%d of %d steps and copies of rows differ\n", wrong, tries);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (!refuses_too_many_inputs()) {
    std::printf("too many inputs were not refused\n");
    return 1;
  }
  tidegate::tests::require_device();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 30;
  const std::size_t longest = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : SIZE_MAX;
  const int wrong =
      try_finds() + try_rows() + try_random_steps(seconds) + try_long_steps(longest);
  return wrong == 0 ? 0 : 1;
}
