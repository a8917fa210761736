#include "launch/bench/row_draws.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/rows/row_layout.hpp"
#include "runtime/rows/row_loops.hpp"
#include "runtime/rows/row_steps.hpp"

namespace tidegate::bench {

std::uint64_t id_of_row(std::uint64_t number) noexcept {
  return runtime::mix64(number);
}

runtime::optimizer_options rows_optimizer() {
  runtime::optimizer_options optimizer;
  optimizer.kind = runtime::optimizer_kind::adagrad;
  return optimizer;
}

row_draws::row_draws(const rows_options& options, std::uint64_t seed)
    : rows_(options.rows),
      batch_(options.batch),
      popular_(options.rows, options.zipf),
      random_(runtime::mix64(seed)) {
  while (std::gcd(scatter_, rows_) != 1) scatter_ += 2;
}

drawn_rows row_draws::next() {
  drawn_rows batch;
  auto& numbers = batch.numbers;
  for (std::uint32_t i = 0; i < batch_; ++i) {
    const auto rank = static_cast<unsigned __int128>(popular_.draw(random_));
    numbers.push_back(static_cast<runtime::row_number>(rank * scatter_ % rows_));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (auto i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[random_.below(i)]);
  for (const auto number : numbers) batch.ids.push_back(id_of_row(number));
  return batch;
}

bare_rows::bare_rows(const rows_options& options)
    : dim_(options.dim),
      stride_(runtime::row_stride(options.dim)),
      values_(options.rows * stride_),
      states_(options.rows * stride_),
      uses_(options.rows * sizeof(runtime::row_use) / sizeof(float)) {}

void bare_rows::gather(std::span<const runtime::row_number> numbers,
                       std::span<float> out) const {
  runtime::rows::copy_rows({.data = values_.data(), .stride = stride_, .dim = dim_}, numbers,
                           out.data());
}

void bare_rows::update(std::span<const runtime::row_number> numbers,
                       std::span<const float> gradients) {
  gradients_.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) gradients_[i] = gradients.data() + i * dim_;
  runtime::rows::step_rows(
      runtime::coefficients_of(rows_optimizer(), {}, static_cast<std::uint32_t>(dim_)), 0,
      {.values = values_.data(),
       .value_stride = stride_,
       .states = states_.data(),
       .state_stride = stride_,
       .uses = reinterpret_cast<runtime::row_use*>(uses_.data()),
       .dim = dim_},
      numbers, gradients_.data());
}

}  // namespace tidegate::bench
