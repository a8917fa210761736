#include "runtime/streams/key_share.hpp"

#include <utility>

#include <openssl/evp.h>

namespace tidegate::runtime {

namespace {

using evp_key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using evp_context = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

struct key_share::pair {
  evp_key key{nullptr, &EVP_PKEY_free};
};

key_share::key_share(std::unique_ptr<pair> own) noexcept : own_(std::move(own)) {}
key_share::key_share(key_share&&) noexcept = default;
key_share& key_share::operator=(key_share&&) noexcept = default;
key_share::~key_share() = default;

expected<key_share> key_share::draw() {
  const evp_context context(EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY* drawn = nullptr;
  if (!context || EVP_PKEY_keygen_init(context.get()) <= 0 ||
      EVP_PKEY_keygen(context.get(), &drawn) <= 0)
    return fail(errc::io_error, "OpenSSL draws no key");
  key_share share(std::make_unique<pair>());
  share.own_->key.reset(drawn);
  std::size_t bytes = share.public_.size();
  if (EVP_PKEY_get_raw_public_key(drawn, raw(share.public_.data()), &bytes) <= 0 ||
      bytes != share.public_.size())
    return fail(errc::io_error, "OpenSSL says no public key");
  return share;
}

expected<digest> key_share::agree(const public_share& other) const {
  const evp_key theirs(EVP_PKEY_new_raw_public_key(
                           EVP_PKEY_X25519, nullptr,
                           reinterpret_cast<const unsigned char*>(other.data()), other.size()),
                       &EVP_PKEY_free);
  const evp_context context(EVP_PKEY_CTX_new(own_->key.get(), nullptr), &EVP_PKEY_CTX_free);
  digest secret{};
  std::size_t bytes = secret.size();
  if (!theirs || !context || EVP_PKEY_derive_init(context.get()) <= 0 ||
      EVP_PKEY_derive_set_peer(context.get(), theirs.get()) <= 0 ||
      EVP_PKEY_derive(context.get(), raw(secret.data()), &bytes) <= 0 || bytes != secret.size())
    return fail(errc::corrupt, "the other end's share is no key");
  return secret;
}

}  // namespace tidegate::runtime
