// A share of a key that two ends agree on and nobody who reads their words can know (X25519,
// RFC 7748, by OpenSSL). Drawn for each connection, so that whoever learns the run's key later
// still cannot read what was recorded. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "runtime/base/secret.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t key_share_bytes = 32;
using public_share = std::array<std::byte, key_share_bytes>;

class key_share {
 public:
  // Errors: io_error.
  static expected<key_share> draw();
  key_share(key_share&&) noexcept;
  key_share& operator=(key_share&&) noexcept;
  ~key_share();

  // Returns what the other end is told.
  const public_share& for_the_other() const noexcept { return public_; }
  // Returns the secret that both ends have then. Errors: corrupt (what the other has
  // sent is no share).
  expected<digest> agree(const public_share& other) const;

 private:
  struct pair;
  explicit key_share(std::unique_ptr<pair> own) noexcept;

  std::unique_ptr<pair> own_;
  public_share public_{};
};

}  // namespace tidegate::runtime
