// How much of a device's bandwidth the kernels use: bytes read and written per second of a step
// over 256 MiB arrays, as a ratio to those of a copy from device to device in the same turn.
//
// usage: kernel_bandwidth [MIB] [TURNS]   bytes of each array, 256 MiB without it; 15 turns

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/cuda/update.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/kernels/cuda/device.hpp"

namespace {

using tidegate::runtime::optimizer_kind;
using tidegate::tests::device_memory;
using tidegate::tests::require;
namespace kernels = tidegate::runtime::kernels;
namespace cuda = tidegate::runtime::kernels::cuda;

struct measured_step {
  optimizer_kind kind = optimizer_kind::sgd;
  std::size_t inputs = 1;
  kernels::element type = kernels::element::float32;
  double target = 0;  // ratio that is aimed at; 0: shown only
};

constexpr measured_step steps[] = {
    {.kind = optimizer_kind::sgd, .inputs = 1},
    {.kind = optimizer_kind::sgd, .inputs = 2, .target = 0.9},
    {.kind = optimizer_kind::sgd, .inputs = 4, .target = 0.9},
    {.kind = optimizer_kind::sgd, .inputs = 8, .target = 0.9},
    {.kind = optimizer_kind::adam, .inputs = 1, .target = 0.9},
    {.kind = optimizer_kind::adam, .inputs = 4},
    {.kind = optimizer_kind::sgd, .inputs = 2, .type = kernels::element::bfloat16},
    {.kind = optimizer_kind::sgd, .inputs = 4, .type = kernels::element::float16},
    {.kind = optimizer_kind::sgd, .inputs = 12},  // by a plan
    {.kind = optimizer_kind::sgd, .inputs = 8, .type = kernels::element::bfloat16},
};
constexpr std::size_t inputs_max = 12;
constexpr int repeats = 5;  // in a turn, so that the time of a launch does not count

class stopwatch {
 public:
  stopwatch() {
    require(cudaEventCreate(&begin_), "cudaEventCreate");
    require(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

  double seconds_of(const std::function<void()>& work) {
    require(cudaEventRecord(begin_, nullptr), "cudaEventRecord");
    for (int i = 0; i < repeats; ++i) work();
    require(cudaEventRecord(end_, nullptr), "cudaEventRecord");
    require(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds / 1e3 / repeats;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Arrays of inputs, parameters and state, and two to copy between.
class arrays_on_device {
 public:
  explicit arrays_on_device(std::size_t elements) : elements_(elements) {
    // Small positive numbers, read as any of the types: what is the same everywhere may be
    // faster.
    std::vector<std::uint16_t> halves(2 * elements);
    for (std::size_t i = 0; i < halves.size(); ++i)
      halves[i] = static_cast<std::uint16_t>(0x3800U | (tidegate::runtime::mix64(i) & 0x3ffU));
    for (std::size_t i = 0; i < inputs_max + 5; ++i) {
      memory_.push_back(std::make_unique<device_memory>(elements * sizeof(float)));
      require(cudaMemcpy(memory_.back()->data(), halves.data(), elements * sizeof(float),
                         cudaMemcpyHostToDevice),
              "cudaMemcpy to the device");
    }
  }
  float* array(std::size_t i) const { return reinterpret_cast<float*>(memory_[i]->data()); }

  void queue(const measured_step& step) {
    std::vector<kernels::gradient> inputs;
    for (std::uint32_t rank = 0; rank < step.inputs; ++rank)
      inputs.push_back({.data = array(rank), .rank = rank, .type = step.type});
    kernels::optimizer options = tidegate::runtime::traits_of(step.kind).defaults;
    options.kind = step.kind;
    tidegate::runtime::beta_powers powers;
    require(cuda::queue_update(options, powers, inputs, 1.0F / static_cast<float>(step.inputs),
                               {.before = array(inputs_max),
                                .after = array(inputs_max),
                                .state1 = array(inputs_max + 1),
                                .state2 = array(inputs_max + 2),
                                .n = elements_},
                               nullptr),
            "queue_update");
  }
  void copy() {
    require(cudaMemcpyAsync(array(inputs_max + 3), array(inputs_max + 4),
                            elements_ * sizeof(float), cudaMemcpyDeviceToDevice, nullptr),
            "cudaMemcpyAsync");
  }

 private:
  std::size_t elements_;
  std::vector<std::unique_ptr<device_memory>> memory_;
};

double bytes_per_element(const measured_step& step) {
  const auto states = tidegate::runtime::traits_of(step.kind).state_arrays;
  return static_cast<double>(step.inputs * size_of(step.type) +
                             sizeof(float) * 2 * (1 + states));
}

}  // namespace

int main(int argc, char** argv) {
  tidegate::tests::require_device();
  const auto mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
  const int turns = argc > 2 ? std::atoi(argv[2]) : 15;
  const auto elements = (mebibytes << 20) / sizeof(float);
  arrays_on_device arrays(elements);
  stopwatch watch;
  std::printf("%-9s %6s %-9s %9s %9s %6s\n", "optimizer", "inputs", "type", "GB/s", "copy GB/s",
              "ratio");
  constexpr const char* types[] = {"float32", "float16", "bfloat16"};
  bool reached = true;
  for (const auto& step : steps) {
    std::vector<double> rates, copies, ratios;
    watch.seconds_of([&] { arrays.queue(step); });  // loads the kernel
    for (int turn = 0; turn < turns; ++turn) {
      const auto n = static_cast<double>(elements);
      copies.push_back(2 * sizeof(float) * n / watch.seconds_of([&] { arrays.copy(); }));
      rates.push_back(bytes_per_element(step) * n /
                      watch.seconds_of([&] { arrays.queue(step); }));
      ratios.push_back(rates.back() / copies.back());
    }
    const auto ratio = median(ratios);
    reached = reached && ratio >= step.target;
    std::printf("%-9s %6zu %-9s %9.0f %9.0f %6.3f%s\n",
                std::string(tidegate::runtime::optimizer_name(step.kind)).c_str(), step.inputs,
                types[static_cast<std::size_t>(step.type)], median(rates) / 1e9,
                median(copies) / 1e9, ratio, ratio < step.target ? "  below its target" : "");
  }
  std::printf(reached ? "all targets reached\n" : "some targets missed\n");
  return 0;
}
