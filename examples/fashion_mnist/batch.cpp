#include "examples/fashion_mnist/batch.hpp"

#include <algorithm>

namespace tidegate::examples {

batch_buffer::batch_buffer(const labelled_images& data, std::uint32_t rows_max)
    : data_(data), inputs_(std::size_t{rows_max} * data.pixels), labels_(rows_max) {
  for (int i = 0; i < 256; ++i) {
    of_pixel_[i] = (static_cast<float>(i) / 255.0F - pixel_mean) / pixel_deviation;
  }
}

void batch_buffer::load(std::span<const std::uint32_t> indices) {
  rows_ = indices.size();
  float* out = inputs_.span().data();
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::uint8_t* image = data_.images.data() + std::size_t{indices[row]} * data_.pixels;
    for (std::size_t i = 0; i < data_.pixels; ++i) *out++ = of_pixel_[image[i]];
    labels_[row] = data_.labels[indices[row]];
  }
}

std::span<const float> batch_buffer::inputs() const noexcept {
  return inputs_.span().first(rows_ * data_.pixels);
}

batch_score score_all(model& trained, const labelled_images& data,
                      std::uint32_t rows_per_step) {
  batch_buffer buffer(data, rows_per_step);
  std::vector<std::uint32_t> indices;
  batch_score total;
  for (std::uint32_t first = 0; first < data.count; first += rows_per_step) {
    const std::uint32_t last = std::min(data.count, first + rows_per_step);
    indices.clear();
    for (std::uint32_t i = first; i < last; ++i) indices.push_back(i);
    buffer.load(indices);
    const batch_score part = trained.evaluate(buffer.inputs(), buffer.labels());
    total.loss += part.loss;
    total.correct += part.correct;
  }
  return total;
}

}  // namespace tidegate::examples
