#include "runtime/base/descriptor.hpp"

#include <cerrno>
#include <cstdio>

namespace tidegate::runtime {

descriptor_path::descriptor_path(std::uint32_t pid, std::uint32_t fd) noexcept {
  std::snprintf(text_.data(), text_.size(), "/proc/%u/fd/%u", pid, fd);
}

bool is_descriptor_gone(std::uint32_t pid, std::uint32_t fd, mode_t type,
                        std::uint64_t inode) noexcept {
  struct stat found {};
  if (::stat(descriptor_path(pid, fd).c_str(), &found) == 0)
    return !is_file(found, type, inode);
  return errno == ENOENT || errno == ESRCH;
}

bool is_file(const struct stat& found, mode_t type, std::uint64_t inode) noexcept {
  return (found.st_mode & S_IFMT) == type && static_cast<std::uint64_t>(found.st_ino) == inode;
}

}  // namespace tidegate::runtime
