// The name of a list of ids: 128 bits that follow from the ids and a key, so that a list which
// both sides have need not travel again. SipHash-1-3 with 128 bits (Aumasson and Bernstein,
// INDOCRYPT 2012) of the ids, little-endian. Who does not know the key cannot make two lists
// that have one name. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>

namespace tidegate::runtime {

struct list_name {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const list_name&, const list_name&) = default;
};

list_name name_list(std::span<const std::uint64_t> ids, std::uint64_t key) noexcept;

// Bytes of lists that are kept of one rank and part of a table, there and at the worker.
inline constexpr std::uint64_t list_bytes_max = 256ULL << 10;
// What a list counts for, whose code (runtime/batches/id_code.hpp) has so many bytes: small
// ones as well, so that there are few to search.
constexpr std::uint64_t list_bytes(std::uint64_t code_bytes) noexcept {
  return code_bytes + 512;
}

}  // namespace tidegate::runtime
