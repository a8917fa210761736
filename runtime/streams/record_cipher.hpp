// AES-256-GCM (NIST SP 800-38D) of the records of one direction of one connection, by OpenSSL.
// The number of a record is its nonce, so records can be neither left out, nor said again, nor
// put in another order. A key is for one connection. One thread; once made, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/secret.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t record_tag_bytes = 16;
using record_tag = std::array<std::byte, record_tag_bytes>;

class record_cipher {
 public:
  // Seals with this key from its first record on.
  static record_cipher to_seal(const digest& key);
  static record_cipher to_open(const digest& key);
  record_cipher(record_cipher&&) noexcept;
  record_cipher& operator=(record_cipher&&) noexcept;
  ~record_cipher();

  // Seals the next record into `into`, of the same size, and returns its tag.
  record_tag seal(std::span<const std::byte> plain, std::byte* into);
  // Opens the next record where it lies. Returns false if it is not what was sealed; its bytes
  // then mean nothing.
  bool open(std::span<std::byte> sealed, const record_tag& tag);
  // The next record is left out, as nobody reads it.
  void skip() noexcept { ++records_; }

 private:
  struct state;
  explicit record_cipher(std::unique_ptr<state> cipher) noexcept;

  std::unique_ptr<state> cipher_;
  std::uint64_t records_ = 0;
};

}  // namespace tidegate::runtime
