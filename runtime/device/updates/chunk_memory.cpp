#include "runtime/device/updates/chunk_memory.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

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
  const auto parameters = arena_.allocate(table.copy_bytes);
  if (!parameters) return fail(parameters.error());
  table.parameters[0] = *parameters;
  if (shape.states + shape.sums > 0) {
    const auto rest = arena_.allocate(table.copy_bytes * (shape.states + shape.sums));
    if (!rest) {
      arena_.undo(*parameters);
      return fail(rest.error());
    }
    table.rest = *rest;
  }
  // A device that fails now is lost, with all that it had.
  if (auto cleared = clear(*parameters, on); !cleared.ok()) return fail(cleared);
  if (table.rest.bytes > 0)
    if (auto cleared = clear(table.rest, on); !cleared.ok()) return fail(cleared);
  const auto first = static_cast<chunk_index>(chunks_.size());
  std::uint64_t offset = 0;
  for (const auto elements : shape.elements) {
    chunks_.push_back({.table = static_cast<std::uint32_t>(tables_.size()),
                       .offset = offset,
                       .elements = elements});
    offset += elements * sizeof(float);
  }
  tables_.push_back(std::move(table));
  return first;
}

status chunk_memory::prepare(chunk_index chunk, std::uint32_t version_buffer, stream on) {
  auto& table = tables_[chunks_[chunk].table];
  auto& place = table.parameters.at(version_buffer);
  if (place.bytes > 0) return {};
  const auto room = arena_.allocate(table.copy_bytes);
  if (!room) return room.error();
  place = *room;
  return clear(place, on);
}

status chunk_memory::clear(const device_arena::place& where, stream on) {
  return device_.clear(on, arena_.at(where), where.bytes);
}

expected<chunk_memory::place> chunk_memory::place_of(chunk_index first,
                                                     std::uint32_t version_buffer) const {
  const auto& parameters = tables_[chunks_[first].table].parameters.at(version_buffer);
  TIDEGATE_ASSERT(parameters.bytes > 0, "a version buffer that was prepared");
  auto name = device_.name_window(arena_.memory_of(parameters));
  if (!name) return fail(name.error());
  return place{.name = *name, .offset = parameters.offset, .bytes = parameters.bytes};
}

float* chunk_memory::at(const array_name& array) const {
  TIDEGATE_ASSERT(array.chunk < chunks_.size(), "a chunk of this queue");
  const auto& chunk = chunks_[array.chunk];
  const auto& table = tables_[chunk.table];
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
