#include "policies/checkpoint/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "policies/checkpoint/json_text.hpp"

namespace tidegate::policies {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

using nlohmann::json;
using runtime::errc;
using runtime::fail;

namespace {

constexpr const char* metadata_key = "__metadata__";
constexpr std::size_t data_alignment = 64;
constexpr int header_depth_max = 3;  // header, tensor, shape; the numbers lie below

constexpr const char* type_names[] = {"F32", "U64"};

std::optional<std::uint64_t> bytes_of(const safetensors_tensor& tensor) {
  const bool is_long = tensor.type == safetensors_type::u64;
  std::uint64_t bytes = is_long ? sizeof(std::uint64_t) : sizeof(float);
  for (const auto dimension : tensor.shape)
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return {};
  return bytes;
}

tl::unexpected<runtime::status> bad(const std::string& name, const std::string& why) {
  return fail(errc::corrupt, "safetensors header: tensor '" + name + "': " + why);
}

runtime::expected<std::map<std::string, std::string>> decode_metadata(const json& from) {
  if (!from.is_object())
    return fail(errc::corrupt, "safetensors header: __metadata__ is no object");
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : from.items()) {
    if (!value.is_string())
      return fail(errc::corrupt, "safetensors header: __metadata__: '" + key + "' is no text");
    texts[key] = value.get<std::string>();
  }
  return texts;
}

// With an offset in the data, not in the file.
runtime::expected<safetensors_tensor> decode_tensor(const std::string& name, const json& from,
                                                    std::uint64_t data_bytes) {
  runtime::status problem;
  json_fields fields(from, "safetensors header: tensor '" + name + "'", problem);
  const auto type = fields.text("dtype", 16);
  const auto& shape = fields.array("shape");
  const auto& place = fields.array("data_offsets");
  if (!problem) return fail(std::move(problem));
  const bool is_long = type == type_names[1];
  if (!is_long && type != type_names[0])
    return fail(errc::invalid_argument, "safetensors header: tensor '" + name +
                                            "' is of type '" + type + "'; allowed: F32, U64");
  if (shape.size() > safetensors_dimensions_max || !is_row(shape, shape.size(), any_64))
    return bad(name, "its shape is no list of at most 64 sizes");
  if (!is_row(place, 2, data_bytes)) return bad(name, "its data are not in the file");
  safetensors_tensor tensor{.name = name,
                            .shape = shape.get<std::vector<std::uint64_t>>(),
                            .offset = place[0],
                            .bytes = 0,
                            .type = is_long ? safetensors_type::u64 : safetensors_type::f32};
  const auto end = place[1].get<std::uint64_t>();
  const auto bytes = bytes_of(tensor);
  if (end < tensor.offset || !bytes || *bytes != end - tensor.offset)
    return bad(name, "its data are not of the size of its shape");
  tensor.bytes = *bytes;
  return tensor;
}

}  // namespace

runtime::expected<std::string> encode_safetensors(const safetensors_header& header) {
  json all = json::object();
  if (!header.metadata.empty()) all[metadata_key] = header.metadata;
  std::uint64_t at = 0;
  for (const auto& tensor : header.tensors) {
    const auto bytes = bytes_of(tensor);
    const auto begin = at;
    if (!bytes || __builtin_add_overflow(at, *bytes, &at))
      return fail(errc::invalid_argument, "tensor '" + tensor.name + "' is too large");
    if (tensor.name == metadata_key || all.contains(tensor.name))
      return fail(errc::invalid_argument,
                  "two tensors '" + tensor.name + "' cannot be in one file");
    all[tensor.name] = {{"dtype", type_names[static_cast<std::size_t>(tensor.type)]},
                        {"shape", tensor.shape},
                        {"data_offsets", {begin, at}}};
  }
  auto text = json_line(all);
  if (!text) return text;
  const auto whole = safetensors_head_bytes + text->size();
  text->append((data_alignment - whole % data_alignment) % data_alignment, ' ');
  if (text->size() > safetensors_header_bytes_max)
    return fail(errc::over_limit, "the header of a safetensors file would have " +
                                      std::to_string(text->size()) +
                                      " bytes; allowed: 100000000. Use larger chunks");
  const std::uint64_t size = text->size();
  std::string file(safetensors_head_bytes, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  return file + *text;
}

runtime::expected<std::uint64_t> safetensors_header_bytes(
    std::span<const std::byte, safetensors_head_bytes> head, std::uint64_t file_bytes) {
  std::uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  if (file_bytes < safetensors_head_bytes || size > file_bytes - safetensors_head_bytes)
    return fail(errc::corrupt, "safetensors header: longer than its file");
  if (size > safetensors_header_bytes_max)
    return fail(errc::corrupt, "safetensors header: has " + std::to_string(size) +
                                   " bytes; allowed: 100000000");
  return size;
}

runtime::expected<safetensors_header> decode_safetensors(std::string_view text,
                                                         std::uint64_t file_bytes) {
  const auto data_begin = safetensors_head_bytes + text.size();
  if (file_bytes < data_begin)
    return fail(errc::corrupt, "safetensors header: longer than its file");
  const auto data_bytes = file_bytes - data_begin;
  const auto all = parse_json_object(text, "safetensors header", header_depth_max);
  if (!all) return fail(all.error());
  safetensors_header header;
  for (const auto& [name, value] : all->items()) {
    if (name == metadata_key) {
      auto metadata = decode_metadata(value);
      if (!metadata) return fail(metadata.error());
      header.metadata = std::move(*metadata);
      continue;
    }
    auto tensor = decode_tensor(name, value, data_bytes);
    if (!tensor) return fail(tensor.error());
    header.tensors.push_back(std::move(*tensor));
  }
  // An empty one before the one that begins there.
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  std::uint64_t covered = 0;
  for (auto& tensor : header.tensors) {
    if (tensor.offset != covered)
      return bad(tensor.name, "there is a hole before its data, or another's data in them");
    covered += tensor.bytes;
    tensor.offset += data_begin;
  }
  if (covered != data_bytes)
    return fail(errc::corrupt, "safetensors header: " + std::to_string(data_bytes - covered) +
                                   " bytes of the file belong to no tensor");
  return header;
}

}  // namespace tidegate::policies
