// Turns stored images into what a model reads. One thread per object; owns its buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/fashion_mnist/idx.hpp"
#include "examples/fashion_mnist/model.hpp"

namespace tidegate::examples {

// Mean and standard deviation of the pixels of the training images, scaled to [0, 1].
inline constexpr float pixel_mean = 0.2860F;
inline constexpr float pixel_deviation = 0.3530F;

class batch_buffer {
 public:
  // For up to `rows_max` images of `data`, which must outlive this.
  batch_buffer(const labelled_images& data, std::uint32_t rows_max);

  // Gathers the images of `indices`; inputs() and labels() show them until the next call.
  void load(std::span<const std::uint32_t> indices);

  std::span<const float> inputs() const noexcept;  // [rows, pixels], standardised
  std::span<const std::uint8_t> labels() const noexcept { return {labels_.data(), rows_}; }

 private:
  const labelled_images& data_;
  std::size_t rows_ = 0;
  float of_pixel_[256];
  float_buffer inputs_;
  std::vector<std::uint8_t> labels_;
};

// Sums over all of `data`, in its order.
batch_score score_all(model& trained, const labelled_images& data, std::uint32_t rows_per_step);

}  // namespace tidegate::examples
