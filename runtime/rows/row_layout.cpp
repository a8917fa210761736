#include "runtime/rows/row_layout.hpp"

#include <bit>
#include <string>

#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t line_floats = 16;
constexpr std::uint64_t header_bytes = segment::page_bytes;

constexpr std::uint64_t on_huge_page(std::uint64_t offset) {
  return (offset + segment::huge_page_bytes - 1) / segment::huge_page_bytes *
         segment::huge_page_bytes;
}

tl::unexpected<status> out_of_range(const std::string& name, std::uint64_t value,
                                    std::uint64_t least, std::uint64_t most) {
  return fail(errc::invalid_argument, name + " " + std::to_string(value) +
                                          "; allowed: " + std::to_string(least) + " to " +
                                          std::to_string(most));
}

}  // namespace

std::size_t row_stride(std::size_t floats) noexcept {
  if (floats <= line_floats) return std::bit_ceil(floats);
  return (floats + line_floats - 1) / line_floats * line_floats;
}

expected<row_layout> row_layout_for(const row_shape& shape, rows_lie_in where) {
  if (shape.capacity < 1 || shape.capacity > limits::part_rows_max)
    return out_of_range("rows of a table", shape.capacity, 1, limits::part_rows_max);
  if (shape.dim < 1 || shape.dim > limits::row_dim_max)
    return out_of_range("values of a row", shape.dim, 1, limits::row_dim_max);
  if (shape.state_floats > 2 * limits::row_dim_max)
    return out_of_range("state of a row", shape.state_floats, 0, 2 * limits::row_dim_max);
  row_layout layout;
  layout.shape = shape;
  layout.index = index_layout_for(shape.capacity);
  layout.value_stride = row_stride(shape.dim);
  layout.state_stride = shape.state_floats == 0 ? 0 : row_stride(shape.state_floats);
  std::uint64_t end = header_bytes;
  const auto place = [&](std::uint64_t bytes) {
    const auto begin = on_huge_page(end);
    end = begin + bytes;
    return begin;
  };
  layout.index_begin = end;
  end += layout.index.bytes;
  if (where == rows_lie_in::engine) {
    layout.value_stride = layout.state_stride = 0;
    layout.values = layout.states = place(0);
  } else if (where == rows_lie_in::memory) {
    layout.values = place(shape.capacity * layout.value_stride * sizeof(float));
    layout.states = place(shape.capacity * layout.state_stride * sizeof(float));
  } else {
    const auto of_values = layout.value_stride;
    const auto stride = row_stride(of_values + layout.state_stride);
    layout.value_stride = layout.state_stride = stride;
    layout.values = place(shape.capacity * stride * sizeof(float));
    layout.states = layout.values + of_values * sizeof(float);
  }
  layout.ids = place(shape.capacity * sizeof(std::uint64_t));
  layout.uses = place(shape.capacity * sizeof(row_use));
  layout.bytes = end;
  return layout;
}

}  // namespace tidegate::runtime
