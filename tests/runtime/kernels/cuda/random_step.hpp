// A step over random inputs: how many, of which ranks and types, how long, how aligned, of
// which optimizer. Its arrays lie in one piece of memory, with bytes between them that nobody
// may touch, so that two runs are alike if all of their bytes are, and a device gets them in
// one copy. A function of the seed; values are moderate, so that no NaN arises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::tests {

namespace kernels = runtime::kernels;

// The kinds of calls of update.hpp.
enum class call_kind : std::uint8_t { sum, assign, update };

// What a step is drawn from.
struct step_limits {
  std::size_t inputs_max = kernels::cuda::plan_inputs_max;
  std::size_t elements_max = 4096;
  std::uint64_t ranks = std::uint64_t{1} << 32;  // that inputs without a pattern are drawn from
};

class random_step {
 public:
  explicit random_step(std::uint64_t seed, const step_limits& limits = {});

  // Sets what was drawn to a chosen value; arrays are laid out anew.
  void choose(std::size_t elements, runtime::optimizer_kind kind, std::size_t inputs);

  // Has inputs hold runs of gaps, and their optimizer be lazy. Returns false where they cannot:
  // a sum alone, and inputs that are not float32, know no gaps.
  bool choose_gaps();

  std::size_t bytes() const noexcept { return bytes_; }
  // Fills `memory`, bytes() of it, with inputs, parameters, state, and the bytes between them.
  void fill(std::byte* memory) const;

  // The step's arrays in `memory`.
  std::vector<kernels::gradient> inputs_in(const std::byte* memory) const;
  kernels::chunk_arrays arrays_in(std::byte* memory) const;
  // Returns the constants of a step after `powers()`; the sum has none.
  kernels::cuda::step_constants constants() const;
  runtime::beta_powers powers() const noexcept { return powers_; }
  int number() const noexcept { return number_; }  // of the step, from 1

  call_kind call() const noexcept { return call_; }
  kernels::gaps where() const noexcept { return where_; }
  const kernels::optimizer& options() const noexcept { return options_; }
  float scale() const noexcept { return scale_; }
  std::size_t elements() const noexcept { return elements_; }

  // Returns all that was drawn, for the message of a failure.
  std::string describe() const;

 private:
  struct drawn_input {
    std::uint32_t rank = 0;
    kernels::element type = kernels::element::float32;
    std::size_t offset = 0;  // bytes from the begin of the memory
  };

  void draw_inputs(std::size_t count);
  void fill_gaps(std::byte* memory) const;
  void lay_out();

  std::uint64_t seed_;
  std::uint64_t ranks_;
  call_kind call_ = call_kind::update;
  kernels::optimizer options_;
  runtime::beta_powers powers_;
  int number_ = 1;
  float scale_ = 1;
  std::size_t elements_ = 0;
  bool in_place_ = true;
  bool keeps_sum_ = false;
  bool equally_aligned_ = true;
  kernels::gaps where_ = kernels::gaps::none;
  std::vector<drawn_input> inputs_;
  std::size_t before_ = 0, after_ = 0, state1_ = 0, state2_ = 0, sum_ = 0;  // offsets
  std::size_t bytes_ = 0;
};

// Memory of a step, aligned as a device's.
class step_memory {
 public:
  explicit step_memory(std::size_t bytes);
  std::byte* data() const noexcept { return data_.get(); }

 private:
  struct release {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, release> data_;
};

}  // namespace tidegate::tests
