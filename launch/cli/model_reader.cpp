#include "launch/cli/model_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/image.hpp"

namespace tidegate::launch {

using policies::checkpoint_reader;
using runtime::fail;
using runtime::status;

namespace {

using policies::numbers_array;
using policies::values_array;
constexpr auto floats_per_number = policies::number_floats;
constexpr auto floats_per_row = policies::numbers_floats;

bool has_rows(const checkpoint_reader& reader, std::size_t table) {
  return reader.chunks(table).front().stored.about.rows.dim > 0;
}

}  // namespace

runtime::expected<std::vector<float>> model_reader::numbers_of(std::size_t table,
                                                               std::size_t part) const {
  std::vector<float> numbers(array_floats(about(table, part), numbers_array));
  auto read = reader_.read_part(from_, table, part, numbers_array, numbers);
  if (!read.ok()) return fail(std::move(read));
  return numbers;
}

bool model_reader::is_wanted(const float* numbers_of_row) const {
  std::uint64_t clock = 0;
  std::memcpy(&clock, numbers_of_row + floats_per_number, sizeof clock);
  return !since_ || clock >= *since_;
}

status model_reader::count() {
  for (std::size_t table = 0; table < reader_.manifest().tables.size(); ++table) {
    auto& counts = counts_.emplace_back();
    for (std::size_t part = 0; has_rows(reader_, table) && part < reader_.chunks(table).size();
         ++part) {
      auto& count = counts.emplace_back(part_count{.wanted = about(table, part).row_count});
      if (!since_) continue;
      const auto numbers = numbers_of(table, part);
      if (!numbers) return numbers.error();
      for (std::size_t at = 0; at < numbers->size(); at += floats_per_row)
        count.others += is_wanted(numbers->data() + at) ? 0 : 1;
      count.wanted -= count.others;
    }
    add_stretches(table);
  }
  return {};
}

void model_reader::add_stretches(std::size_t table) {
  if (!has_rows(reader_, table)) {
    constexpr std::uint64_t most = policies::file_piece_bytes_max / sizeof(float);
    const auto size = policies::table_spec{
        .name = {},
        .shape = reader_.manifest().tables[table].shape,
        .optimizer = {},
        .init = {}}.size();
    for (std::uint64_t first = 0; first < size; first += most)
      stretches_.push_back(
          {.table = table, .first = first, .floats = std::min(most, size - first)});
    return;
  }
  const auto add = [&](content of, std::uint64_t width, std::uint64_t part_count::*rows) {
    for (std::size_t part = 0; part < counts_[table].size(); ++part)
      stretches_.push_back({.table = table,
                            .first = part,
                            .floats = counts_[table][part].*rows * width,
                            .of = of});
  };
  add(content::ids, floats_per_number, &part_count::wanted);
  add(content::values, about(table, 0).rows.dim, &part_count::wanted);
  if (since_) add(content::unchanged, floats_per_number, &part_count::others);
}

policies::safetensors_header model_reader::header() const {
  const auto& manifest = reader_.manifest();
  policies::safetensors_header header;
  header.metadata = {{"format", "pt"},  // what common loaders want to see
                     {"tidegate.job", manifest.job},
                     {"tidegate.checkpoint", to_string(manifest.id)},
                     {"tidegate.clock", std::to_string(manifest.clock)},
                     {"tidegate.seed", std::to_string(manifest.seed)}};
  if (since_) header.metadata["tidegate.since"] = std::to_string(*since_);
  for (std::size_t i = 0; i < manifest.tables.size(); ++i) {
    const auto& table = manifest.tables[i];
    if (!has_rows(reader_, i)) {
      header.tensors.push_back({table.name, table.shape});
      continue;
    }
    part_count all;
    for (const auto& part : counts_[i]) {
      all.wanted += part.wanted;
      all.others += part.others;
    }
    const auto add_ids = [&](const char* name, std::uint64_t rows) {
      header.tensors.push_back({.name = table.name + name,
                                .shape = {rows},
                                .type = policies::safetensors_type::u64});
    };
    add_ids("/ids", all.wanted);
    header.tensors.push_back(
        {.name = table.name + "/values", .shape = {all.wanted, about(i, 0).rows.dim}});
    if (since_) add_ids("/unchanged", all.others);
  }
  return header;
}

runtime::expected<std::vector<float>> model_reader::read(const stretch_of_table& of) const {
  std::vector<float> result;
  if (of.of == content::elements) {
    result.resize(of.floats);
    auto read = reader_.read(from_, of.table, 0, of.first, result);
    if (!read.ok()) return fail(std::move(read));
    return result;
  }
  const auto& part = about(of.table, of.first);
  std::vector<float> values;
  if (of.of == content::values) {
    values.resize(array_floats(part, values_array));
    auto read = reader_.read_part(from_, of.table, of.first, values_array, values);
    if (!read.ok()) return fail(std::move(read));
  }
  if (of.of == content::values && !since_) return values;
  const auto numbers = numbers_of(of.table, of.first);
  if (!numbers) return numbers;
  const std::size_t width = of.of == content::values ? part.rows.dim : floats_per_number;
  result.reserve(of.floats);
  for (std::uint64_t row = 0; row < part.row_count; ++row) {
    const auto* const of_row = numbers->data() + row * floats_per_row;
    if (is_wanted(of_row) == (of.of == content::unchanged)) continue;
    const auto* const from = of.of == content::values ? values.data() + row * width : of_row;
    result.insert(result.end(), from, from + width);
  }
  return result;
}

}  // namespace tidegate::launch
