// One chunk as it goes into a checkpoint and comes out again: all that a shard needs to go on
// with it as if nothing had happened. A file of a checkpoint is a safetensors file with up to
// three tensors per chunk, "TABLE/CHUNK/parameters", ".../state1" and ".../state2", and the
// rest of the chunk in its metadata, JSON, under "TABLE/CHUNK". A part of a table of rows has
// ".../values", ".../states" and ".../rows" (U64, three of each row), and where ids are counted
// before they have rows ".../candidates", likewise. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/safetensors.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct chunk_description {
  std::string table;
  std::vector<std::uint64_t> shape;  // of the table
  std::uint32_t chunk = 0;           // index within the table
  std::uint64_t first = 0;           // element of the table
  std::uint64_t elements = 0;
  optimizer_spec optimizer;
  std::uint64_t version = 0;
  double beta1_power = 1;  // of Adam's betas, after the steps made
  double beta2_power = 1;
  std::vector<rank_progress> ranks;  // of all workers of the job
  // If the chunk is a part of a table of rows: how many it has, the float32 of a row's state,
  // ids that are counted, and the latest clock of its steps.
  rows_spec rows = {};
  std::uint64_t row_count = 0;
  std::uint32_t row_state = 0;
  std::uint64_t candidate_count = 0;
  std::uint64_t row_clock = 0;
  // Rows whose last push is of a clock below `row_since` are as they are in the checkpoint
  // `base`: their values and states are left out, so that `changed_count` rows have some.
  // Number 0: all rows are there.
  checkpoint_id base = {};
  std::uint64_t row_since = 0;
  std::uint64_t changed_count = 0;

  constexpr bool needs_base() const noexcept { return base.number > 0; }

  friend bool operator==(const chunk_description&, const chunk_description&) = default;
};

// parameters, then the state that the optimizer has: 1 + state_arrays() of them. Of a part
// of a table of rows: values, states, and of each row three numbers of 64 bits, which count as
// two float32 each: its id, the clock of its last push, and how many pushes it has had; then
// the same of ids that are counted, where the table has such.
inline constexpr std::size_t chunk_arrays_max = 4;
inline constexpr std::size_t values_array = 0;  // of a part, in this order
inline constexpr std::size_t states_array = 1;
inline constexpr std::size_t numbers_array = 2;
inline constexpr std::size_t candidates_array = 3;
inline constexpr std::uint64_t row_numbers = 3;
inline constexpr std::size_t number_floats = sizeof(std::uint64_t) / sizeof(float);
inline constexpr std::size_t numbers_floats = row_numbers * number_floats;
constexpr std::size_t chunk_arrays(const chunk_description& chunk) noexcept {
  if (chunk.rows.dim == 0) return 1 + state_arrays(chunk.optimizer);
  return chunk.rows.lifetime.admits_at_once() ? 3 : 4;
}
// Returns the float32 numbers that a row of a part has in an array.
constexpr std::uint64_t row_floats(const chunk_description& chunk, std::size_t array) noexcept {
  if (array == values_array) return chunk.rows.dim;
  return array == states_array ? chunk.row_state : numbers_floats;
}
// Returns the float32 numbers of an array of a chunk.
constexpr std::uint64_t array_floats(const chunk_description& chunk,
                                     std::size_t array) noexcept {
  if (chunk.rows.dim == 0) return chunk.elements;
  return (array == candidates_array ? chunk.candidate_count : chunk.row_count) *
         row_floats(chunk, array);
}

// Returns those that a file has of it: of values and states, where there is a base, those of
// rows that have changed.
constexpr std::uint64_t stored_floats(const chunk_description& chunk,
                                      std::size_t array) noexcept {
  if (!chunk.needs_base() || array >= numbers_array) return array_floats(chunk, array);
  return chunk.changed_count * row_floats(chunk, array);
}

// A chunk at rest: its arrays must not change while it is written.
struct chunk_image {
  chunk_description about;
  std::array<std::span<const float>, chunk_arrays_max> arrays;  // each of stored_floats()
};

// Which file of which checkpoint.
struct shard_file_title {
  std::string job;
  checkpoint_id id;
  std::uint32_t shard = 0;

  friend bool operator==(const shard_file_title&, const shard_file_title&) = default;
};

// The start of the file, which the arrays of the chunks follow in their order. Errors: those of
// encode_safetensors; invalid_argument (a hyperparameter that is no number).
runtime::expected<std::string> encode_shard_file(const shard_file_title& title,
                                                 std::span<const chunk_image> chunks);

// A chunk in a file: where each of its arrays begins.
struct stored_chunk {
  chunk_description about;
  std::array<std::uint64_t, chunk_arrays_max> offsets{};
};
struct shard_file_contents {
  shard_file_title title;
  std::vector<stored_chunk> chunks;  // by table, then chunk
};

// `header`: the JSON of a safetensors file. What it returns is right in itself: chunks lie in
// their tables, have all their arrays, and nothing else is in the file. Errors: corrupt,
// invalid_argument.
runtime::expected<shard_file_contents> decode_shard_file(std::string_view header,
                                                         std::uint64_t file_bytes);

}  // namespace tidegate::policies
