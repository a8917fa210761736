// What two processes that know a secret need to show each other that they do, without saying
// it: keyed digests, random numbers that nobody can guess, comparison in constant time
// (OpenSSL's). Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t digest_bytes = 32;
using digest = std::array<std::byte, digest_bytes>;

// HMAC-SHA256 (RFC 2104) of `message` under `key`.
digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

// Returns true if both have the same bytes; how long it takes depends on the sizes alone.
bool is_same_secret(std::span<const std::byte> left, std::span<const std::byte> right) noexcept;

// Fills `into` with bytes of the kernel's generator. Errors: io_error.
status draw_secret(std::span<std::byte> into);
// Returns a number of that generator, not 0. Asserted: it works.
std::uint64_t draw_number();

}  // namespace tidegate::runtime
