#include "runtime/rows/index_layout.hpp"

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t page_bytes = 4096;

}  // namespace

index_layout index_layout_for(std::uint64_t capacity) {
  TIDEGATE_ASSERT(capacity >= 1 && capacity <= limits::part_rows_max,
                  "a capacity within the limit");
  index_layout layout;
  layout.capacity = capacity;
  while ((capacity >> layout.depth_max) > rows::deepest_slots) ++layout.depth_max;
  const std::uint64_t buckets = layout.buckets_max();
  layout.directory = rounded_up(sizeof(rows::index_header), line_bytes);
  layout.states = rounded_up(layout.directory + buckets * sizeof(std::uint32_t), line_bytes);
  layout.freed = rounded_up(layout.states + buckets * sizeof(rows::bucket_state), line_bytes);
  layout.buckets = rounded_up(layout.freed + capacity * sizeof(row_number), page_bytes);
  layout.bytes = layout.buckets + buckets * sizeof(rows::bucket);
  return layout;
}

}  // namespace tidegate::runtime
