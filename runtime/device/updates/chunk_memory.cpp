#include "runtime/device/updates/chunk_memory.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

status chunk_memory::page(const chunk_pages::options& sizes) {
  auto pages = chunk_pages::make(device_, sizes);
  if (!pages) return pages.error();
  pages_.emplace(std::move(*pages));
  paged_bytes_min_ = sizes.frame_bytes / 4;
  wanted_.reserve(chunk_pages::wanted_max);
  return {};
}

bool chunk_memory::is_paged(const table_shape& shape) const {
  const auto largest = *std::max_element(shape.elements.begin(), shape.elements.end());
  return pages_ && largest * sizeof(float) >= paged_bytes_min_;
}

chunk_pages::page chunk_memory::add_pages(const table_memory& table) {
  chunk_pages::page first = no_page;
  for (auto chunk = table.first; chunk < table.first + table.chunks; ++chunk) {
    const auto page = pages_->add(chunks_[chunk].elements * sizeof(float));
    if (first == no_page) first = page;
  }
  return first;
}

expected<chunk_index> chunk_memory::add_table(const table_shape& shape, stream on) {
  TIDEGATE_ASSERT(!shape.elements.empty() && shape.version_buffers > 0 && shape.states <= 2,
                  "a table has chunks and parameters");
  std::uint64_t bytes = 0;
  for (const auto elements : shape.elements) {
    TIDEGATE_ASSERT(elements > 0, "a chunk has elements");
    bytes += elements * sizeof(float);
  }
  table_memory table;
  table.copy_bytes = device_arena::round_up(bytes);  // copies of a chunk are aligned alike
  table.parameters.resize(shape.version_buffers);
  table.states = shape.states;
  table.sums = shape.sums;
  table.is_paged = is_paged(shape);
  table.first = static_cast<chunk_index>(chunks_.size());
  table.chunks = static_cast<std::uint32_t>(shape.elements.size());
  if (!table.is_paged)
    if (auto room = take_room(table, on); !room.ok()) return fail(room);
  std::uint64_t offset = 0;
  for (const auto elements : shape.elements) {
    chunks_.push_back({.table = static_cast<std::uint32_t>(tables_.size()),
                       .offset = offset,
                       .elements = elements});
    offset += elements * sizeof(float);
  }
  if (table.is_paged) {
    table.pages.assign(shape.version_buffers + shape.states + shape.sums, no_page);
    table.pages[0] = add_pages(table);
    for (auto copy = shape.version_buffers; copy < table.pages.size(); ++copy)
      table.pages[copy] = add_pages(table);
  }
  tables_.push_back(std::move(table));
  return tables_.back().first;
}

// For arrays that are always there.
status chunk_memory::take_room(table_memory& table, stream on) {
  const auto parameters = arena_.allocate(table.copy_bytes);
  if (!parameters) return parameters.error();
  table.parameters[0] = *parameters;
  if (table.states + table.sums > 0) {
    const auto rest = arena_.allocate(table.copy_bytes * (table.states + table.sums));
    if (!rest) {
      arena_.undo(*parameters);
      return rest.error();
    }
    table.rest = *rest;
  }
  // A device that fails now is lost, with all that it had.
  if (auto cleared = clear(*parameters, on); !cleared.ok()) return cleared;
  return table.rest.bytes > 0 ? clear(table.rest, on) : status();
}

status chunk_memory::prepare(chunk_index chunk, std::uint32_t version_buffer, stream on) {
  auto& table = tables_[chunks_[chunk].table];
  if (table.is_paged) {
    auto& pages = table.pages.at(version_buffer);
    if (pages == no_page) pages = add_pages(table);
    return {};
  }
  auto& place = table.parameters.at(version_buffer);
  if (place.bytes > 0) return {};
  const auto room = arena_.allocate(table.copy_bytes);
  if (!room) return room.error();
  place = *room;
  return clear(place, on);
}

