// The checkpoints that a folder has: finds the newest that is whole, and removes old ones when
// newer ones are safe.
//
// It believes what it has verified itself and what it is told to be durable, nothing else: so a
// checkpoint of an earlier life that was never looked at protects no other from staying, nor is
// it removed before enough newer ones are known to be whole. Blocks; one thread. One catalog
// per folder at a time; the storage must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpoint/reader.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// Opens a checkpoint without comparing hashes, which somebody else has done. Errors: those of
// the storage; corrupt.
runtime::expected<checkpoint_reader> open_checkpoint(runtime::storage& folder,
                                                     checkpoint_id id);

class checkpoint_catalog {
 public:
  explicit checkpoint_catalog(runtime::storage& folder) : folder_(folder) {}

  // Reads from the newest on until one is whole: every file is there with its size and, unless
  // the storage vouches for it, its hash, and every element of every table once. Returns
  // nullopt if none is. Appends to `findings` what was wrong with newer ones, a line each.
  // Makes the folder's names durable before it reads. Errors: those of list and sync_folder;
  // unavailable and refused (a store hands nothing out).
  runtime::expected<std::optional<checkpoint_reader>> newest(
      std::vector<std::string>& findings);

  // Returns the checkpoints that have a manifest, newest first. Errors: those of list.
  runtime::expected<std::vector<checkpoint_id>> ids();
  // Reads all of a checkpoint. Errors: why it is not whole.
  runtime::expected<checkpoint_reader> verify(checkpoint_id id);
  // Likewise, but for files that `hashed` has; adds those that were read. Checkpoints of one
  // chain have files in common.
  using hashed_files = std::map<std::pair<std::string, std::string>, runtime::status>;
  runtime::expected<checkpoint_reader> verify(checkpoint_id id, hashed_files& hashed);

  // Returns the name of a checkpoint that begins, with a number that no file here has had, as
  // far as this catalog has seen. Shards may write their files now. A checkpoint that was begun
  // and not added is given up: tidy() may remove what shards still write of it.
  checkpoint_id begin(std::uint32_t epoch);
  // Makes the next number higher than this one's, which shards may still be writing.
  void begin_after(checkpoint_id id) noexcept {
    last_number_ = std::max(last_number_, id.number);
  }
  // Counts the checkpoint that was begun last (asserted) as whole, which needs `base`, if that
  // has a number. To be called when its manifest is durable, and not before.
  void add(checkpoint_id id, checkpoint_id base = {});

  // Returns whether this is the one that was begun last, and not added yet.
  bool was_begun_last(checkpoint_id id) const noexcept { return in_flight_ == id; }

  // Removes checkpoints that `keep` (>= 1) newer ones, known to be whole, make needless, unless
  // one that stays needs them, and files that belong to no checkpoint: temporary ones, and
  // those of one that was given up. Not those of later epochs than `epoch`, which is ours, nor
  // of higher numbers than this catalog has seen before the call, as somebody else may be
  // writing there: a copy may tidy while its origin begins the next. Errors: the first of the
  // storage's; what is left is tried again next time.
  runtime::status tidy(std::uint32_t keep, std::uint32_t epoch);

 private:
  runtime::expected<std::vector<std::string>> list();
  bool is_needless(checkpoint_id id, std::uint32_t keep) const;
  // Returns the checkpoint that this one needs, number 0 if none. Errors: those of the storage.
  runtime::expected<checkpoint_id> base_of(checkpoint_id id);

  runtime::storage& folder_;
  std::set<checkpoint_id> whole_;                 // known to be
  std::map<checkpoint_id, checkpoint_id> bases_;  // of those whose manifest has been read
  std::optional<checkpoint_id> in_flight_;
  std::uint64_t last_number_ = 0;
};

}  // namespace tidegate::policies
