// SHA-256 over a stream of bytes (OpenSSL's). One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tidegate::runtime {

class sha256 {
 public:
  sha256();
  ~sha256();
  sha256(sha256&&) noexcept;
  sha256& operator=(sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  // 64 hex digits; the object takes no more updates.
  std::string finish();

 private:
  struct context;
  std::unique_ptr<context> context_;
};

}  // namespace tidegate::runtime
