// The folder of one run; see docs/yaml.md for what is in it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launch/plan.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class run_folder {
 public:
  // `wanted`: must be new or empty. Empty: runs/<cluster>-<local time of unix_seconds>, with
  // -2, -3, ... where that is taken. Makes logs/ and an empty events.jsonl. Errors:
  // already_exists (not empty, or no folder); io_error (cannot be written).
  static runtime::expected<run_folder> create(const std::string& wanted,
                                              const std::string& cluster,
                                              std::int64_t unix_seconds);

  const std::string& path() const noexcept { return path_; }    // absolute
  const std::string& shown() const noexcept { return shown_; }  // as given
  std::string log_path(const process_name& name) const;

  // Replaces `name` as a whole. Errors: io_error.
  runtime::status write(const std::string& name, std::string_view text) const;
  // Errors: io_error; a part of the line may then be in the file.
  runtime::status append_event(std::int64_t unix_ns, std::string_view what,
                               std::string_view detail);

 private:
  std::string path_;
  std::string shown_;
  runtime::unique_fd events_;
};

// The last lines of a file, at most 8 KiB; empty when it cannot be read.
std::string last_lines(const std::string& path, std::size_t lines_max);

}  // namespace tidegate::launch
