// Storages by the path that a user has named: a folder of a file system, or a place in a store
// of objects ("s3://bucket/prefix"), which is used as variables of the environment say
// (runtime/objects/s3_account.hpp). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>

#include "runtime/base/storage.hpp"
#include "runtime/objects/s3_account.hpp"

namespace tidegate::runtime {

// How long calls to a store are tried again: by threads that nobody waits for, and by those
// that others hear nothing of meanwhile. Says nothing of folders.
enum class object_patience : std::uint8_t { usual, brief };

struct storage_options {
  mode_t file_mode = 0666;  // of files that are created in a folder, as of open(2)
  object_patience patience = object_patience::usual;
  variable_reader variable = {};  // without it the environment of this process is read
};

using storage_pointer = std::unique_ptr<storage>;

// A folder that is there; a store is not asked yet. Errors: those of posix_storage::open(), of
// parse_object_place() and of read_s3_account().
expected<storage_pointer> open_storage(const std::string& path,
                                       const storage_options& options = {});
// A folder is made, with what is missing above it; in a store there is nothing to make.
expected<storage_pointer> make_storage(const std::string& path,
                                       const storage_options& options = {});

}  // namespace tidegate::runtime
