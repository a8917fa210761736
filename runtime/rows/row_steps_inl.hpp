// A step of one row on vectors, for each optimizer. Compiled once per vector width.
#if defined(TIDEGATE_ROWS_ROW_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_ROWS_ROW_STEPS_INL
#undef TIDEGATE_ROWS_ROW_STEPS_INL
#else
#define TIDEGATE_ROWS_ROW_STEPS_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/row_step.hpp"
#include "runtime/kernels/squares_inl.hpp"
#include "runtime/kernels/steps/adagrad_inl.hpp"
#include "runtime/kernels/steps/adam_inl.hpp"
#include "runtime/kernels/steps/proximal_inl.hpp"
#include "runtime/kernels/steps/sgd_inl.hpp"
#include "runtime/optimizers/row_formulas.hpp"
#include "runtime/rows/row_layout.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls visit(tag, i) for vectors that begin at column i; what is left of a vector at the end
// goes one column at a time.
template <class Visit>
HWY_INLINE void for_columns(std::size_t dim, const Visit& visit) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> single;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= dim; i += lanes) visit(d, i);
  for (; i < dim; ++i) visit(single, i);
}

// The step of a row as operator()(g, w, state, dim).
template <class Step>
struct columns_step {
  Step step;

  HWY_INLINE void operator()(const float* g, float* w, float* state, std::size_t dim) const {
    kernels::chunk_arrays at;
    at.before = at.after = w;
    at.state1 = state;
    at.state2 = state + dim;
    at.n = dim;
    for_columns(dim, [&](auto d, std::size_t i) HWY_ATTR {
      hn::StoreU(step(d, hn::LoadU(d, g + i), at, i), d, w + i);
    });
  }
};

struct rowwise_step {
  row_coefficients c;

  HWY_INLINE void operator()(const float* g, float* w, float* state, std::size_t dim) const {
    kernels::squares sums{};
    kernels::HWY_NAMESPACE::add_squares_of(g, c.dense.scale, dim, sums.data());
    const float rate =
        rowwise_rate(c.row, kernels::total_of(sums), static_cast<std::uint32_t>(dim), *state);
    for_columns(dim, [&](auto d, std::size_t i) HWY_ATTR {
      const auto scaled = hn::Mul(hn::Set(d, c.dense.scale), hn::LoadU(d, g + i));
      hn::StoreU(hn::Sub(hn::LoadU(d, w + i), hn::Mul(hn::Set(d, rate), scaled)), d, w + i);
    });
  }
};

template <class D>
HWY_INLINE hn::Vec<D> shrunk(D d, hn::Vec<D> z, float l1) {
  const auto bound = hn::Set(d, l1);
  return hn::IfThenElse(hn::Le(hn::Abs(z), bound), hn::Zero(d),
                        hn::Sub(z, hn::CopySign(bound, z)));
}

template <class D>
HWY_INLINE hn::Vec<D> divisor(D d, hn::Vec<D> n, const row_coefficients& c) {
  const auto root = hn::Add(hn::Set(d, c.row.beta), hn::Sqrt(n));
  return hn::Add(hn::Div(root, hn::Set(d, c.dense.rate)), hn::Set(d, c.row.l2));
}

// Adds the gradients of columns i and on to z and n; returns the new z.
template <class D>
HWY_INLINE hn::Vec<D> accumulate(D d, hn::Vec<D> sum, const float* w, float* z, float* n,
                                 const row_coefficients& c) {
  const auto g = hn::Mul(hn::Set(d, c.dense.scale), sum);
  const auto before = hn::LoadU(d, n);
  const auto squares = hn::Add(before, hn::Mul(g, g));
  const auto change =
      hn::Div(hn::Sub(hn::Sqrt(squares), hn::Sqrt(before)), hn::Set(d, c.dense.rate));
  const auto moved = hn::Sub(hn::Add(hn::LoadU(d, z), g), hn::Mul(change, hn::LoadU(d, w)));
  hn::StoreU(moved, d, z);
  hn::StoreU(squares, d, n);
  return moved;
}

template <class D>
HWY_INLINE void store_proximal(D d, hn::Vec<D> s, float share, float* w, const float* n,
                               const row_coefficients& c) {
  const auto shared = hn::Mul(hn::Set(d, share), s);
  const auto left = hn::Sub(hn::Zero(d), shared);
  const auto value = hn::Div(left, divisor(d, hn::LoadU(d, n), c));
  hn::StoreU(hn::IfThenElse(hn::Eq(shared, hn::Zero(d)), hn::Zero(d), value), d, w);
}

struct ftrl_step {
  row_coefficients c;

  HWY_INLINE void operator()(const float* g, float* w, float* state, std::size_t dim) const {
    float* z = state;
    float* n = state + dim;
    for_columns(dim, [&](auto d, std::size_t i) HWY_ATTR {
      const auto moved = accumulate(d, hn::LoadU(d, g + i), w + i, z + i, n + i, c);
      store_proximal(d, shrunk(d, moved, c.row.l1), 1.0F, w + i, n + i, c);
    });
  }
};

struct group_step {
  row_coefficients c;

  HWY_INLINE void operator()(const float* g, float* w, float* state, std::size_t dim) const {
    float* z = state;
    float* n = state + dim;
    float s[limits::row_dim_max];
    for_columns(dim, [&](auto d, std::size_t i) HWY_ATTR {
      const auto moved = accumulate(d, hn::LoadU(d, g + i), w + i, z + i, n + i, c);
      hn::StoreU(shrunk(d, moved, c.row.l1), d, s + i);
    });
    kernels::squares sums{};
    kernels::HWY_NAMESPACE::add_squares_of(s, 1.0F, dim, sums.data());
    const float share = row_share(c.row, kernels::total_of(sums));
    for_columns(dim, [&](auto d, std::size_t i) HWY_ATTR {
      store_proximal(d, hn::LoadU(d, s + i), share, w + i, n + i, c);
    });
  }
};

}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
