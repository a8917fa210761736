// A storage (runtime/base/storage.hpp) in a folder of a file system. Holds descriptors of the
// folder and of the files that are being written. Movable; what is open is closed at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "runtime/base/storage.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

class posix_storage final : public storage {
 public:
  // A folder that is there. `file_mode`: of the files that are created, as of open(2). Errors:
  // not_found, io_error (no folder, no permission).
  static expected<posix_storage> open(const std::string& folder, mode_t file_mode = 0666);
  // Makes it and what is missing above it, durably. Errors: io_error, no_space.
  static expected<posix_storage> make(const std::string& folder);

  status create(const std::string& name) override;
  status append(const std::string& name, std::span<const std::byte> bytes) override;
  status sync(const std::string& name) override;
  status close(const std::string& name) override;
  status rename(const std::string& from, const std::string& to) override;
  status remove(const std::string& name) override;
  status sync_folder() override;
  expected<std::vector<std::string>> list() override;
  expected<std::uint64_t> size(const std::string& name) override;
  status read(const std::string& name, std::uint64_t offset,
              std::span<std::byte> into) override;

 private:
  struct open_file {
    unique_fd fd;
    std::uint64_t bytes = 0;
  };

  posix_storage(std::string folder, unique_fd fd)
      : folder_(std::move(folder)), fd_(std::move(fd)) {}

  status check(const std::string& name) const;
  status failed(const std::string& name, const char* doing) const;  // reads errno
  open_file& opened(const std::string& name);

  std::string folder_;
  unique_fd fd_;
  mode_t file_mode_ = 0666;
  std::map<std::string, open_file> files_;  // open ones
};

}  // namespace tidegate::runtime
