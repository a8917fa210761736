// Files that the hosts of a cluster are to have as the launcher's has them (jobs.*.stage):
// programs, modules, data. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

struct staged_file {
  std::string path;  // absolute, the same on all hosts
  std::uint64_t bytes = 0;
  std::uint32_t mode = 0;  // permissions, as of chmod(2)
  std::string sha256;      // of its bytes, in hexadecimal

  friend bool operator==(const staged_file&, const staged_file&) = default;
};

// Lists all files that jobs of the cluster want staged, those of folders and of folders in them
// too, each once, and reads them for their hashes. Links are followed. Folders of runs in other
// folders are left out. Relative paths begin at the current folder. Errors: not_found, io_error
// (neither a file nor a folder, or it cannot be read), invalid_argument (a name is no UTF-8),
// over_limit (more than an agent can be told of).
runtime::expected<std::vector<staged_file>> list_staged(const policies::cluster_spec& spec);

// An agent is told the name and the hash of each file as it begins (agent_config.hpp): so many
// bytes of them at most, some 200,000 files. Errors: over_limit.
inline constexpr std::size_t staged_text_bytes_max = std::size_t{48} << 20U;
runtime::status check_staged_text(const std::set<std::string>& paths);

// Returns true if this host has the file: the same bytes, and permission to run it if it is a
// program. `goes_on` is asked now and then while it is read, and ends that by false.
bool is_here(const staged_file& file, const std::function<bool()>& goes_on);

// Opens it to be read. Errors: not_found, io_error.
runtime::expected<runtime::unique_fd> open_staged(const staged_file& file);

// A file that arrives: nobody sees it under its name before it is whole, and what is there
// under it is replaced then. A file that does not become whole leaves nothing,
// unless its process is killed.
class arriving_file {
 public:
  // Makes the folders on the way to it. `file` outlives the object. Errors: io_error.
  static runtime::expected<arriving_file> begin(const staged_file& file);
  arriving_file(arriving_file&& other) noexcept;
  arriving_file& operator=(arriving_file&&) = delete;
  ~arriving_file();

  // Errors: io_error (the disk is full, say).
  runtime::status write(std::span<const std::byte> bytes);
  std::uint64_t missing_bytes() const noexcept { return file_->bytes - written_; }
  // Errors: corrupt (other bytes than were listed), io_error.
  runtime::status finish();

 private:
  arriving_file(const staged_file& file, std::string part, runtime::unique_fd fd);
  runtime::status cannot(const char* doing) const;

  const staged_file* file_;
  std::string part_;  // where it lies meanwhile; empty: it is gone from there
  runtime::unique_fd fd_;
  runtime::sha256 hash_;
  std::uint64_t written_ = 0;
};

}  // namespace tidegate::launch
