#include "runtime/batches/row_changes.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

row_changes_room begin_row_changes(std::span<std::byte> memory,
                                   const row_changes_header& header, std::uint32_t dim) {
  TIDEGATE_ASSERT(memory.size() == row_changes_bytes(header.rows, header.changed, dim) &&
                      is_aligned_as_batch(memory.data()),
                  "memory for changes of this size");
  const auto values = row_changes_values(header.rows);
  const auto floats = std::size_t{header.changed} * dim;
  std::memset(memory.data(), 0, values);
  std::memcpy(memory.data(), &header, sizeof header);
  const auto end = values + floats * sizeof(float);
  std::memset(memory.data() + end, 0, memory.size() - end);
  return {.bits = {reinterpret_cast<std::uint64_t*>(memory.data() + row_batch_alignment),
                   row_changes_words(header.rows)},
          .values = {reinterpret_cast<float*>(memory.data() + values), floats}};
}

expected<row_changes> read_row_changes(std::span<const std::byte> memory, std::uint32_t rows,
                                       std::uint32_t dim) {
  const auto bad = [](const std::string& problem) {
    return fail(errc::corrupt, "an answer of changed rows " + problem);
  };
  if (memory.size() < row_changes_values(rows) || !is_aligned_as_batch(memory.data()))
    return bad("is too short");
  row_changes_header header;
  std::memcpy(&header, memory.data(), sizeof header);
  if (header.rows != rows || header.changed > rows ||
      memory.size() != row_changes_bytes(rows, header.changed, dim))
    return bad("is of " + std::to_string(header.rows) + " rows, " +
               std::to_string(header.changed) + " of them changed, in another size");
  row_changes answer;
  answer.mark = header.mark;
  answer.bits = {reinterpret_cast<const std::uint64_t*>(memory.data() + row_batch_alignment),
                 row_changes_words(rows)};
  answer.values = {reinterpret_cast<const float*>(memory.data() + row_changes_values(rows)),
                   std::size_t{header.changed} * dim};
  std::uint64_t set = 0;
  for (const auto word : answer.bits) set += static_cast<std::uint64_t>(std::popcount(word));
  const bool beyond = rows % 64 != 0 && answer.bits.back() >> (rows % 64) != 0;
  if (set != header.changed || beyond) return bad("says of other rows that they have changed");
  return answer;
}

}  // namespace tidegate::runtime
