// Reads a checkpoint by table and element, whichever shards wrote it. Opening reads the headers
// of its files, not the arrays, and believes nothing: what is open has every element of every
// table exactly once. The bytes of the arrays are as good as their file: the catalog
// (checkpoint_catalog.hpp) compares hashes. A checkpoint that needs another one is opened with
// it, and read as if it were whole. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/checkpoint/image.hpp"
#include "policies/checkpoint/manifest.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// Errors: those of the storage; corrupt.
runtime::expected<checkpoint_manifest> read_manifest(runtime::storage& from, checkpoint_id id);

class checkpoint_reader {
 public:
  struct chunk {
    stored_chunk stored;
    std::uint32_t part = 0;  // of the manifest: the file that it lies in
  };

  // Errors: those of the storage; corrupt (files that disagree with the manifest, or with the
  // checkpoint that they need).
  static runtime::expected<checkpoint_reader> open(runtime::storage& from,
                                                   checkpoint_manifest manifest);

  const checkpoint_manifest& manifest() const noexcept { return manifest_; }
  // The checkpoint that this one needs, or null; valid as long as this.
  const checkpoint_reader* base() const noexcept { return base_.get(); }
  // The place of the table in manifest().tables.
  std::optional<std::size_t> find_table(std::string_view name) const;
  // Of manifest().tables[table], ascending.
  std::span<const chunk> chunks(std::size_t table) const { return chunks_[table]; }

  // Elements [first, first + into.size()) of an array of a table (0: parameters), which must be
  // in it (asserted); in as many reads as chunks. Errors: those of the storage.
  runtime::status read(runtime::storage& from, std::size_t table, std::size_t array,
                       std::uint64_t first, std::span<float> into) const;

  // An array of the part of a table of rows, whole: `into` has array_floats(). Errors: those of
  // the storage; corrupt (the checkpoint that it needs is not the one before it).
  runtime::status read_part(runtime::storage& from, std::size_t table, std::size_t part,
                            std::size_t array, std::span<float> into) const;

 private:
  explicit checkpoint_reader(checkpoint_manifest manifest)
      : manifest_(std::move(manifest)), chunks_(manifest_.tables.size()) {}

  runtime::status add_part(runtime::storage& from, std::uint32_t part);
  runtime::status check_tables() const;
  static runtime::expected<checkpoint_reader> open(runtime::storage& from,
                                                   checkpoint_manifest manifest,
                                                   std::uint32_t chain_left);
  runtime::status open_base(runtime::storage& from, std::uint32_t chain_left);
  runtime::status check_base(const stored_chunk& stored) const;
  // The part as the checkpoint that this one needs has it: table and part there.
  const chunk* base_of(const chunk_description& about) const;
  runtime::status read_chain(runtime::storage& from, const chunk_description& about,
                             std::size_t array, std::span<float> into) const;
  runtime::status read_stored(runtime::storage& from, const chunk& stored, std::size_t array,
                              std::span<float> into) const;

  checkpoint_manifest manifest_;
  std::map<std::string, std::uint32_t, std::less<>> tables_;  // by name
  std::vector<std::vector<chunk>> chunks_;                    // by table, then index
  std::shared_ptr<const checkpoint_reader> base_;
};

}  // namespace tidegate::policies
