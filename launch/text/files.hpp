// Whole files in, whole files out. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Errors: not_found, io_error (a folder, no permission, larger than 16 MiB).
runtime::expected<std::string> read_file(const std::string& path);

// Writes path.tmp, then renames it over `path`: a reader sees the old bytes or the new ones,
// never a part. Errors: io_error (disk full, folder gone); the tmp file is gone then.
// `mode`: as of open(2).
runtime::status write_file_atomically(const std::string& path, std::string_view text,
                                      mode_t mode = 0666);

// Returns true if this process may make files in the folder of that path.
bool may_write_beside(const std::string& path);

}  // namespace tidegate::launch
