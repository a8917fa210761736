#include "policies/checkpoint/writer.hpp"

namespace tidegate::policies {

runtime::expected<file_writer> write_shard_file(const shard_file_title& title,
                                                std::span<const chunk_image> chunks) {
  auto head = encode_shard_file(title, chunks);
  if (!head) return runtime::fail(head.error());
  std::vector<std::span<const std::byte>> arrays;
  for (const auto& chunk : chunks)
    for (std::size_t i = 0; i < chunk_arrays(chunk.about); ++i)
      arrays.push_back(std::as_bytes(chunk.arrays[i]));
  return file_writer(shard_file_name(title.id, title.shard),
                     pieces_of(std::move(*head), std::move(arrays)));
}

runtime::expected<file_writer> write_manifest(const checkpoint_manifest& manifest) {
  auto text = encode_manifest(manifest);
  if (!text) return runtime::fail(text.error());
  return file_writer(manifest_name(manifest.id), pieces_of(std::move(*text), {}));
}

}  // namespace tidegate::policies
