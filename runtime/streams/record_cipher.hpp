// AES-256-GCM of the records of one direction of one connection (gcm_cipher.hpp). The number of
// a record is its nonce, so records can be neither left out, nor said again, nor put in another
// order. A key is for one connection. One thread; once made, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "runtime/base/secret.hpp"
#include "runtime/streams/gcm_cipher.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t record_tag_bytes = gcm_tag_bytes;
using record_tag = gcm_tag;

class record_cipher {
 public:
  explicit record_cipher(std::unique_ptr<gcm_cipher> cipher) noexcept
      : cipher_(std::move(cipher)) {}

  // Seals with this key from its first record on, by the fastest library that there is here.
  static record_cipher to_seal(const digest& key);
  static record_cipher to_open(const digest& key);

  // Seals the next record into `into`, of the same size, and returns its tag.
  record_tag seal(std::span<const std::byte> plain, std::byte* into);
  // Opens the next record where it lies. Returns false if it is not what was sealed; its bytes
  // then mean nothing.
  bool open(std::span<std::byte> sealed, const record_tag& tag);
  // The next record is left out, as nobody reads it.
  void skip() noexcept { ++records_; }

 private:
  std::unique_ptr<gcm_cipher> cipher_;
  std::uint64_t records_ = 0;
};

}  // namespace tidegate::runtime
