#include "runtime/rows/row_reader.hpp"

#include <string>
#include <sys/mman.h>

#include "runtime/memory/backing_file.hpp"

namespace tidegate::runtime {

namespace {

// Maps the file of this name over the values of a table. Errors: those of backing_file::open;
// corrupt, io_error (no mapping left).
status map_file(const segment_name& name, const segment& memory, const row_layout& layout) {
  if (name.pid != memory.name().pid || name.bytes != layout.ids - layout.values)
    return {errc::corrupt,
            "a file of rows of " + std::to_string(name.bytes) + " bytes; their shape needs " +
                std::to_string(layout.ids - layout.values) + ", of the table's process"};
  const auto file = backing_file::open(name);
  if (!file) return file.error();
  if (file->map_at(memory.data() + layout.values)) return {};
  return {errc::io_error, "no mapping is left for a file of rows"};
}

}  // namespace

expected<row_reader> row_reader::open(const row_place& place) {
  auto memory = segment::open(place.segment);
  if (!memory) return fail(memory.error());
  segment_name file;
  if (memory->size() >= sizeof(row_header))
    file = reinterpret_cast<const row_header*>(memory->data())->file;
  const bool has_file = file.bytes > 0;
  const auto layout =
      row_layout_for(place.shape, has_file ? rows_lie_in::file : rows_lie_in::memory);
  if (!layout) return fail(layout.error());
  if (memory->size() < layout->bytes)
    return fail(errc::corrupt, "a table of rows of " + std::to_string(memory->size()) +
                                   " bytes; its shape needs " + std::to_string(layout->bytes));
  memory->hide();  // a table has many parts, and the mapping needs no descriptor
  if (has_file)
    if (auto mapped = map_file(file, *memory, *layout); !mapped.ok()) return fail(mapped);
  const row_view view(memory->data(), *layout, place.initial);
  return row_reader(std::move(*memory), view, file.bytes);
}

void row_reader::release_pages() const noexcept {
  if (file_bytes_ > 0)
    ::madvise(memory_.data() + view_.slabs().layout().values, file_bytes_, MADV_DONTNEED);
}

}  // namespace tidegate::runtime
