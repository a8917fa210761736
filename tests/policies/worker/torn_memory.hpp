// Memory for a worker's state whose process can be killed after any byte that it writes.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/model/state_layout.hpp"
#include "runtime/base/state_memory.hpp"

namespace tidegate::policies {

class torn_memory final : public runtime::state_memory {
 public:
  // Fresh; `has_history`: of a worker that had no state before.
  explicit torn_memory(std::size_t version_bytes, bool has_history = true)
      : bytes_(state_memory_bytes(version_bytes)) {
    if (has_history) store(state_history_offset, 1);
  }

  std::span<const std::byte> bytes() const override { return bytes_; }
  runtime::status reserve(std::size_t, std::size_t) override {
    if (has_room) return {};
    return {runtime::errc::no_space, "no memory left"};
  }
  void write(std::size_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(bytes_.data() + offset, bytes.data(), survive(bytes.size()));
  }
  void store(std::size_t offset, std::uint64_t word) override {
    if (survive(sizeof word) == sizeof word)
      std::memcpy(bytes_.data() + offset, &word, sizeof word);
  }
  void flip(std::size_t offset) { bytes_[offset] ^= std::byte{1}; }

  // The process is killed when it has written so many bytes more; nothing: it lives.
  std::optional<std::size_t> lives_for;
  std::size_t written = 0;  // bytes
  bool has_room = true;

 private:
  std::size_t survive(std::size_t bytes) {
    const auto survived = std::min(bytes, lives_for.value_or(bytes));
    if (lives_for) *lives_for -= survived;
    written += survived;
    return survived;
  }

  std::vector<std::byte> bytes_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tidegate::policies
