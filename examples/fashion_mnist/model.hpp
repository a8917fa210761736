// A multi-layer perceptron for classification: dense layers, ReLU between them, softmax cross
// entropy at the end. With no hidden layer it is softmax regression.
//
// Parameters are read and gradients are written where the caller says, so that both may lie
// where a session keeps them; the model owns its scratch memory. All float32, row-major. One
// thread per model. No call after the constructor allocates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/fashion_mnist/dense.hpp"

namespace tidegate::examples {

// Floats that start on a cache line, zero at first.
class float_buffer {
 public:
  explicit float_buffer(std::size_t size) : lines_((size + 15) / 16), size_(size) {}

  std::span<float> span() noexcept { return {lines_.data()->values, size_}; }
  std::span<const float> span() const noexcept { return {lines_.data()->values, size_}; }

 private:
  struct alignas(64) line {
    float values[16] = {};
  };
  std::vector<line> lines_;
  std::size_t size_;
};

struct tensor_info {
  std::string name;  // "fc1.weight" [out, in], "fc1.bias" [out]
  std::vector<std::uint64_t> shape;
  std::size_t size = 0;
};

// Sums over a batch.
struct batch_score {
  double loss = 0;  // cross entropy in nats
  std::uint32_t correct = 0;
};

class model {
 public:
  // `widths`: inputs, hidden layers, classes; at least two. `batch_max`: rows per call at most.
  model(std::vector<std::uint32_t> widths, std::uint32_t batch_max, dense_kernels kernels);

  const std::vector<tensor_info>& tensors() const noexcept { return tensors_; }
  // Where a tensor is read from now on, all of it; to be said before the first call below.
  void use(std::size_t tensor, std::span<const float> parameters);

  // inputs: [labels.size(), widths[0]]; labels: below widths.back().
  batch_score evaluate(std::span<const float> inputs, std::span<const std::uint8_t> labels);
  // After evaluate() of the same batch: overwrites `out`, one per tensor, with the gradient of
  // its mean loss.
  void backward(std::span<const float> inputs, std::span<const std::uint8_t> labels,
                std::span<const std::span<float>> out);
  // Both.
  batch_score gradients(std::span<const float> inputs, std::span<const std::uint8_t> labels,
                        std::span<const std::span<float>> out);

 private:
  std::size_t layers() const noexcept { return widths_.size() - 1; }
  dense_shape shape(std::size_t layer, std::size_t rows) const noexcept;
  const float* layer_input(std::size_t layer, std::span<const float> inputs) const noexcept;

  std::vector<std::uint32_t> widths_;
  dense_kernels kernels_;
  std::vector<tensor_info> tensors_;
  std::vector<const float*> parameters_;
  std::vector<float_buffer> outputs_;  // of each layer, [batch_max, widths_[layer + 1]]
  std::vector<float_buffer> deltas_;   // d loss / d outputs_
};

// {784, 10} and {784, 256, 128, 10}.
std::vector<std::uint32_t> softmax_widths();
std::vector<std::uint32_t> mlp_widths();

}  // namespace tidegate::examples
