#include "runtime/base/sha256.hpp"

#include <array>

#include <openssl/evp.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

struct sha256::context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~context() { EVP_MD_CTX_free(evp); }
};

sha256::sha256() : context_(std::make_unique<context>()) {
  const bool ready =
      context_->evp && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1;
  TIDEGATE_ASSERT(ready, "SHA-256 is always there in OpenSSL");
}
sha256::~sha256() = default;
sha256::sha256(sha256&&) noexcept = default;
sha256& sha256::operator=(sha256&&) noexcept = default;

void sha256::update(std::span<const std::byte> bytes) {
  const bool taken = EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1;
  TIDEGATE_ASSERT(taken, "update after finish");
}

std::string sha256::finish() {
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  const bool done = EVP_DigestFinal_ex(context_->evp, digest.data(), &length) == 1;
  TIDEGATE_ASSERT(done && length == digest.size(), "finish called twice");
  static constexpr char hex[] = "0123456789abcdef";
  std::string text;
  for (auto byte : digest) {
    text += hex[byte >> 4];
    text += hex[byte & 15];
  }
  return text;
}

}  // namespace tidegate::runtime
