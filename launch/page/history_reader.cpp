#include "launch/page/history_reader.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tidegate::launch {

namespace {

constexpr std::size_t line_bytes_most = std::size_t{2} << 20U;  // 1,024 workers need a tenth
constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
constexpr std::array<const char*, 2> names{"/metrics.1.jsonl", "/metrics.jsonl"};

// 0: there is no such file.
ino_t file_number(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

ino_t file_number(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

// The older file comes first, unless it is the one that was read last.
bool history_reader::open_next() {
  const auto read = read_ ? file_number(read_.get()) : 0;
  for (const auto* name : names) {
    const auto path = run_dir_ + name;
    const auto number = file_number(path);
    if (number == 0 || number == read) continue;
    runtime::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) {
      if (errno != ENOENT) failure_ = path + ": " + std::strerror(errno);
      continue;
    }
    file_ = std::move(file);
    failure_.clear();
    return true;
  }
  return false;
}

bool history_reader::is_the_newest() const {
  return file_number(file_.get()) == file_number(run_dir_ + names.back());
}

bool history_reader::read(std::size_t bytes_most) {
  std::vector<char> bytes(piece_bytes);
  for (std::size_t taken = 0; taken < bytes_most;) {
    if (!file_ && !open_next()) return true;
    // Looked at before the read: nobody adds to a file once it has another name.
    const bool may_grow = is_the_newest();
    const auto got = ::read(file_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      failure_ = run_dir_ + "/metrics.jsonl: " + std::strerror(errno);
      return true;
    }
    if (got > 0) {
      taken += static_cast<std::size_t>(got);
      take(bytes.data(), static_cast<std::size_t>(got));
    } else if (may_grow) {
      return true;
    } else {
      end_line();
      read_ = std::move(file_);
    }
  }
  return false;
}

void history_reader::take(const char* bytes, std::size_t size) {
  const auto* const end = bytes + size;
  while (bytes < end) {
    const auto* newline = static_cast<const char*>(
        std::memchr(bytes, '\n', static_cast<std::size_t>(end - bytes)));
    const auto* const until = newline == nullptr ? end : newline;
    const auto more = static_cast<std::size_t>(until - bytes);
    is_too_long_ = is_too_long_ || line_.size() + more > line_bytes_most;
    if (!is_too_long_) line_.append(bytes, more);
    if (newline != nullptr) end_line();
    bytes = newline == nullptr ? end : newline + 1;
  }
}

void history_reader::end_line() {
  if (!is_too_long_ && !line_.empty()) history_.add(line_);
  line_.clear();
  is_too_long_ = false;
}

}  // namespace tidegate::launch
