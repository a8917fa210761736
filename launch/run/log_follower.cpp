#include "launch/run/log_follower.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tidegate::launch {

namespace {

// A worker that writes megabytes without a newline is cut here.
constexpr std::size_t shown_bytes_max = std::size_t{64} << 10U;

}  // namespace

runtime::expected<log_follower> log_follower::in(const std::string& folder) {
  runtime::unique_fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch || ::inotify_add_watch(watch.get(), folder.c_str(), IN_MODIFY) < 0)
    return runtime::fail(
        runtime::errc::io_error,
        "following the output of workers in " + folder + ": " + std::strerror(errno) +
            "; fs.inotify.max_user_instances and max_user_watches limit this, or leave out "
            "--follow");
  return log_follower(std::move(watch));
}

void log_follower::follow(const std::string& path, const std::string& label,
                          std::optional<std::uint64_t> from) {
  const auto known = std::any_of(files_.begin(), files_.end(),
                                 [&](const auto& file) { return file.path == path; });
  if (known) return;
  struct stat found {};
  const bool is_there = ::stat(path.c_str(), &found) == 0;
  files_.push_back({.path = path,
                    .label = label,
                    .position = from       ? *from
                                : is_there ? static_cast<std::uint64_t>(found.st_size)
                                           : 0,
                    .begun = {}});
}

std::vector<std::string> log_follower::take_lines() {
  std::array<char, 4096> events{};
  while (::read(watch_.get(), events.data(), events.size()) > 0) continue;
  std::vector<std::string> lines;
  for (auto& file : files_) read(file, lines);
  return lines;
}

std::vector<std::string> log_follower::take_rest() {
  auto lines = take_lines();
  for (auto& file : files_)
    if (!file.begun.empty())
      lines.push_back("[" + file.label + "] " + std::exchange(file.begun, {}));
  return lines;
}

void log_follower::read(followed_file& file, std::vector<std::string>& lines) {
  const runtime::unique_fd log(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log) return;  // its process has not been started yet
  std::array<char, 16384> bytes{};
  for (;;) {
    const auto count =
        ::pread(log.get(), bytes.data(), bytes.size(), static_cast<off_t>(file.position));
    if (count <= 0) return;
    file.position += static_cast<std::uint64_t>(count);
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
      if (c != '\n') file.begun += c;
      if (c == '\n' || file.begun.size() == shown_bytes_max)
        lines.push_back("[" + file.label + "] " + std::exchange(file.begun, {}));
    }
  }
}

}  // namespace tidegate::launch
