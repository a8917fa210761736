// What a block of threads does with its tile of a chunk: sum, step, store. One source for both
// processors: a kernel calls it on each thread, a test on each number in turn.
//
// A chunk is cut into tiles of threads_per_block * vector_elements * vectors_per_thread
// elements, from the last aligned address at or before its begin. A thread of a tile that lies
// within the chunk takes whole vectors, a block apart from each other, so that a warp reads
// lines from end to end; it loads everything before it computes anything, and that is what
// keeps the memory busy. Elements of other tiles go one by one, as do those of all tiles where
// arrays are aligned differently.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/host_device.hpp"
#include "runtime/kernels/cuda/elements.hpp"
#include "runtime/kernels/cuda/sum_plan.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/reduced.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::kernels::cuda {

constexpr std::uint32_t threads_per_block = 256;

// The arrays of chunk_arrays and where its tiles begin.
struct tile_arrays {
  const float* before = nullptr;
  float* after = nullptr;
  float* state1 = nullptr;
  float* state2 = nullptr;
  float* sum = nullptr;
  std::int64_t n = 0;
  std::int32_t phase = 0;   // elements from an aligned address to the chunk's begin
  bool is_aligned = false;  // all arrays are at that phase
};

// Options and rates of a step, worked out once for all elements.
struct step_constants {
  optimizer_options options;
  step_rates<float> rates;
  float scale = 1;
};

// The parameters are the sum.
struct sum_step {
  static constexpr bool reads_parameters = false;
  static constexpr std::size_t states = 0;

  TIDEGATE_HOST_DEVICE void operator()(float sum, float& w, float& /*a*/, float& /*b*/) const {
    w = sum;
  }
};

template <class Optimizer>
struct optimizer_step {
  static constexpr bool reads_parameters = Optimizer::traits().reads_parameters;
  static constexpr std::size_t states = Optimizer::traits().state_arrays;
  step_constants constants;

  TIDEGATE_HOST_DEVICE void operator()(float sum, float& w, float& a, float& b) const {
    const float g = reduced(sum, constants.scale, constants.options.clip_value);
    Optimizer::step(constants.options, constants.rates, g, w, a, b);
  }
};

// A step where the sum may have gaps, which keep their parameters and their state.
template <class Step>
struct step_around_gaps {
  static constexpr bool reads_parameters = true;
  static constexpr std::size_t states = Step::states;
  Step step;

  TIDEGATE_HOST_DEVICE void operator()(float sum, float& w, float& a, float& b) const {
    if (!is_gap(sum)) step(sum, w, a, b);
  }
};

TIDEGATE_HOST_DEVICE inline float_vector operator+(const float_vector& x,
                                                   const float_vector& y) {
  float_vector result;
  for (std::size_t i = 0; i < vector_elements; ++i) result.at[i] = x.at[i] + y.at[i];
  return result;
}

TIDEGATE_HOST_DEVICE inline float_vector sum_around_gaps(const float_vector& x,
                                                         const float_vector& y) {
  float_vector result;
  for (std::size_t i = 0; i < vector_elements; ++i)
    result.at[i] = kernels::sum_around_gaps(x.at[i], y.at[i]);
  return result;
}
TIDEGATE_HOST_DEVICE inline float sum_around_gaps(float x, float y) {
  return kernels::sum_around_gaps(x, y);
}

// How two partial sums are added.
struct plain_addition {
  template <class Value>
  TIDEGATE_HOST_DEVICE static Value add(const Value& x, const Value& y) {
    return x + y;
  }
};
struct addition_around_gaps {
  template <class Value>
  TIDEGATE_HOST_DEVICE static Value add(const Value& x, const Value& y) {
    return sum_around_gaps(x, y);
  }
};

// The largest power of two below `n`, n >= 2: how many inputs lie left in a dense tree.
TIDEGATE_HOST_DEVICE constexpr std::size_t left_of(std::size_t n) {
  std::size_t left = 1;
  while (2 * left < n) left *= 2;
  return left;
}

// The tree over `Count` arrays of one type, in registers.
template <element Type, std::size_t Count>
struct dense_sum {
  static constexpr std::size_t bytes_per_element = Count * sizeof(stored<Type>);
  const stored<Type>* data[Count];

  struct loaded {
    packed<Type> inputs[Count];
  };

  TIDEGATE_HOST_DEVICE loaded load(std::int64_t i) const {
    loaded result;
    for (std::size_t k = 0; k < Count; ++k) result.inputs[k] = load_once<Type>(data[k] + i);
    return result;
  }
  TIDEGATE_HOST_DEVICE float_vector total(const loaded& x) const {
    return range<float_vector, 0, Count>(x);
  }
  TIDEGATE_HOST_DEVICE float element_at(std::int64_t i) const {
    return range<float, 0, Count>(i);
  }

