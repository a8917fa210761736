// The checkpoint that a shard restores the tables of one job from. Each table is read by
// itself, in as many steps as its reader likes, and opening a checkpoint takes work that grows
// with all of them: so it is opened by the first table that asks and kept for the next ones. It
// goes when every table of it has been read, or with release(): at most one checkpoint of a job
// is held, and none while it trains.
//
// Blocks while it reads. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "policies/checkpoint/reader.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

class restore_source {
 public:
  using folder = std::unique_ptr<runtime::storage>;
  // Opens the folder of the job's checkpoints.
  using folder_opener = std::function<runtime::expected<folder>()>;
  // A table of the checkpoint: its place in the manifest, and the folder that the reader reads
  // from. Valid until the next call here.
  struct stored_table {
    const checkpoint_reader& from;
    std::size_t table = 0;
    runtime::storage& folder;
  };

  // Finds the table of this name. Errors: those of the opener and of open_checkpoint; not_found
  // (the checkpoint has no such table).
  runtime::expected<stored_table> find_table(checkpoint_id id, std::string_view name,
                                             const folder_opener& open);
  // A table that was found has been read.
  void table_read();
  // No more tables are restored: workers come in.
  void release() noexcept { held_.reset(); }
  bool is_open() const noexcept { return held_.has_value(); }

 private:
  struct held_checkpoint {
    checkpoint_id id;
    folder files;
    checkpoint_reader reader;
    std::size_t tables_left = 0;
  };
  runtime::status hold(checkpoint_id id, const folder_opener& open);

  std::optional<held_checkpoint> held_;
};

}  // namespace tidegate::policies
