// Host memory that a queue reads arrays into and writes them from: half of it registered.
// Handed out in blocks, at random. One thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::tests {

class result_memory {
 public:
  result_memory(std::size_t blocks, std::size_t block_bytes)
      : blocks_(blocks), block_bytes_(block_bytes) {}

  runtime::status set_up(runtime::devices::device& on) {
    auto registered = on.allocate_host(blocks_ * block_bytes_);
    if (!registered) return registered.error();
    registered_ = std::move(*registered);
    pageable_.resize(blocks_ * block_bytes_);
    for (std::size_t i = 0; i < blocks_; ++i)
      for (auto* const memory : {registered_.bytes().data(), pageable_.data()})
        free_.push_back(memory + i * block_bytes_);
    return {};
  }
  // Returns a block, or nullptr.
  std::byte* take(runtime::rng& random) {
    if (free_.empty()) return nullptr;
    std::swap(free_[random.below(free_.size())], free_.back());
    auto* const memory = free_.back();
    free_.pop_back();
    return memory;
  }
  // Returns a registered block that stays free, or nullptr.
  std::byte* find_registered() const {
    for (auto* const memory : free_)
      if (place_of(memory) == runtime::devices::input_place::registered) return memory;
    return nullptr;
  }
  void give_back(std::byte* memory) { free_.push_back(memory); }
  bool is_empty() const { return free_.empty(); }
  runtime::devices::input_place place_of(const std::byte* memory) const {
    const bool is_pageable =
        memory >= pageable_.data() && memory < pageable_.data() + pageable_.size();
    return is_pageable ? runtime::devices::input_place::pageable
                       : runtime::devices::input_place::registered;
  }

 private:
  std::size_t blocks_;
  std::size_t block_bytes_;
  runtime::devices::host_memory registered_;
  std::vector<std::byte> pageable_;
  std::vector<std::byte*> free_;
};

}  // namespace tidegate::tests
