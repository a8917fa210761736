#include "runtime/transport/doorbell.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/descriptor.hpp"

namespace tidegate::runtime {

namespace {

// All notes are of one size.
constexpr std::size_t note_bytes = sizeof(bell_note);

}  // namespace

expected<doorbell> doorbell::create() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return fail(errc::io_error, std::string("no pipe: ") + std::strerror(errno));
  doorbell bell;
  bell.reader_ = unique_fd(ends[0]);
  bell.writer_ = unique_fd(ends[1]);
  struct stat found {};
  if (::fstat(bell.writer_.get(), &found) != 0)
    return fail(errc::io_error, std::string("no pipe: ") + std::strerror(errno));
  bell.name_ = {static_cast<std::uint32_t>(::getpid()),
                static_cast<std::uint32_t>(bell.writer_.get()),
                static_cast<std::uint64_t>(found.st_ino)};
  return bell;
}

std::size_t doorbell::read(std::span<bell_note> notes) noexcept {
  const auto got = ::read(reader_.get(), notes.data(), notes.size() * note_bytes);
  if (got <= 0) return 0;  // EAGAIN: nobody rang
  return static_cast<std::size_t>(got) / note_bytes;
}

expected<bell_rope> bell_rope::open(const bell_name& name) {
  const descriptor_path path(name.pid, name.fd);
  bell_rope rope;
  rope.name_ = name;
  // To read, too: a pipe whose only reader has died kills who writes to it.
  rope.fd_ = unique_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!rope.fd_ || ::fstat(rope.fd_.get(), &found) != 0 || !is_file(found, S_IFIFO, name.inode))
    return fail(errc::unavailable, std::string(path.c_str()) + " is not the pipe of a link");
  // It could not open ours.
  if (found.st_uid != ::geteuid())
    return fail(errc::unavailable, std::string(path.c_str()) + " is another user's");
  return rope;
}

bool bell_rope::pull(const bell_note& note) const noexcept {
  return ::write(fd_.get(), &note, note_bytes) == static_cast<ssize_t>(note_bytes);
}

bool is_gone(const bell_name& name) noexcept {
  return is_descriptor_gone(name.pid, name.fd, S_IFIFO, name.inode);
}

// One that is dying has no descriptors any more, and may not have ended.
bool is_given_up(const bell_name& name) noexcept {
  if (!is_gone(name)) return false;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "/proc/%u/fd", name.pid);
  auto* folder = ::opendir(text.data());
  if (folder == nullptr) return false;
  unsigned entries = 0;  // with those of the folder and the one above it
  while (entries <= 2 && ::readdir(folder) != nullptr) ++entries;
  ::closedir(folder);
  return entries > 2;
}

}  // namespace tidegate::runtime
