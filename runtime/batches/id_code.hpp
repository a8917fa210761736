// Ids of rows as they travel between hosts: ascending, each once, so that the differences are
// smaller than the ids. In words of 64 bits, little-endian:
//
//   first    the first id
//   widths   a byte for each block of 64 further ids: the bits of a difference there, 0 to 64;
//            zeros to the next word
//   blocks   of each id, what it is above the one before it, less 1; whole words for a block
//   zero     a word, so that a difference may be read as part of two words
//
// A list without ids has no words. Pure, any thread; memory is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

inline constexpr std::uint64_t id_block = 64;

// Returns how many blocks the code of so many ids has.
constexpr std::uint64_t id_blocks(std::uint64_t ids) noexcept {
  return ids == 0 ? 0 : (ids - 1 + id_block - 1) / id_block;
}
// Returns the words of the widths.
constexpr std::uint64_t id_width_words(std::uint64_t ids) noexcept {
  return (id_blocks(ids) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}
// Returns the bytes that the code of so many ids has at least: of ids that follow each other.
constexpr std::uint64_t id_code_bytes_min(std::uint64_t ids) noexcept {
  return ids == 0 ? 0 : (1 + id_width_words(ids) + 1) * sizeof(std::uint64_t);
}
// Returns the bytes that the code of so many ids has at most.
constexpr std::uint64_t id_code_bytes_max(std::uint64_t ids) noexcept {
  return ids == 0 ? 0 : (id_width_words(ids) + ids + 1) * sizeof(std::uint64_t);
}

// Writes the code of these ids, which ascend, each once. Returns its bytes. `into`:
// id_code_bytes_max(ids.size()), aligned to 8 bytes (asserted).
std::size_t encode_ids(std::span<const std::uint64_t> ids, std::span<std::byte> into);

// Reads the code of as many ids, which somebody else has written and nobody changes meanwhile.
// `code`: aligned to 8 bytes (asserted). Errors: corrupt (it is not the code of so many ids, or
// they do not ascend); then of `ids` nothing is known.
status decode_ids(std::span<const std::byte> code, std::span<std::uint64_t> ids);

}  // namespace tidegate::runtime
