#include "policies/shard/chunk_seed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

using runtime::errc;
namespace limits = runtime::limits;

namespace {

constexpr std::uint32_t magic = 0x33534754;  // "TGS3"
constexpr std::uint32_t states_max = 2;
constexpr std::size_t head_bytes = 72;

struct head_wire {
  std::uint32_t magic = 0;
  std::uint32_t workers = 0;
  std::uint64_t version = 0;
  double beta1_power = 0;
  double beta2_power = 0;
  std::uint64_t elements = 0;
  std::uint32_t states = 0;
  std::uint32_t kept = 0;
  std::array<std::uint64_t, versions_kept_max> kept_versions{};
  std::uint64_t tail_bytes = 0;
};
static_assert(sizeof(head_wire) == head_bytes && std::endian::native == std::endian::little);

std::size_t arrays_at(const chunk_seed& seed) noexcept {
  return head_bytes + seed.state.now.ranks.size() * sizeof(std::uint64_t);
}

// At a multiple of 8.
std::size_t tail_at(const chunk_seed& seed) noexcept {
  const auto end = arrays_at(seed) + seed.arrays() * seed.elements * sizeof(float);
  return seed.tail_bytes == 0 ? end : (end + 7) / 8 * 8;
}

}  // namespace

std::uint64_t seed_bytes(const chunk_seed& seed) noexcept {
  return tail_at(seed) + seed.tail_bytes;
}

void encode_seed(const chunk_seed& seed, std::span<std::byte> into) {
  TIDEGATE_ASSERT(into.size() == seed_bytes(seed), "a place of seed_bytes");
  TIDEGATE_ASSERT(seed.state.kept.size() <= versions_kept_max, "as many as are kept");
  head_wire head;
  head.magic = magic;
  head.workers = static_cast<std::uint32_t>(seed.state.now.ranks.size());
  head.version = seed.state.now.version;
  head.beta1_power = seed.beta1_power;
  head.beta2_power = seed.beta2_power;
  head.elements = seed.elements;
  head.states = seed.states;
  head.kept = static_cast<std::uint32_t>(seed.state.kept.size());
  std::copy(seed.state.kept.begin(), seed.state.kept.end(), head.kept_versions.begin());
  head.tail_bytes = seed.tail_bytes;
  std::memcpy(into.data(), &head, sizeof head);
  auto* at = into.data() + head_bytes;
  for (const auto& rank : seed.state.now.ranks) {
    const std::uint64_t word = rank.next << 1U | (rank.finished ? 1U : 0U);
    std::memcpy(at, &word, sizeof word);
    at += sizeof word;
  }
}

std::span<float> seed_array(const chunk_seed& seed, std::span<std::byte> bytes, std::size_t i) {
  const auto at = arrays_at(seed) + i * seed.elements * sizeof(float);
  TIDEGATE_ASSERT(i < seed.arrays() && bytes.size() == seed_bytes(seed), "an array of it");
  return {reinterpret_cast<float*>(bytes.data() + at), seed.elements};
}

std::span<const float> seed_array(const chunk_seed& seed, std::span<const std::byte> bytes,
                                  std::size_t i) {
  const auto at = arrays_at(seed) + i * seed.elements * sizeof(float);
  TIDEGATE_ASSERT(i < seed.arrays() && bytes.size() == seed_bytes(seed), "an array of it");
  return {reinterpret_cast<const float*>(bytes.data() + at), seed.elements};
}

std::span<std::byte> seed_tail(const chunk_seed& seed, std::span<std::byte> bytes) {
  TIDEGATE_ASSERT(bytes.size() == seed_bytes(seed), "the bytes of this seed");
  return bytes.last(seed.tail_bytes);
}

std::span<const std::byte> seed_tail(const chunk_seed& seed, std::span<const std::byte> bytes) {
  TIDEGATE_ASSERT(bytes.size() == seed_bytes(seed), "the bytes of this seed");
  return bytes.last(seed.tail_bytes);
}

runtime::expected<chunk_seed> decode_seed(std::span<const std::byte> bytes) {
  head_wire head;
  if (bytes.size() < head_bytes)
    return runtime::fail(errc::corrupt, "a chunk that was handed over has no head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != magic || head.workers > limits::workers_max || head.states > states_max ||
      head.kept > versions_kept_max || head.elements > limits::chunk_bytes_max / sizeof(float))
    return runtime::fail(errc::corrupt, "the head of a chunk that was handed over is damaged");
  chunk_seed seed;
  seed.state.now.version = head.version;
  seed.state.now.ranks.resize(head.workers);
  seed.state.kept.assign(head.kept_versions.begin(), head.kept_versions.begin() + head.kept);
  seed.beta1_power = head.beta1_power;
  seed.beta2_power = head.beta2_power;
  seed.states = head.states;
  seed.elements = head.elements;
  seed.tail_bytes = std::min<std::uint64_t>(head.tail_bytes, bytes.size());
  if (bytes.size() != seed_bytes(seed))
    return runtime::fail(errc::corrupt, "a chunk that was handed over has " +
                                            std::to_string(bytes.size()) + " bytes, not " +
                                            std::to_string(seed_bytes(seed)));
  const auto* at = bytes.data() + head_bytes;
  for (auto& rank : seed.state.now.ranks) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    at += sizeof word;
    rank = {word >> 1U, (word & 1U) != 0};
  }
  return seed;
}

}  // namespace tidegate::policies
