// Bytes that begin on a cache line, as batches of rows do. What has been lent stays mapped
// until the end: a frame that has been answered may yet be on its way. It grows in powers of
// two, so that all of it is at most twice the largest. Move-only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace tidegate::runtime {

class cache_lines {
 public:
  // Makes room for so many bytes, of which nothing is known; allocates where it has grown.
  std::span<std::byte> resize(std::size_t bytes) {
    bytes_ = bytes;
    const auto lines = (bytes + sizeof(line) - 1) / sizeof(line);
    if (blocks_.empty() || lines > lines_) {
      lines_ = std::bit_ceil(std::max<std::size_t>(lines, 1));
      blocks_.push_back(std::make_unique<line[]>(lines_));
    }
    return {reinterpret_cast<std::byte*>(blocks_.back().get()), bytes_};
  }
  void assign(std::span<const std::byte> bytes) {
    const auto into = resize(bytes.size());
    if (!bytes.empty()) std::memcpy(into.data(), bytes.data(), bytes.size());
  }
  std::span<std::byte> bytes() noexcept {
    if (blocks_.empty()) return {};
    return {reinterpret_cast<std::byte*>(blocks_.back().get()), bytes_};
  }
  std::span<const std::byte> bytes() const noexcept {
    if (blocks_.empty()) return {};
    return {reinterpret_cast<const std::byte*>(blocks_.back().get()), bytes_};
  }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };

  std::vector<std::unique_ptr<line[]>> blocks_;  // the last is in use
  std::size_t lines_ = 0;                        // of it
  std::size_t bytes_ = 0;
};

}  // namespace tidegate::runtime
