// A folder of files, as what must survive a crash needs it: files that grow at their end, an
// explicit sync of their bytes, and another of their names.
//
// What a crash of the machine leaves: of a file, what was there at its last sync(); what came
// after may be there, in part, or as other bytes. Of creates, renames and removes, those before
// the last sync_folder(); any of those after it may have happened, in any combination. A rename
// is whole: its target is the old file or the new one. A crash of the process alone loses
// nothing, but what it had not synced is still not safe.
//
// Names are flat: see is_file_name. After a call that changes a file has failed, the file's
// content is unknown: remove it. A sync() that failed must not be asked for again, as the
// system may have dropped what it could not write, and say so only once.
//
// A store of objects has less: only NAME.tmp can be renamed, and to NAME, and what else is
// created may turn out to be there already as it is closed (runtime/objects/s3_storage.hpp).
//
// Calls block. One thread at a time; several processes may each have a storage of one folder,
// and write files of different names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t file_name_bytes_max = 200;
// NAME.tmp is the beginning of a file that is renamed to NAME when it is whole.
inline constexpr std::string_view temporary_suffix = ".tmp";

// 1 to 200 of A-Z a-z 0-9 . _ -, the first no dot. Other files in the folder are not seen.
constexpr bool is_file_name(std::string_view name) noexcept {
  constexpr auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= file_name_bytes_max && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), fits);
}

// Messages name the file by its whole path. Errors of every call: invalid_argument (no name of
// a file), io_error.
class storage {
 public:
  virtual ~storage() = default;

  // A new, empty file, open for append and sync here until close() or remove(). Errors:
  // already_exists, no_space.
  virtual status create(const std::string& name) = 0;
  // `name` has been created here and not closed (asserted); so in sync and close. Errors:
  // no_space.
  virtual status append(const std::string& name, std::span<const std::byte> bytes) = 0;
  // Errors: no_space.
  virtual status sync(const std::string& name) = 0;
  // Errors: already_exists (of a store, where create() has asked nobody).
  virtual status close(const std::string& name) = 0;

  // Replaces `to`. Neither is open here (asserted). Errors: not_found, no_space.
  virtual status rename(const std::string& from, const std::string& to) = 0;
  // Closes it, too. Errors: not_found.
  virtual status remove(const std::string& name) = 0;
  virtual status sync_folder() = 0;

  // Regular files, ascending.
  virtual expected<std::vector<std::string>> list() = 0;
  // Errors: not_found.
  virtual expected<std::uint64_t> size(const std::string& name) = 0;
  // Returns true where whoever keeps the bytes has compared their hash as they came, and does
  // so again by itself: they need not all be read to be believed.
  virtual bool vouches_for_bytes() const noexcept { return false; }
  // Fills `into`. Errors: not_found; corrupt (the file ends before).
  virtual status read(const std::string& name, std::uint64_t offset,
                      std::span<std::byte> into) = 0;
};

}  // namespace tidegate::runtime
