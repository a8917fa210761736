// The writers of a checkpoint's files. Shards write theirs; when all are durable the
// coordinator writes the manifest, and when that is, there is a checkpoint. Pure, any thread.
#pragma once

#include <span>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/image.hpp"
#include "policies/checkpoint/manifest.hpp"

namespace tidegate::policies {

// Returns the writer of a shard's file. The arrays of `chunks` must stay as they are until it
// has ended. Errors: those of encode_shard_file.
runtime::expected<file_writer> write_shard_file(const shard_file_title& title,
                                                std::span<const chunk_image> chunks);

// Returns the writer of the manifest, which is to be run when all parts are durable, and not
// before. Errors: those of encode_manifest.
runtime::expected<file_writer> write_manifest(const checkpoint_manifest& manifest);

}  // namespace tidegate::policies
