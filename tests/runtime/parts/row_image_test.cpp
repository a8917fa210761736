#include "runtime/parts/row_image.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime {
namespace {

row_image small_image() {
  row_image image;
  image.dim = 3;
  image.state_floats = 1;
  image.ids = {2, 5, ~std::uint64_t{0}};
  image.uses = {{1, 1}, {4, 2}, {0, 0}};
  image.values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  image.states = {0.5F, 0.25F, 0};
  image.candidates = {3, 9};
  image.candidate_uses = {{4, 1}, {2, 2}};
  image.clock = 6;
  image.kept = {{{5}, {0}, {1, 1, 1}}, {}};
  return image;
}

std::vector<std::byte> encoded(const row_image& image) {
  std::vector<std::byte> bytes(image_bytes(image));
  encode_image(image, bytes);
  return bytes;
}

TEST(row_image, comes_back_from_its_bytes) {
  EXPECT_EQ(*decode_image(encoded(small_image())), small_image());
  row_image none;
  none.dim = 1;
  EXPECT_EQ(*decode_image(encoded(none)), none);
}

TEST(row_image, is_refused_at_every_other_length) {
  const auto bytes = encoded(small_image());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_image(std::span(bytes).first(size)).error().code(), errc::corrupt) << size;
  auto longer = bytes;
  longer.resize(bytes.size() + 8);
  EXPECT_FALSE(decode_image(longer));
}

TEST(row_image, damaged_bytes_do_no_harm) {
  const auto good = encoded(small_image());
  rng random(3);
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    if (const auto image = decode_image(bytes)) {
      EXPECT_EQ(image->values.size(), image->ids.size() * image->dim);
    }
  }
}

TEST(row_image, ids_that_descend_are_refused) {
  auto image = small_image();
  image.ids = {5, 2, 7};
  EXPECT_FALSE(decode_image(encoded(image)));
  image = small_image();
  image.kept.front() = {{5, 5}, {0, 0}, {1, 1, 1, 1, 1, 1}};
  EXPECT_FALSE(decode_image(encoded(image)));
}

}  // namespace
}  // namespace tidegate::runtime
