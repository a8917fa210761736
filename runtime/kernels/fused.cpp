#include "runtime/kernels/fused.hpp"

#include "runtime/base/assert.hpp"

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/fused.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/kernels/steps_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"
#include "runtime/optimizers/registry.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

template <element Type, std::size_t Count, class Step>
void run(const Step& step, const dense_inputs& inputs, const chunk_arrays& at) {
  if constexpr (is_fused(Type, Count)) {
    dense_sum<Type, Count> sum;
    for (std::size_t k = 0; k < Count; ++k)
      sum.data[k] = static_cast<const stored<Type>*>(inputs.data[k]);
    pass(step, sum, at);
  }
}

template <element Type, class Step>
void by_count(const Step& step, const dense_inputs& inputs, const chunk_arrays& at) {
  switch (inputs.count) {
    case 1:
      return run<Type, 1>(step, inputs, at);
    case 2:
      return run<Type, 2>(step, inputs, at);
    case 3:
      return run<Type, 3>(step, inputs, at);
    case 4:
      return run<Type, 4>(step, inputs, at);
    case 5:
      return run<Type, 5>(step, inputs, at);
    case 6:
      return run<Type, 6>(step, inputs, at);
    case 7:
      return run<Type, 7>(step, inputs, at);
    case 8:
      return run<Type, 8>(step, inputs, at);
  }
}

template <class Step>
void by_type(const Step& step, const dense_inputs& inputs, const chunk_arrays& at) {
  switch (inputs.type) {
    case element::float32:
      return by_count<element::float32>(step, inputs, at);
    case element::float16:
      return by_count<element::float16>(step, inputs, at);
    case element::bfloat16:
      return by_count<element::bfloat16>(step, inputs, at);
  }
}

// What the registry says of an optimizer is what its vector step does.
#define TIDEGATE_CHECK(name, number)                                                      \
  static_assert(name##_step::has_before == optimizers::name::traits().reads_parameters && \
                name##_step::states == optimizers::name::traits().state_arrays);
TIDEGATE_OPTIMIZERS(TIDEGATE_CHECK)
#undef TIDEGATE_CHECK

void step_here(const coefficients& c, const dense_inputs& inputs, const chunk_arrays& at) {
  switch (c.kind) {
#define TIDEGATE_CASE(name, number) \
  case optimizer_kind::name:        \
    return by_type(name##_step{c}, inputs, at);
    TIDEGATE_OPTIMIZERS(TIDEGATE_CASE)
#undef TIDEGATE_CASE
    default:
      TIDEGATE_ASSERT(false, "an optimizer of dense tables");
  }
}

void sum_here(const dense_inputs& inputs, const chunk_arrays& at) {
  by_type(sum_step{}, inputs, at);
}

template <class Step>
void by_count_around_gaps(const Step& step, const dense_inputs& inputs,
                          const chunk_arrays& at) {
  const auto run = [&](auto sum) {
    for (std::size_t k = 0; k < std::size(sum.data); ++k)
      sum.data[k] = static_cast<const float*>(inputs.data[k]);
    pass_around_gaps(step, sum, at);
  };
  switch (inputs.count) {
    case 1:
      return run(gapped_sum<1>());
    case 2:
      return run(gapped_sum<2>());
    case 4:
      return run(gapped_sum<4>());
  }
}

void step_around_gaps_here(const coefficients& c, const dense_inputs& inputs,
                           const chunk_arrays& at) {
  switch (c.kind) {
#define TIDEGATE_CASE(name, number) \
  case optimizer_kind::name:        \
    return by_count_around_gaps(name##_step{c}, inputs, at);
    TIDEGATE_OPTIMIZERS(TIDEGATE_CASE)
#undef TIDEGATE_CASE
    default:
      TIDEGATE_ASSERT(false, "an optimizer of dense tables");
  }
}

void sum_around_gaps_here(const dense_inputs& inputs, const chunk_arrays& at) {
  by_count_around_gaps(sum_step{}, inputs, at);
}

template <element A, element B>
void add_pair(const operand& a, const operand& b, const chunk_arrays& at) {
  pass(sum_step{},
       pair_sum<A, B>{static_cast<const stored<A>*>(a.data),
                      static_cast<const stored<B>*>(b.data)},
       at);
}

template <element A>
void add_to(const operand& a, const operand& b, const chunk_arrays& at) {
  switch (b.type) {
    case element::float32:
      return add_pair<A, element::float32>(a, b, at);
    case element::float16:
      return add_pair<A, element::float16>(a, b, at);
    case element::bfloat16:
      return add_pair<A, element::bfloat16>(a, b, at);
  }
}

void add_here(const operand& a, const operand& b, const chunk_arrays& at) {
  switch (a.type) {
    case element::float32:
      return add_to<element::float32>(a, b, at);
    case element::float16:
      return add_to<element::float16>(a, b, at);
    case element::bfloat16:
      return add_to<element::bfloat16>(a, b, at);
  }
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {

HWY_EXPORT(step_here);
HWY_EXPORT(sum_here);
HWY_EXPORT(add_here);
HWY_EXPORT(step_around_gaps_here);
HWY_EXPORT(sum_around_gaps_here);

chunk_arrays only_after(float* out, std::size_t n) {
  chunk_arrays arrays;
  arrays.after = out;
  arrays.n = n;
  return arrays;
}

}  // namespace

void fused_step(const coefficients& options, const dense_inputs& inputs,
                const chunk_arrays& at) {
  TIDEGATE_ASSERT(is_fused(inputs.type, inputs.count), "there is a loop for these inputs");
  HWY_DYNAMIC_DISPATCH(step_here)(options, inputs, at);
}

void fused_sum(const dense_inputs& inputs, float* out, std::size_t n) {
  TIDEGATE_ASSERT(is_fused(inputs.type, inputs.count), "there is a loop for these inputs");
  HWY_DYNAMIC_DISPATCH(sum_here)(inputs, only_after(out, n));
}

void fused_step_around_gaps(const coefficients* options, const dense_inputs& inputs,
                            const chunk_arrays& at) {
  TIDEGATE_ASSERT(inputs.type == element::float32 && is_fused_around_gaps(inputs.count),
                  "there is a loop for these inputs");
  if (options != nullptr)
    HWY_DYNAMIC_DISPATCH(step_around_gaps_here)(*options, inputs, at);
  else
    HWY_DYNAMIC_DISPATCH(sum_around_gaps_here)(inputs, at);
}

void add(const operand& a, const operand& b, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(add_here)(a, b, only_after(out, n));
}

}  // namespace tidegate::runtime::kernels
#endif
