#include "runtime/streams/record_cipher.hpp"

#include <cstring>
#include <utility>

#include <openssl/evp.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

using evp_cipher_context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using nonce_of_record = std::array<unsigned char, 12>;

nonce_of_record nonce_of(std::uint64_t number) {
  nonce_of_record nonce{};
  std::memcpy(nonce.data() + 4, &number, sizeof number);
  return nonce;
}

const unsigned char* octets(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* octets(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

struct record_cipher::state {
  evp_cipher_context context{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
};

record_cipher::record_cipher(std::unique_ptr<state> cipher) noexcept
    : cipher_(std::move(cipher)) {}
record_cipher::record_cipher(record_cipher&&) noexcept = default;
record_cipher& record_cipher::operator=(record_cipher&&) noexcept = default;
record_cipher::~record_cipher() = default;

record_cipher record_cipher::to_seal(const digest& key) {
  record_cipher cipher(std::make_unique<state>());
  const auto begun = EVP_EncryptInit_ex(cipher.cipher_->context.get(), EVP_aes_256_gcm(),
                                        nullptr, octets(key.data()), nullptr);
  TIDEGATE_ASSERT(begun == 1, "OpenSSL has AES-256-GCM");
  return cipher;
}

record_cipher record_cipher::to_open(const digest& key) {
  record_cipher cipher(std::make_unique<state>());
  const auto begun = EVP_DecryptInit_ex(cipher.cipher_->context.get(), EVP_aes_256_gcm(),
                                        nullptr, octets(key.data()), nullptr);
  TIDEGATE_ASSERT(begun == 1, "OpenSSL has AES-256-GCM");
  return cipher;
}

record_tag record_cipher::seal(std::span<const std::byte> plain, std::byte* into) {
  auto* const context = cipher_->context.get();
  const auto nonce = nonce_of(records_++);
  int bytes = 0;
  record_tag tag{};
  const bool sealed =
      EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
      EVP_EncryptUpdate(context, octets(into), &bytes, octets(plain.data()),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(context, octets(into) + bytes, &bytes) == 1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, record_tag_bytes, tag.data()) == 1;
  TIDEGATE_ASSERT(sealed, "OpenSSL seals");
  return tag;
}

bool record_cipher::open(std::span<std::byte> sealed, const record_tag& tag) {
  auto* const context = cipher_->context.get();
  const auto nonce = nonce_of(records_++);
  auto expected_tag = tag;
  int bytes = 0;
  return EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
         EVP_DecryptUpdate(context, octets(sealed.data()), &bytes, octets(sealed.data()),
                           static_cast<int>(sealed.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, record_tag_bytes,
                             expected_tag.data()) == 1 &&
         EVP_DecryptFinal_ex(context, octets(sealed.data()) + bytes, &bytes) == 1;
}

}  // namespace tidegate::runtime
