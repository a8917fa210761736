// One chunk as it goes into a checkpoint and comes out again: all that a shard needs to go on
// with it as if nothing had happened. A file of a checkpoint is a safetensors file with up to
// three tensors per chunk, "TABLE/CHUNK/parameters", ".../state1" and ".../state2", and the
// rest of the chunk in its metadata, JSON, under "TABLE/CHUNK". Pure, any thread.
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

  friend bool operator==(const chunk_description&, const chunk_description&) = default;
};

// parameters, then the state that the optimizer has: 1 + state_arrays(kind) of them
inline constexpr std::size_t chunk_arrays_max = 3;
constexpr std::size_t chunk_arrays(const chunk_description& chunk) noexcept {
  return 1 + state_arrays(chunk.optimizer.kind);
}

// A chunk at rest: its arrays must not change while it is written.
struct chunk_image {
  chunk_description about;
  std::array<std::span<const float>, chunk_arrays_max> arrays;  // each of about.elements
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
