#include "runtime/process/state_file.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/launch_variables.hpp"

namespace tidegate::runtime {

namespace {

// The file begins with a page of its own: the token of the run, by which a process knows it.
constexpr std::size_t first = 4096;

std::string because(int error) {
  return std::string(": ") + std::strerror(error);
}

bool put_word(int fd, std::size_t offset, std::uint64_t word) {
  return ::pwrite(fd, &word, sizeof word, static_cast<off_t>(offset)) == sizeof word;
}

// Before anything is mapped, let alone written: the number may be another file's.
bool is_file_of(int fd, std::uint64_t token, std::size_t& size) {
  struct stat info = {};
  std::uint64_t found = 0;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &info) != 0 ||
      info.st_size <= static_cast<off_t>(first))
    return false;
  size = static_cast<std::size_t>(info.st_size);
  return ::pread(fd, &found, sizeof found, 0) == sizeof found && found == token;
}

expected<std::shared_ptr<state_file>> open_inherited(std::uint64_t token) {
  const char* value = launch_variable(state_variable);
  const std::string_view text(value == nullptr ? "" : value);
  int fd = -1;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (text.empty() || number.ec != std::errc() || number.ptr != text.data() + text.size())
    return fail(errc::unavailable,
                "this worker has no memory for state: its job has none (jobs.*.state.max), or "
                "it was started by another launcher");
  auto file = state_file::open(fd, token);
  if (!file) return fail(file.error());
  return std::make_shared<state_file>(std::move(*file));
}

}  // namespace

expected<state_file> state_file::make(std::uint64_t token, std::size_t bytes) {
  unique_fd fd(::memfd_create("tidegate-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(first + bytes)) != 0 ||
      !put_word(fd.get(), 0, token) ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(errc::io_error, "memory for the state of a worker" + because(errno));
  return state_file(std::move(fd));
}

expected<state_file> state_file::open(int fd, std::uint64_t token) {
  std::size_t size = 0;
  if (!is_file_of(fd, token, size))
    return fail(errc::unavailable,
                "descriptor " + std::to_string(fd) +
                    ", which the launcher has opened for this worker's state, did not come "
                    "through: what starts the program must hand descriptors on (Python's "
                    "subprocess: close_fds=False; ssh cannot)");
  state_file file{unique_fd(fd)};
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (!file.map(size))
    return fail(errc::unavailable, "the memory of this worker's state" + because(errno));
  return file;
}

bool state_file::map(std::size_t size) {
  void* at =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (at == MAP_FAILED) return false;
  bytes_ = std::span(static_cast<std::byte*>(at), size).subspan(first);
  return true;
}

status state_file::map() {
  struct stat info = {};
  if (::fstat(fd_.get(), &info) == 0 && map(static_cast<std::size_t>(info.st_size))) return {};
  return {errc::io_error, "the memory of a worker's state" + because(errno)};
}

void state_file::write(std::size_t offset, std::span<const std::byte> bytes) {
  std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
}

// A process that is killed has carried out its instructions up to one of them, so that it is
// the compiler alone that must keep the order. The fences keep it for other processors, too.
void state_file::store(std::size_t offset, std::uint64_t word) {
  auto* const at = reinterpret_cast<std::uint64_t*>(bytes_.data() + offset);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_ref<std::uint64_t>(*at).store(word, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

expected<std::shared_ptr<state_file>> state_file::of_process(std::uint64_t token) {
  // The descriptor's number may be another file's after it is closed.
  static const auto file = open_inherited(token);
  return file;
}

state_file::state_file(state_file&& other) noexcept
    : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}

state_file& state_file::operator=(state_file&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

state_file::~state_file() {
  if (!bytes_.empty()) ::munmap(bytes_.data() - first, bytes_.size() + first);
}

status state_file::put(std::size_t offset, std::uint64_t word) const {
  if (put_word(fd_.get(), first + offset, word)) return {};
  return {errc::io_error, "memory for the state of a worker" + because(errno)};
}

status state_file::reserve(std::size_t offset, std::size_t length) {
  int result = 0;
  do {
    result = ::fallocate(fd_.get(), 0, static_cast<off_t>(first + offset),
                         static_cast<off_t>(length));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  return {errc::no_space,
          std::to_string(length) + " bytes for the state of this worker" + because(errno)};
}

}  // namespace tidegate::runtime
