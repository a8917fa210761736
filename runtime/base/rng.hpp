// Counter-based random numbers: a pure function of (key, index), so that any part of a sequence
// can be made anywhere, in any order. The mixer is SplitMix64's finalizer (Steele, Lea, Flood,
// OOPSLA 2014).
#pragma once

#include <cstdint>
#include <string_view>

namespace tidegate::runtime {

constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A key for a named stream of a seed.
constexpr std::uint64_t stream_key(std::uint64_t seed, std::string_view name) noexcept {
  std::uint64_t key = mix64(seed);
  for (char c : name) key = mix64(key ^ static_cast<unsigned char>(c));
  return key;
}

// Uniform in [-1, 1) with 24 bits, exact in float.
constexpr float uniform_signed(std::uint64_t key, std::uint64_t index) noexcept {
  const auto bits = static_cast<std::int32_t>(mix64(key ^ mix64(index)) >> 40);  // 24 bits
  return static_cast<float>(bits - (1 << 23)) * (1.0F / static_cast<float>(1 << 23));
}

// A sequence, for simulations and tests. Those of seeds that lie side by side have almost all
// numbers in common; mix64() of them has not.
class rng {
 public:
  explicit rng(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept { return mix64(state_++); }
  // Uniform in [0, bound); bound >= 1. The bias of 2^-64 x bound does not matter here.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace tidegate::runtime
