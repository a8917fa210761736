// How processes of one host find each other's descriptors: /proc/PID/fd/FD leads to the open
// file, also where that has no name. The inode tells the right file from one that took the
// number later. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <sys/stat.h>

namespace tidegate::runtime {

// "/proc/17/fd/4". Allocates nothing.
class descriptor_path {
 public:
  descriptor_path(std::uint32_t pid, std::uint32_t fd) noexcept;
  const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, 48> text_{};
};

// Returns true if no process can open this file through that descriptor any more: the
// descriptor was closed, its process has ended, or it is now another file than the one of this
// type (S_IFIFO, S_IFREG) and inode. Returns false also where this process may not know.
bool is_descriptor_gone(std::uint32_t pid, std::uint32_t fd, mode_t type,
                        std::uint64_t inode) noexcept;

// Returns true if `found` is the file of this type and inode.
bool is_file(const struct stat& found, mode_t type, std::uint64_t inode) noexcept;

}  // namespace tidegate::runtime
