#include "runtime/rows/row_reader.hpp"

#include <string>

namespace tidegate::runtime {

expected<row_reader> row_reader::open(const row_place& place) {
  const auto layout = row_layout_for(place.shape);
  if (!layout) return fail(layout.error());
  auto memory = segment::open(place.segment);
  if (!memory) return fail(memory.error());
  if (memory->size() < layout->bytes)
    return fail(errc::corrupt, "a table of rows of " + std::to_string(memory->size()) +
                                   " bytes; its shape needs " + std::to_string(layout->bytes));
  memory->hide();  // a table has many parts, and the mapping needs no descriptor
  const row_view view(memory->data(), *layout, place.initial);
  return row_reader(std::move(*memory), view);
}

}  // namespace tidegate::runtime