 private:
  template <class Value, std::size_t First, std::size_t N, class Where>
  TIDEGATE_HOST_DEVICE Value range(const Where& at) const {
    if constexpr (N == 1) {
      return leaf<First>(at);
    } else {
      constexpr auto left = left_of(N);
      return range<Value, First, left>(at) + range<Value, First + left, N - left>(at);
    }
  }
  template <std::size_t K>
  TIDEGATE_HOST_DEVICE float_vector leaf(const loaded& x) const {
    return widened<Type>(x.inputs[K]);
  }
  template <std::size_t K>
  TIDEGATE_HOST_DEVICE float leaf(std::int64_t i) const {
    return widened<Type>(data[K][i]);
  }
};

// Partial sums, the newest first. Never indexed by a variable, which registers cannot be.
template <class Value, class Addition>
class sum_stack {
 public:
  TIDEGATE_HOST_DEVICE void push(const Value& x) {
    for (std::size_t k = plan_depth_max - 1; k > 0; --k) sums_[k] = sums_[k - 1];
    sums_[0] = x;
  }
  TIDEGATE_HOST_DEVICE void add(const Value& x) { sums_[0] = Addition::add(sums_[0], x); }
  TIDEGATE_HOST_DEVICE void merge() {
    sums_[0] = Addition::add(sums_[1], sums_[0]);
    for (std::size_t k = 1; k + 1 < plan_depth_max; ++k) sums_[k] = sums_[k + 1];
  }
  TIDEGATE_HOST_DEVICE const Value& top() const { return sums_[0]; }

 private:
  Value sums_[plan_depth_max] = {};
};

// The tree over any inputs, each of its own type, by a plan.
template <class Addition>
struct sum_by_plan {
  static constexpr std::size_t bytes_per_element = plan_inputs_max * sizeof(float);
  sum_plan plan;

  using loaded = float_vector;

  // Two inputs are on their way while the one ahead of them is added.
  TIDEGATE_HOST_DEVICE loaded load(std::int64_t i) const {
    sum_stack<float_vector, Addition> stack;
    auto next = vector_of(plan.entries[0], i);
    auto second = plan.count > 1 ? vector_of(plan.entries[1], i) : next;
    TIDEGATE_NOT_UNROLLED
    for (std::uint32_t k = 0; k < plan.count; ++k) {
      const auto x = next;
      next = second;
      if (k + 2 < plan.count) second = vector_of(plan.entries[k + 2], i);
      follow(plan.entries[k], widened_as(plan.entries[k].type, x), stack);
    }
    return stack.top();
  }
  TIDEGATE_HOST_DEVICE float_vector total(const loaded& x) const { return x; }
  TIDEGATE_HOST_DEVICE float element_at(std::int64_t i) const {
    sum_stack<float, Addition> stack;
    TIDEGATE_NOT_UNROLLED
    for (std::uint32_t k = 0; k < plan.count; ++k)
      follow(plan.entries[k], element_of(plan.entries[k], i), stack);
    return stack.top();
  }

 private:
  template <class Value>
  TIDEGATE_HOST_DEVICE static void follow(const plan_entry& entry, const Value& x,
                                          sum_stack<Value, Addition>& stack) {
    if (entry.is_pushed) {
      stack.push(x);
    } else {
      stack.add(x);
    }
    TIDEGATE_NOT_UNROLLED
    for (unsigned k = 0; k < entry.merges; ++k) stack.merge();
  }

  template <element Type>
  TIDEGATE_HOST_DEVICE static const stored<Type>* data_of(const plan_entry& entry,
                                                          std::int64_t i) {
    return static_cast<const stored<Type>*>(entry.data) + i;
  }

  // Halves fill the first two words; both types of them are alike until they are widened.
  using any_packed = packed<element::float32>;
  TIDEGATE_HOST_DEVICE static any_packed vector_of(const plan_entry& entry, std::int64_t i) {
    if (entry.type == element::float32)
      return load_once<element::float32>(data_of<element::float32>(entry, i));
    const auto halves = load_once<element::bfloat16>(data_of<element::bfloat16>(entry, i));
    return {{halves.words[0], halves.words[1], 0, 0}};
  }
  TIDEGATE_HOST_DEVICE static float_vector widened_as(element type, const any_packed& x) {
    if (type == element::float32) return widened<element::float32>(x);
    if (type == element::float16)
      return widened<element::float16>(packed<element::float16>{{x.words[0], x.words[1]}});
    return widened<element::bfloat16>(packed<element::bfloat16>{{x.words[0], x.words[1]}});
  }
  TIDEGATE_HOST_DEVICE static float element_of(const plan_entry& entry, std::int64_t i) {
    if (entry.type == element::float32) return *data_of<element::float32>(entry, i);
    if (entry.type == element::float16)
      return widened<element::float16>(*data_of<element::float16>(entry, i));
    return widened<element::bfloat16>(*data_of<element::bfloat16>(entry, i));
  }
};

