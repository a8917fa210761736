// Folders on disks, for tests of what does not fit memory. The system's temporary folder may
// lie in memory; then the one in which the test runs is taken.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

#include "runtime/memory/backing_file.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::tests {

// Returns a folder on a disk, or nothing where none is at hand: then a test is skipped.
inline std::optional<std::string> disk_folder() {
  for (const auto& folder :
       {std::filesystem::temp_directory_path(), std::filesystem::current_path()})
    if (runtime::backing_file::check_folder(folder).ok()) return folder;
  return std::nullopt;
}

// A disk of so many bytes, in a file, that only this process sees: it is in a mount namespace
// of its own from here on. Empty path: not possible here (it needs root, and a loop device).
class small_disk {
 public:
  // Above `bytes_that_last`, if it says so many, blocks are lost when they are written.
  explicit small_disk(std::uint64_t bytes, std::uint64_t bytes_that_last = 0) {
    const auto on = disk_folder();
    if (!on || ::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return;
    const auto at = folder_.path("disk");
    auto image = folder_.path("image");
    if (bytes_that_last > 0) {
      const auto memory = folder_.path("memory");
      std::filesystem::create_directory(memory);
      const auto size = "size=" + std::to_string(bytes_that_last);
      if (::mount("tmpfs", memory.c_str(), "tmpfs", 0, size.c_str()) != 0) return;
      memory_ = memory;
      image = memory + "/image";
    }
    std::ofstream(image).close();
    std::filesystem::resize_file(image, bytes);
    std::filesystem::create_directory(at);
    const auto run = [](const std::string& command) {
      return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
    };
    if (!run("mkfs.ext4 -q -m 0 -O ^has_journal " + image) ||
        !run("mount -o loop " + image + " " + at))
      return;
    path_ = at;
  }
  ~small_disk() {
    if (!path_.empty()) ::umount2(path_.c_str(), MNT_DETACH);
    if (!memory_.empty()) ::umount2(memory_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t free_bytes() const { return std::filesystem::space(path_).free; }

 private:
  temporary_folder folder_;
  std::string path_;
  std::string memory_;
};

}  // namespace tidegate::tests
