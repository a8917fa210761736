// Writes one file so that a crash leaves all of it under its name, or nothing: under a
// temporary name, synced, renamed, and the folder synced. One call of the storage per step(),
// so that others have their turn between them. A crash before the rename leaves a temporary
// file.
//
// Pure over a storage; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/sha256.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

inline constexpr std::size_t file_piece_bytes_max = 1U << 20U;

struct written_file {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 hex digits

  friend bool operator==(const written_file&, const written_file&) = default;
};

// Returns the next bytes of a file, at most file_piece_bytes_max, and none at its end; valid
// until the next call.
using piece_source = std::function<runtime::expected<std::span<const std::byte>>()>;

// Returns a source of `head`, then of `rest`, whose bytes must stay until it has returned the
// end.
piece_source pieces_of(std::string head, std::vector<std::span<const std::byte>> rest);

class file_writer {
 public:
  enum class progress : std::uint8_t { working, done, failed };

  // No other file has or had `name`, nor `name` with temporary_suffix.
  file_writer(std::string name, piece_source source);

  // Makes the next call of the storage. `done`: the file is durable under its name. `failed`:
  // what was written has been removed, where that is possible. Not to be called after either
  // (asserted).
  progress step(runtime::storage& to);

  const written_file& written() const noexcept { return file_; }  // done: durable
  const runtime::status& error() const noexcept { return error_; }

 private:
  enum class stage : std::uint8_t {
    create,
    append,
    sync,
    close,
    rename,
    sync_folder,
    remove,  // of what is there of it; then it has failed
    done,
    failed
  };

  runtime::status carry_out(runtime::storage& to);
  runtime::status append(runtime::storage& to);
  progress fail(runtime::status why);

  std::string temporary_;
  piece_source source_;
  runtime::sha256 hash_;
  written_file file_;
  runtime::status error_;
  stage stage_ = stage::create;
  bool created_ = false;  // else a file of this name is not ours to remove
  bool renamed_ = false;
};

// Makes all steps of the writer; blocks. Errors: its error().
runtime::expected<written_file> write_all(file_writer writer, runtime::storage& to);

}  // namespace tidegate::policies