struct planned_sum : sum_by_plan<plain_addition> {};
// The same over inputs that may have gaps.
struct gapped_sum : sum_by_plan<addition_around_gaps> {};

// How many vectors of each array a thread takes: as many as give a multiprocessor some 48 KiB
// on their way at half of its threads; it takes 20 to 45 KiB to hide the memory's latency on
// sm_80 to sm_100.
template <class Sum, class Step>
constexpr std::size_t bytes_loaded = Sum::bytes_per_element +
                                     sizeof(float) *
                                         (Step::states + (Step::reads_parameters ? 1 : 0));
template <class Sum, class Step>
constexpr std::size_t vectors_per_thread = bytes_loaded<Sum, Step> <= 4    ? 4
                                           : bytes_loaded<Sum, Step> <= 16 ? 2
                                                                           : 1;
template <class Sum, class Step>
constexpr std::int64_t tile_elements =
    threads_per_block* vector_elements* vectors_per_thread<Sum, Step>;

template <class Sum, class Step>
TIDEGATE_HOST_DEVICE void step_element(const Sum& sum, const Step& step, const tile_arrays& at,
                                       std::int64_t i) {
  const float total = sum.element_at(i);
  float w = 0, a = 0, b = 0;
  if constexpr (Step::reads_parameters) w = at.before[i];
  if constexpr (Step::states >= 1) a = at.state1[i];
  if constexpr (Step::states >= 2) b = at.state2[i];
  step(total, w, a, b);
  if (at.sum != nullptr) at.sum[i] = total;
  if constexpr (Step::states >= 1) at.state1[i] = a;
  if constexpr (Step::states >= 2) at.state2[i] = b;
  at.after[i] = w;
}

// Steps the vectors at i, i + apart, ...
template <class Sum, class Step>
TIDEGATE_HOST_DEVICE void step_vectors(const Sum& sum, const Step& step, const tile_arrays& at,
                                       std::int64_t i) {
  constexpr auto vectors = vectors_per_thread<Sum, Step>;
  constexpr std::int64_t apart = threads_per_block * vector_elements;
  typename Sum::loaded inputs[vectors];
  float_vector w[vectors] = {}, a[vectors] = {}, b[vectors] = {};
  for (std::size_t v = 0; v < vectors; ++v) {
    const auto from = i + static_cast<std::int64_t>(v) * apart;
    inputs[v] = sum.load(from);
    if constexpr (Step::reads_parameters) w[v] = load(at.before + from);
    if constexpr (Step::states >= 1) a[v] = load(at.state1 + from);
    if constexpr (Step::states >= 2) b[v] = load(at.state2 + from);
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    const auto to = i + static_cast<std::int64_t>(v) * apart;
    const auto total = sum.total(inputs[v]);
    for (std::size_t k = 0; k < vector_elements; ++k)
      step(total.at[k], w[v].at[k], a[v].at[k], b[v].at[k]);
    if (at.sum != nullptr) store(total, at.sum + to);
    if constexpr (Step::states >= 1) store(a[v], at.state1 + to);
    if constexpr (Step::states >= 2) store(b[v], at.state2 + to);
    store(w[v], at.after + to);
  }
}

// What one thread of the block of a tile does.
template <class Sum, class Step>
TIDEGATE_HOST_DEVICE void step_tile(const Sum& sum, const Step& step, const tile_arrays& at,
                                    std::int64_t tile, std::uint32_t thread) {
  constexpr auto elements = tile_elements<Sum, Step>;
  const auto first = tile * elements - at.phase;
  if (at.is_aligned && first >= 0 && first + elements <= at.n)
    return step_vectors(sum, step, at,
                        first + static_cast<std::int64_t>(thread * vector_elements));
  const auto end = first + elements < at.n ? first + elements : at.n;
  auto i = first + static_cast<std::int64_t>(thread);
  if (i < 0) i += threads_per_block;  // a phase is smaller than a block
  TIDEGATE_NOT_UNROLLED
  for (; i < end; i += threads_per_block) step_element(sum, step, at, i);
}

}  // namespace tidegate::runtime::kernels::cuda
