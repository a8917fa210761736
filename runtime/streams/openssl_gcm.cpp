#include <openssl/evp.h>

#include "runtime/base/assert.hpp"
#include "runtime/streams/gcm_cipher.hpp"

namespace tidegate::runtime {

namespace {

using evp_cipher_context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* octets(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* octets(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

class openssl_gcm final : public gcm_cipher {
 public:
  openssl_gcm(const digest& key, gcm_direction direction) {
    const auto begin =
        direction == gcm_direction::seals ? EVP_EncryptInit_ex : EVP_DecryptInit_ex;
    const auto begun =
        begin(context_.get(), EVP_aes_256_gcm(), nullptr, octets(key.data()), nullptr);
    TIDEGATE_ASSERT(begun == 1, "OpenSSL has AES-256-GCM");
  }

  gcm_tag seal(const gcm_nonce& nonce, std::span<const std::byte> plain,
               std::byte* into) override {
    auto* const context = context_.get();
    int bytes = 0;
    gcm_tag tag{};
    const bool sealed =
        EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, octets(nonce.data())) == 1 &&
        EVP_EncryptUpdate(context, octets(into), &bytes, octets(plain.data()),
                          static_cast<int>(plain.size())) == 1 &&
        EVP_EncryptFinal_ex(context, octets(into) + bytes, &bytes) == 1 &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, gcm_tag_bytes, tag.data()) == 1;
    TIDEGATE_ASSERT(sealed, "OpenSSL seals");
    return tag;
  }

  bool open(const gcm_nonce& nonce, std::span<std::byte> sealed, const gcm_tag& tag) override {
    auto* const context = context_.get();
    auto expected_tag = tag;
    int bytes = 0;
    return EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, octets(nonce.data())) == 1 &&
           EVP_DecryptUpdate(context, octets(sealed.data()), &bytes, octets(sealed.data()),
                             static_cast<int>(sealed.size())) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, gcm_tag_bytes,
                               expected_tag.data()) == 1 &&
           EVP_DecryptFinal_ex(context, octets(sealed.data()) + bytes, &bytes) == 1;
  }

 private:
  evp_cipher_context context_{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
};

}  // namespace

std::unique_ptr<gcm_cipher> make_openssl_gcm(const digest& key, gcm_direction direction) {
  return std::make_unique<openssl_gcm>(key, direction);
}

}  // namespace tidegate::runtime
