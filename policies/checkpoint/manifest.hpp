// What a checkpoint consists of: written last, so that its presence says that all the rest is
// there. Two lines of JSON: the manifest, and the SHA-256 of the first line. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

inline constexpr std::uint64_t manifest_bytes_max = 64U << 20U;
// Checkpoints of which each needs the next, and one that needs none.
inline constexpr std::uint32_t checkpoint_chain_max = 100;

struct checkpoint_table {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t chunks = 0;

  friend bool operator==(const checkpoint_table&, const checkpoint_table&) = default;
};

// Chunks [first, first + count) of tables[table].
struct chunk_run {
  std::uint32_t table = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  friend auto operator<=>(const chunk_run&, const chunk_run&) = default;
};

struct checkpoint_part {
  std::uint32_t shard = 0;
  written_file file;
  std::vector<chunk_run> chunks;

  friend bool operator==(const checkpoint_part&, const checkpoint_part&) = default;
};

struct checkpoint_manifest {
  checkpoint_id id;
  std::string job;
  std::uint64_t seed = 0;
  consistency_spec consistency;
  std::uint32_t workers = 0;
  // Every worker's pushes of clocks below this are in the cut. Nothing else is under bsp;
  // under ssp and async each chunk has more, and says what.
  std::uint64_t clock = 0;
  // Ranks that sums of clocks above it may be without, which are in it as if they were whole:
  // those had left for good (docs/decisions/0011-workers-that-leave.md).
  std::vector<std::uint32_t> left;
  std::vector<checkpoint_table> tables;
  std::vector<checkpoint_part> parts;
  // An older checkpoint of the folder: some of the chunks are only what has changed since it.
  // Number 0: this one needs no other.
  checkpoint_id base = {};

  friend bool operator==(const checkpoint_manifest&, const checkpoint_manifest&) = default;
};

// Errors: invalid_argument (a name that is not UTF-8; chunks that are in no part, or in two).
runtime::expected<std::string> encode_manifest(const checkpoint_manifest& manifest);

// What it returns has every chunk in exactly one part. Errors: corrupt; invalid_argument (of
// another format).
runtime::expected<checkpoint_manifest> decode_manifest(std::string_view text);

}  // namespace tidegate::policies
