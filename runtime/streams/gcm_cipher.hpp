// AES-256-GCM (NIST SP 800-38D) of single messages under one key, by one library or another:
// all make the same bytes. One thread; once made, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/secret.hpp"

namespace tidegate::runtime {

using gcm_nonce = std::array<std::byte, 12>;
inline constexpr std::size_t gcm_tag_bytes = 16;
using gcm_tag = std::array<std::byte, gcm_tag_bytes>;

class gcm_cipher {
 public:
  gcm_cipher() = default;
  gcm_cipher(const gcm_cipher&) = delete;
  gcm_cipher& operator=(const gcm_cipher&) = delete;
  virtual ~gcm_cipher() = default;

  // Seals into `into`, of the same size, and returns the tag. A nonce is for one message.
  virtual gcm_tag seal(const gcm_nonce& nonce, std::span<const std::byte> plain,
                       std::byte* into) = 0;
  // Opens in place. Returns false if it is not what was sealed; its bytes then mean nothing.
  virtual bool open(const gcm_nonce& nonce, std::span<std::byte> sealed,
                    const gcm_tag& tag) = 0;
};

// A cipher either seals or opens.
enum class gcm_direction : std::uint8_t { seals, opens };

// By OpenSSL, on every processor.
std::unique_ptr<gcm_cipher> make_openssl_gcm(const digest& key, gcm_direction direction);
// By Intel's Multi-Buffer Crypto for IPsec (libIPSec_MB), which encrypts four blocks with one
// instruction: some three times as fast as OpenSSL 3.0. Null where the processor has no VAES
// with AVX-512, or the library was not there when this was built.
std::unique_ptr<gcm_cipher> make_vector_gcm(const digest& key);

}  // namespace tidegate::runtime
