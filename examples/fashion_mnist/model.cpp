#include "examples/fashion_mnist/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tidegate::examples {

namespace {

// Scores one row and, if `delta` is not null, writes (softmax(logits) - one_hot(label)) *
// scale.
batch_score softmax_row(std::span<const float> logits, std::uint8_t label, float scale,
                        float* delta) {
  const auto top = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += std::exp(double{x} - double{*top});
  if (delta != nullptr) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(double{logits[i]} - double{*top}) / sum;
      delta[i] = static_cast<float>(p - (i == label ? 1.0 : 0.0)) * scale;
    }
  }
  const auto guess = static_cast<std::size_t>(top - logits.begin());
  return {std::log(sum) + double{*top} - double{logits[label]}, guess == label ? 1U : 0U};
}

}  // namespace

model::model(std::vector<std::uint32_t> widths, std::uint32_t batch_max, dense_kernels kernels)
    : widths_(std::move(widths)), kernels_(kernels) {
  for (std::size_t i = 0; i < layers(); ++i) {
    const std::string name = "fc" + std::to_string(i + 1);
    const std::size_t in = widths_[i];
    const std::size_t out = widths_[i + 1];
    tensors_.push_back({name + ".weight", {out, in}, out * in});
    tensors_.push_back({name + ".bias", {out}, out});
    outputs_.emplace_back(batch_max * out);
    deltas_.emplace_back(batch_max * out);
  }
  parameters_.resize(tensors_.size());
}

void model::use(std::size_t tensor, std::span<const float> parameters) {
  if (parameters.size() != tensors_[tensor].size)
    throw std::invalid_argument("parameters of another size than the tensor");
  parameters_[tensor] = parameters.data();
}

dense_shape model::shape(std::size_t layer, std::size_t rows) const noexcept {
  return {.rows = static_cast<std::uint32_t>(rows),
          .in = widths_[layer],
          .out = widths_[layer + 1]};
}

const float* model::layer_input(std::size_t layer,
                                std::span<const float> inputs) const noexcept {
  return layer == 0 ? inputs.data() : outputs_[layer - 1].span().data();
}

batch_score model::evaluate(std::span<const float> inputs,
                            std::span<const std::uint8_t> labels) {
  for (std::size_t i = 0; i < layers(); ++i) {
    kernels_.forward(shape(i, labels.size()), layer_input(i, inputs), parameters_[2 * i],
                     parameters_[2 * i + 1], i + 1 < layers(), outputs_[i].span().data());
  }
  batch_score total;
  const std::size_t classes = widths_.back();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto logits = std::as_const(outputs_.back()).span().subspan(row * classes, classes);
    const batch_score score = softmax_row(logits, labels[row], 0.0F, nullptr);
    total.loss += score.loss;
    total.correct += score.correct;
  }
  return total;
}

batch_score model::gradients(std::span<const float> inputs,
                             std::span<const std::uint8_t> labels,
                             std::span<const std::span<float>> out) {
  const batch_score score = evaluate(inputs, labels);
  backward(inputs, labels, out);
  return score;
}

void model::backward(std::span<const float> inputs, std::span<const std::uint8_t> labels,
                     std::span<const std::span<float>> out) {
  const std::size_t classes = widths_.back();
  const float scale = 1.0F / static_cast<float>(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto logits = std::as_const(outputs_.back()).span().subspan(row * classes, classes);
    softmax_row(logits, labels[row], scale, deltas_.back().span().data() + row * classes);
  }
  for (std::size_t i = layers(); i-- > 0;) {
    const float* input = layer_input(i, inputs);
    const float* delta = deltas_[i].span().data();
    kernels_.gradients(shape(i, labels.size()), input, delta, out[2 * i].data(),
                       out[2 * i + 1].data());
    if (i == 0) break;
    kernels_.input_delta(shape(i, labels.size()), input, parameters_[2 * i], delta,
                         deltas_[i - 1].span().data());
  }
}

std::vector<std::uint32_t> softmax_widths() {
  return {784, 10};
}
std::vector<std::uint32_t> mlp_widths() {
  return {784, 256, 128, 10};
}

}  // namespace tidegate::examples
