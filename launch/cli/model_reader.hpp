// The model that `tidegate export` writes, out of a checkpoint: as tensors, and a stretch of
// them at a time. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/checkpoint/reader.hpp"
#include "policies/checkpoint/safetensors.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::launch {

// What a stretch of the file is of: elements of a dense table; of a part of a table of rows the
// ids and values of the rows that are wanted, and the ids of the others.
enum class content : std::uint8_t { elements, ids, values, unchanged };

struct stretch_of_table {
  std::size_t table = 0;
  std::uint64_t first = 0;  // element, or part
  std::uint64_t floats = 0;
  content of = content::elements;
};

// With `since`, of tables of rows those that were pushed in that clock or later, and the ids of
// the others. What it reads from must outlive it.
class model_reader {
 public:
  model_reader(const policies::checkpoint_reader& reader, runtime::storage& from,
               std::optional<std::uint64_t> since)
      : reader_(reader), from_(from), since_(since) {}

  // Finds out how much of each table is wanted. Errors: those of the storage; corrupt.
  runtime::status count();
  policies::safetensors_header header() const;
  // In the order of the tensors of the header.
  const std::vector<stretch_of_table>& stretches() const noexcept { return stretches_; }
  runtime::expected<std::vector<float>> read(const stretch_of_table& of) const;

 private:
  struct part_count {
    std::uint64_t wanted = 0;
    std::uint64_t others = 0;
  };
  const policies::chunk_description& about(std::size_t table, std::size_t part) const {
    return reader_.chunks(table)[part].stored.about;
  }
  runtime::expected<std::vector<float>> numbers_of(std::size_t table, std::size_t part) const;
  bool is_wanted(const float* numbers_of_row) const;
  void add_stretches(std::size_t table);

  const policies::checkpoint_reader& reader_;
  runtime::storage& from_;
  std::optional<std::uint64_t> since_;
  std::vector<std::vector<part_count>> counts_;  // by table, then part; none of a dense one
  std::vector<stretch_of_table> stretches_;
};

}  // namespace tidegate::launch
