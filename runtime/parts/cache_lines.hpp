// Bytes that begin on a cache line, as batches of rows do. A plain value.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace tidegate::runtime {

class cache_lines {
 public:
  // Makes room for so many bytes, of which nothing is known; allocates where it has grown.
  std::span<std::byte> resize(std::size_t bytes) {
    bytes_ = bytes;
    lines_.resize((bytes + sizeof(line) - 1) / sizeof(line));
    return {reinterpret_cast<std::byte*>(lines_.data()), bytes_};
  }
  void assign(std::span<const std::byte> bytes) {
    const auto into = resize(bytes.size());
    if (!bytes.empty()) std::memcpy(into.data(), bytes.data(), bytes.size());
  }
  std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(lines_.data()), bytes_};
  }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };

  std::vector<line> lines_;
  std::size_t bytes_ = 0;
};

}  // namespace tidegate::runtime
