#include "runtime/streams/record_cipher.hpp"

#include <cstring>

namespace tidegate::runtime {

namespace {

gcm_nonce nonce_of(std::uint64_t number) {
  gcm_nonce nonce{};
  std::memcpy(nonce.data() + 4, &number, sizeof number);
  return nonce;
}

record_cipher make(const digest& key, gcm_direction direction) {
  auto cipher = make_vector_gcm(key);
  return record_cipher(cipher ? std::move(cipher) : make_openssl_gcm(key, direction));
}

}  // namespace

record_cipher record_cipher::to_seal(const digest& key) {
  return make(key, gcm_direction::seals);
}

record_cipher record_cipher::to_open(const digest& key) {
  return make(key, gcm_direction::opens);
}

record_tag record_cipher::seal(std::span<const std::byte> plain, std::byte* into) {
  return cipher_->seal(nonce_of(records_++), plain, into);
}

bool record_cipher::open(std::span<std::byte> sealed, const record_tag& tag) {
  return cipher_->open(nonce_of(records_++), sealed, tag);
}

}  // namespace tidegate::runtime
