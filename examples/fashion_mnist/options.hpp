// The command line of `fashion_mnist`. Plain values, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/fashion_mnist/dense.hpp"
#include "examples/fashion_mnist/idx.hpp"
#include <tidegate/status.hpp>

namespace tidegate::examples {

struct options {
  std::string model = "mlp";          // "softmax" or "mlp"
  std::uint32_t epochs = 10;          // 1..10000
  std::uint32_t batch = 32;           // samples per worker and clock, 1..4096
  std::string data = dataset_folder;  // where the four .gz files are
  simd_level simd = simd_level::automatic;
  bool help = false;  // print `usage` and exit
};

// `arguments` without the program's name. Errors: invalid_argument, with the option in the
// message.
expected<options> parse_options(std::span<const char* const> arguments);

extern const std::string_view usage;

}  // namespace tidegate::examples
