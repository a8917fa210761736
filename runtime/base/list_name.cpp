#include "runtime/base/list_name.hpp"

#include <bit>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

namespace {

struct sip_state {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    v0 ^= word;
  }
  std::uint64_t finish() noexcept {
    for (int i = 0; i < 3; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

list_name name_list(std::span<const std::uint64_t> ids, std::uint64_t key) noexcept {
  const auto k0 = mix64(key);
  const auto k1 = mix64(k0);
  sip_state state{.v0 = k0 ^ 0x736f6d6570736575ULL,
                  .v1 = k1 ^ 0x646f72616e646f6dULL ^ 0xee,
                  .v2 = k0 ^ 0x6c7967656e657261ULL,
                  .v3 = k1 ^ 0x7465646279746573ULL};
  for (const auto id : ids) state.take(id);
  state.take(std::uint64_t{ids.size() * sizeof(std::uint64_t)} << 56);
  state.v2 ^= 0xee;
  list_name name;
  name.low = state.finish();
  state.v1 ^= 0xdd;
  name.high = state.finish();
  return name;
}

}  // namespace tidegate::runtime
