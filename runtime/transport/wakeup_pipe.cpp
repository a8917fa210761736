#include "runtime/transport/wakeup_pipe.hpp"

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
constexpr std::size_t note_bytes = sizeof(link_hello);

}  // namespace

expected<wakeup_pipe> wakeup_pipe::create() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return fail(errc::io_error, std::string("no pipe: ") + std::strerror(errno));
  wakeup_pipe pipe;
  pipe.reader_ = unique_fd(ends[0]);
  pipe.writer_ = unique_fd(ends[1]);
  struct stat found {};
  if (::fstat(pipe.writer_.get(), &found) != 0)
    return fail(errc::io_error, std::string("no pipe: ") + std::strerror(errno));
  pipe.name_ = {.pid = static_cast<std::uint32_t>(::getpid()),
                .fd = static_cast<std::uint32_t>(pipe.writer_.get()),
                .inode = static_cast<std::uint64_t>(found.st_ino)};
  return pipe;
}

std::size_t wakeup_pipe::read(std::span<link_hello> notes) noexcept {
  const auto got = ::read(reader_.get(), notes.data(), notes.size() * note_bytes);
  if (got <= 0) return 0;  // EAGAIN: nobody rang
  return static_cast<std::size_t>(got) / note_bytes;
}

expected<wakeup_writer> wakeup_writer::open(const wakeup_pipe_name& name) {
  const descriptor_path path(name.pid, name.fd);
  wakeup_writer wakeup;
  wakeup.name_ = name;
  // To read, too: a pipe whose only reader has died kills who writes to it.
  wakeup.fd_ = unique_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!wakeup.fd_ || ::fstat(wakeup.fd_.get(), &found) != 0 ||
      !is_file(found, S_IFIFO, name.inode))
    return fail(errc::unavailable, std::string(path.c_str()) + " is not the pipe of a link");
  // It could not open ours.
  if (found.st_uid != ::geteuid())
    return fail(errc::unavailable, std::string(path.c_str()) + " is another user's");
  return wakeup;
}

bool wakeup_writer::pull(const link_hello& note) const noexcept {
  return ::write(fd_.get(), &note, note_bytes) == static_cast<ssize_t>(note_bytes);
}

bool is_gone(const wakeup_pipe_name& name) noexcept {
  return is_descriptor_gone(name.pid, name.fd, S_IFIFO, name.inode);
}

// One that is dying has no descriptors any more, and may not have ended.
bool is_given_up(const wakeup_pipe_name& name) noexcept {
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
