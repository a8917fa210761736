// A window's name as the CUDA backend writes it. Plain C++, pure, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices::cuda {

using gpu_identity = std::array<std::byte, 16>;  // its UUID: indices differ between processes

constexpr std::array<char, 8> window_tag = {'c', 'u', 'd', 'a', '-', 'f', 'd', '1'};
constexpr std::uint64_t window_bytes_max = std::uint64_t{1} << 44;  // no GPU has as much

struct window_fields {
  std::array<char, 8> tag = window_tag;
  std::uint64_t bytes = 0;
  gpu_identity gpu{};
  // The descriptor that stands for the memory, in the process that started then
  // (runtime/process/process_mark.hpp).
  std::int32_t pid = 0;
  std::int32_t descriptor = -1;
  std::uint64_t started = 0;
  std::array<std::byte, 48> unused{};
};

window_name encode(const window_fields& fields);
// Errors: corrupt (no such name), unavailable (of another GPU than `gpu`); `device` names that
// one in messages.
expected<window_fields> decode_window(const window_name& name, const gpu_identity& gpu,
                                      const std::string& device);

}  // namespace tidegate::runtime::devices::cuda
