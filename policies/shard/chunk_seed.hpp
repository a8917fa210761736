// A chunk as a primary hands it to a replica, in bytes: what it has, the powers of Adam's
// betas, then its arrays: parameters, the optimizer's states, the parameters of the versions
// before that are kept. Little endian, as frames are; read and written in place. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "policies/shard/chunk_replication.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct chunk_seed {
  sharding::seed_state state;
  double beta1_power = 1;
  double beta2_power = 1;
  std::uint32_t states = 0;  // arrays of the optimizer
  std::uint64_t elements = 0;
  // Bytes behind the arrays, a multiple of 8: of a part of a table of rows, which has no
  // arrays, its image (runtime/parts/row_image.hpp).
  std::uint64_t tail_bytes = 0;

  std::size_t arrays() const noexcept { return 1U + states + state.kept.size(); }
  // Of the parameters of state.kept[i].
  std::size_t kept_array(std::size_t i) const noexcept { return 1U + states + i; }
};

std::uint64_t seed_bytes(const chunk_seed& seed) noexcept;
// `into`: as long as seed_bytes says, aligned as floats are. The arrays are to be written to
// seed_array.
void encode_seed(const chunk_seed& seed, std::span<std::byte> into);
std::span<float> seed_array(const chunk_seed& seed, std::span<std::byte> bytes, std::size_t i);
std::span<const float> seed_array(const chunk_seed& seed, std::span<const std::byte> bytes,
                                  std::size_t i);
// Returns the tail of a seed in its bytes.
std::span<std::byte> seed_tail(const chunk_seed& seed, std::span<std::byte> bytes);
std::span<const std::byte> seed_tail(const chunk_seed& seed, std::span<const std::byte> bytes);
// Errors: corrupt (not of this form, or of another length).
runtime::expected<chunk_seed> decode_seed(std::span<const std::byte> bytes);

}  // namespace tidegate::policies
