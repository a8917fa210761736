#include "runtime/rows/row_slabs.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "runtime/rows/row_loops.hpp"

namespace tidegate::runtime {
namespace {

TEST(row_layout, parts_do_not_overlap_and_arrays_begin_on_huge_pages) {
  for (const std::uint64_t capacity : {1ULL, 1'000ULL, 10'000'000ULL})
    for (const std::uint32_t dim : {1U, 3U, 16U, 17U, 64U, limits::row_dim_max})
      for (const std::uint32_t state : {0U, 1U, dim, 2 * dim}) {
        const auto at =
            row_layout_for({.capacity = capacity, .dim = dim, .state_floats = state}).value();
        EXPECT_GE(at.values, at.index_begin + at.index.bytes);
        EXPECT_GE(at.states, at.values + capacity * at.value_stride * 4);
        EXPECT_GE(at.ids, at.states + capacity * at.state_stride * 4);
        EXPECT_GE(at.uses, at.ids + capacity * 8);
        EXPECT_GE(at.bytes, at.uses + capacity * sizeof(row_use));
        EXPECT_GE(at.value_stride, dim);
        EXPECT_GE(at.state_stride, state);
        for (const auto begin : {at.values, at.states, at.ids, at.uses})
          EXPECT_EQ(begin % (2U << 20U), 0U);
      }
}

TEST(row_layout, short_rows_never_lie_in_two_cache_lines) {
  for (std::size_t floats = 1; floats <= 16; ++floats) {
    EXPECT_EQ(16 % row_stride(floats), 0U);
    EXPECT_LT(row_stride(floats), 2 * floats);
  }
  EXPECT_EQ(row_stride(17), 32U);
  EXPECT_EQ(row_stride(64), 64U);
}

TEST(row_layout, refuses_shapes_beyond_the_limits) {
  const auto refused = [](const row_shape& shape, const std::string& because) {
    const auto layout = row_layout_for(shape);
    return !layout && layout.error().code() == errc::invalid_argument &&
           layout.error().message() == because;
  };
  EXPECT_TRUE(
      refused({.capacity = 0, .dim = 1}, "rows of a table 0; allowed: 1 to 1073741824"));
  EXPECT_TRUE(refused({.capacity = limits::part_rows_max + 1, .dim = 1},
                      "rows of a table 1073741825; allowed: 1 to 1073741824"));
  EXPECT_TRUE(refused({.capacity = 1, .dim = 0}, "values of a row 0; allowed: 1 to 4096"));
  EXPECT_TRUE(
      refused({.capacity = 1, .dim = 4097}, "values of a row 4097; allowed: 1 to 4096"));
  EXPECT_TRUE(refused({.capacity = 1, .dim = 1, .state_floats = 8193},
                      "state of a row 8193; allowed: 0 to 8192"));
  EXPECT_TRUE(
      row_layout_for({.capacity = limits::part_rows_max, .dim = 4096, .state_floats = 8192}));
}

TEST(row_slabs, rows_have_places_of_their_own) {
  const auto layout = row_layout_for({.capacity = 100, .dim = 20, .state_floats = 21}).value();
  std::vector<std::byte> memory(layout.bytes);
  const row_slabs slabs(memory.data(), layout);
  for (row_number row = 0; row < 100; ++row) {
    std::fill_n(slabs.values(row), 20, static_cast<float>(row));
    std::fill_n(slabs.state(row), 21, static_cast<float>(row) + 0.5F);
    slabs.id(row) = 1'000 + row;
    slabs.use(row) = {.clock = row, .pushes = 2 * row};
  }
  const row_slabs_view view(memory.data(), layout);
  for (row_number row = 0; row < 100; ++row) {
    for (int i = 0; i < 20; ++i) ASSERT_EQ(view.values(row)[i], static_cast<float>(row));
    for (int i = 0; i < 21; ++i) ASSERT_EQ(view.state(row)[i], static_cast<float>(row) + 0.5F);
    ASSERT_EQ(view.id(row), 1'000 + row);
    ASSERT_EQ(view.use(row).clock, row);
    ASSERT_EQ(view.use(row).pushes, 2 * row);
  }
}

TEST(row_loops, copy_the_rows_that_are_there) {
  for (const std::size_t dim : {1, 3, 8, 16, 31, 64, 300}) {
    const auto stride = row_stride(dim);
    std::vector<float> from(100 * stride);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
    for (const std::size_t count : {0, 1, 5, 200}) {
      std::vector<row_number> numbers(count);
      for (std::size_t i = 0; i < count; ++i)
        numbers[i] = i % 7 == 3 ? no_row : static_cast<row_number>(i * 37 % 100);
      std::vector<float> out(count * dim + 1, -1.0F);
      rows::copy_rows({.data = from.data(), .stride = stride, .dim = dim}, numbers, out.data());
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < dim; ++k)
          ASSERT_EQ(out[i * dim + k],
                    numbers[i] == no_row ? -1.0F : from[numbers[i] * stride + k]);
      EXPECT_EQ(out[count * dim], -1.0F) << "wrote past the end";
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime
