// Fuzz target: bytes of a disk through what reads checkpoints.
//
// What decodes must describe bytes that are in the file, each once, and encode to what decodes
// to the same; nothing may crash or ask for memory that the input does not justify. The
// manifest gets its right hash, so that what lies behind it is reached. Built with libFuzzer,
// ASan and UBSan (CMakeLists.txt).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "policies/checkpoint/image.hpp"
#include "policies/checkpoint/manifest.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/sha256.hpp"

namespace {

using namespace tidegate;

void read_header(std::string_view text, std::uint64_t data_bytes) {
  const auto begin = policies::safetensors_head_bytes + text.size();
  const auto header = policies::decode_safetensors(text, begin + data_bytes);
  if (!header) return;
  std::uint64_t at = begin;
  for (const auto& tensor : header->tensors) {
    TIDEGATE_ASSERT(tensor.offset == at, "data without holes");
    at += tensor.bytes;
  }
  TIDEGATE_ASSERT(at == begin + data_bytes, "all of the file");
  const auto again = policies::encode_safetensors(*header);
  TIDEGATE_ASSERT(again, "what was read can be written");
  const auto same = policies::decode_safetensors(
      std::string_view(*again).substr(policies::safetensors_head_bytes),
      again->size() + data_bytes);
  TIDEGATE_ASSERT(same && same->metadata == header->metadata &&
                      same->tensors.size() == header->tensors.size(),
                  "encode inverts decode");
}

void read_shard_file(std::string_view text, std::uint64_t data_bytes) {
  const auto file_bytes = policies::safetensors_head_bytes + text.size() + data_bytes;
  const auto found = policies::decode_shard_file(text, file_bytes);
  if (!found) return;
  for (const auto& chunk : found->chunks)
    for (std::size_t i = 0; i < policies::chunk_arrays(chunk.about); ++i)
      TIDEGATE_ASSERT(chunk.about.elements <= data_bytes / sizeof(float) &&
                          chunk.offsets[i] <= file_bytes - chunk.about.elements * sizeof(float),
                      "its arrays are in the file");
}

void read_manifest(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  runtime::sha256 hash;
  hash.update(std::as_bytes(std::span(line)));
  const auto found =
      policies::decode_manifest(line + R"({"sha256":")" + hash.finish() + "\"}\n");
  if (!found) return;
  const auto again = policies::encode_manifest(*found);
  TIDEGATE_ASSERT(again, "what was read can be written");
  const auto same = policies::decode_manifest(*again);
  TIDEGATE_ASSERT(same && *same == *found, "encode inverts decode");
}

// One chunk of 4 elements under Adam: 48 bytes of data.
std::string right_header() {
  static const std::vector<float> values(4);
  policies::chunk_image chunk;
  chunk.about.table = "w";
  chunk.about.shape = {2, 3};
  chunk.about.chunk = 1;
  chunk.about.first = 2;
  chunk.about.elements = 4;
  chunk.about.optimizer = policies::default_optimizer(policies::optimizer_kind::adam);
  chunk.about.ranks = {{5, false}, {5, false}, {4, true}};
  chunk.arrays = {values, values, values};
  const auto file = policies::encode_shard_file({"job", {1, 2}, 3}, {&chunk, 1});
  TIDEGATE_ASSERT(file, "it is right");
  return file->substr(policies::safetensors_head_bytes);
}

std::string right_manifest() {
  policies::checkpoint_manifest manifest;
  manifest.id = {1, 2};
  manifest.job = "job";
  manifest.workers = 3;
  manifest.tables = {{"w", {2, 3}, 2}, {"b", {}, 1}};
  for (const std::uint32_t shard : {0U, 1U})
    manifest.parts.push_back(
        {shard,
         {policies::shard_file_name(manifest.id, shard), 5, std::string(64, 'a')},
         {{0, shard, 1}}});
  manifest.parts[0].chunks.push_back({1, 0, 1});
  const auto text = policies::encode_manifest(manifest);
  TIDEGATE_ASSERT(text, "it is right");
  return text->substr(0, text->find('\n'));
}

// Each change: where, and which bytes instead, one or two.
std::string changed(std::string text, std::string_view changes) {
  for (; changes.size() >= 4; changes.remove_prefix(4)) {
    const auto at = (static_cast<unsigned char>(changes[0]) * 256U +
                     static_cast<unsigned char>(changes[1])) %
                    text.size();
    text.replace(at, 1, changes.substr(2, changes[3] == 0 ? 1 : 2));
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t data_bytes = (data[0] + 256ULL * data[1]) * 4;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  read_header(text, data_bytes);
  read_shard_file(text, data_bytes);
  read_manifest(std::string(text));
  (void)policies::decode_manifest(text);
  static const std::string header = right_header();
  static const std::string manifest = right_manifest();
  read_header(changed(header, text), 48);
  read_shard_file(changed(header, text), 48);
  read_manifest(changed(manifest, text));
  return 0;
}
