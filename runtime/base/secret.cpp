#include "runtime/base/secret.hpp"

#include <cerrno>
#include <cstring>
#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  digest result{};
  unsigned length = 0;
  const auto* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(result.data()), &length);
  TIDEGATE_ASSERT(done != nullptr && length == digest_bytes,
                  "SHA-256 is always there in OpenSSL");
  return result;
}

bool is_same_secret(std::span<const std::byte> left,
                    std::span<const std::byte> right) noexcept {
  return left.size() == right.size() &&
         CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

status draw_secret(std::span<std::byte> into) {
  while (!into.empty()) {
    const auto drawn = ::getrandom(into.data(), into.size(), 0);
    if (drawn < 0 && errno == EINTR) continue;
    if (drawn <= 0)
      return {errc::io_error, std::string("drawing random bytes: ") + std::strerror(errno)};
    into = into.subspan(static_cast<std::size_t>(drawn));
  }
  return {};
}

std::uint64_t draw_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    const auto drawn = draw_secret(std::as_writable_bytes(std::span(&number, 1)));
    TIDEGATE_ASSERT(drawn.ok(), "the kernel draws random bytes");
  }
  return number;
}

}  // namespace tidegate::runtime
