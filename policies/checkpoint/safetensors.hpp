// The safetensors format (huggingface/safetensors, format description in its README): 8 bytes,
// little endian, that say how long the header is; the header, JSON: name -> dtype, shape, place
// in the data, and "__metadata__", names and texts; then the data, without holes. Only F32 and
// U64.
//
// The decoder believes nothing: a header that it takes describes data that are all in the file,
// each byte once. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

inline constexpr std::size_t safetensors_head_bytes = 8;
inline constexpr std::uint64_t safetensors_header_bytes_max = 100'000'000;  // as in the others
inline constexpr std::size_t safetensors_dimensions_max = 64;

enum class safetensors_type : std::uint8_t { f32, u64 };

struct safetensors_tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  // of its first byte in the file; set by decoding
  std::uint64_t bytes = 0;   // set by decoding
  safetensors_type type = safetensors_type::f32;

  friend bool operator==(const safetensors_tensor&, const safetensors_tensor&) = default;
};

struct safetensors_header {
  std::map<std::string, std::string> metadata;
  std::vector<safetensors_tensor> tensors;  // by offset

  friend bool operator==(const safetensors_header&, const safetensors_header&) = default;
};

// All of the file before the data of its tensors, which follow in the order given; their first
// byte is at a multiple of 64. Errors: invalid_argument (a name twice, or not UTF-8; a shape
// that overflows), over_limit (a header of more than 100 MB).
runtime::expected<std::string> encode_safetensors(const safetensors_header& header);

// Bytes of the header that follows these 8. Errors: corrupt (more than there is, or too many).
runtime::expected<std::uint64_t> safetensors_header_bytes(
    std::span<const std::byte, safetensors_head_bytes> head, std::uint64_t file_bytes);

// `text`: the header without the 8 bytes before it. Errors: corrupt, invalid_argument (right,
// but of another dtype than these two).
runtime::expected<safetensors_header> decode_safetensors(std::string_view text,
                                                         std::uint64_t file_bytes);

}  // namespace tidegate::policies