bool chunk_memory::is_prepared(chunk_index chunk, std::uint32_t version_buffer) const {
  const auto& table = tables_[chunks_[chunk].table];
  return table.is_paged ? table.pages.at(version_buffer) != no_page
                        : table.parameters.at(version_buffer).bytes > 0;
}

status chunk_memory::clear(const device_arena::place& where, stream on) {
  return device_.clear(on, arena_.at(where), where.bytes);
}

expected<chunk_memory::place> chunk_memory::place_of(chunk_index first,
                                                     std::uint32_t version_buffer) const {
  const auto& table = tables_[chunks_[first].table];
  if (table.is_paged)
    return fail(errc::unavailable, device_.name() + ": a table whose chunks are paged");
  const auto& parameters = table.parameters.at(version_buffer);
  TIDEGATE_ASSERT(parameters.bytes > 0, "a version buffer that was prepared");
  auto name = device_.name_window(arena_.memory_of(parameters));
  if (!name) return fail(name.error());
  return place{.name = *name, .offset = parameters.offset, .bytes = parameters.bytes};
}

chunk_pages::page chunk_memory::page_of(const array_name& array) const {
  const auto& table = tables_[chunks_[array.chunk].table];
  auto copy = static_cast<std::uint32_t>(table.parameters.size());
  if (array.kind == array_kind::parameters) copy = array.copy;
  if (array.kind == array_kind::state2) copy += 1;
  if (array.kind == array_kind::sum) copy += table.states + array.copy;
  const auto first = table.pages.at(copy);
  TIDEGATE_ASSERT(first != no_page, "a version buffer that was prepared");
  return first + (array.chunk - table.first);
}

status chunk_memory::bring(std::span<const array_use> arrays, stream on) {
  wanted_.clear();
  for (const auto& use : arrays)
    if (tables_[chunks_[use.array.chunk].table].is_paged)
      wanted_.push_back({page_of(use.array), use.mode});
  return wanted_.empty() ? status() : pages_->bring(wanted_, on);
}

status chunk_memory::used(stream by) {
  return wanted_.empty() ? status() : pages_->used(wanted_, by);
}

bool chunk_memory::are_side_by_side(chunk_index chunk, chunk_index next) const {
  return next == chunk + 1 && chunks_[next].table == chunks_[chunk].table &&
         !tables_[chunks_[next].table].is_paged;
}

float* chunk_memory::at(const array_name& array) const {
  TIDEGATE_ASSERT(array.chunk < chunks_.size(), "a chunk of this queue");
  const auto& chunk = chunks_[array.chunk];
  const auto& table = tables_[chunk.table];
  if (table.is_paged) return reinterpret_cast<float*>(pages_->at(page_of(array)));
  const auto copy = [&](const device_arena::place& where, std::uint64_t index) {
    return reinterpret_cast<float*>(arena_.at(where) + index * table.copy_bytes + chunk.offset);
  };
  switch (array.kind) {
    case array_kind::parameters:
      TIDEGATE_ASSERT(
          array.copy < table.parameters.size() && table.parameters[array.copy].bytes > 0,
          "a version buffer that was prepared");
      return copy(table.parameters[array.copy], 0);
    case array_kind::state1:
    case array_kind::state2: {
      const std::uint32_t index = array.kind == array_kind::state1 ? 0 : 1;
      TIDEGATE_ASSERT(index < table.states && array.copy == 0, "the optimizer has this state");
      return copy(table.rest, index);
    }
    case array_kind::sum:
      TIDEGATE_ASSERT(array.copy < table.sums, "a sum that is kept");
      return copy(table.rest, table.states + array.copy);
  }
  return nullptr;
}

float* chunk_memory::state(chunk_index chunk, array_kind kind) const {
  const auto states = tables_[chunks_[chunk].table].states;
  const bool has_it = kind == array_kind::state1 ? states >= 1 : states >= 2;
  return has_it ? at({.chunk = chunk, .kind = kind, .copy = 0}) : nullptr;
}

}  // namespace tidegate::runtime::devices
