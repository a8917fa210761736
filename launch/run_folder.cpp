#include "launch/run_folder.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>

#include "launch/files.hpp"
#include "launch/result.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;

runtime::status refuse(runtime::errc code, const std::string& path, const std::string& why) {
  return {code, "run folder " + path + ": " + why};
}

std::string stamped(const std::string& cluster, std::int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return "runs/" + cluster + "-" + text;
}

// True: it was made. False without an error: it was there.
bool make_folder(const fs::path& path, std::error_code& error) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  return !error && fs::create_directory(path, error);
}

runtime::expected<std::string> claim_wanted(const std::string& wanted) {
  std::error_code error;
  const auto status = fs::status(wanted, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      return runtime::fail(refuse(runtime::errc::already_exists, wanted, "is no folder"));
    }
    const bool empty = fs::is_empty(wanted, error);
    if (!error && !empty) {
      return runtime::fail(refuse(runtime::errc::already_exists, wanted,
                                  "is not empty; name a new one with --run-dir"));
    }
  } else {
    error.clear();
    make_folder(wanted, error);
  }
  if (error) return runtime::fail(refuse(runtime::errc::io_error, wanted, error.message()));
  return wanted;
}

runtime::expected<std::string> claim_stamped(const std::string& first) {
  constexpr int tries_max = 1000;
  for (int i = 1; i <= tries_max; ++i) {
    const auto path = i == 1 ? first : first + "-" + std::to_string(i);
    std::error_code error;
    if (make_folder(path, error)) return path;
    if (error) return runtime::fail(refuse(runtime::errc::io_error, path, error.message()));
  }
  return runtime::fail(refuse(runtime::errc::already_exists, first, "and 999 more are taken"));
}

}  // namespace

runtime::expected<run_folder> run_folder::create(const std::string& wanted,
                                                 const std::string& cluster,
                                                 std::int64_t unix_seconds) {
  auto claimed =
      wanted.empty() ? claim_stamped(stamped(cluster, unix_seconds)) : claim_wanted(wanted);
  if (!claimed) return runtime::fail(claimed.error());
  run_folder folder;
  folder.shown_ = *claimed;
  std::error_code error;
  folder.path_ = fs::absolute(*claimed, error).lexically_normal().string();
  if (folder.path_.ends_with('/')) folder.path_.pop_back();
  if (!error) fs::create_directory(folder.path_ + "/logs", error);
  if (error) return runtime::fail(refuse(runtime::errc::io_error, *claimed, error.message()));
  folder.events_ = runtime::unique_fd(::open((folder.path_ + "/events.jsonl").c_str(),
                                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!folder.events_) {
    return runtime::fail(refuse(runtime::errc::io_error, *claimed, std::strerror(errno)));
  }
  return folder;
}

std::string run_folder::log_path(const process_name& name) const {
  return path_ + "/logs/" + name.to_string() + ".log";
}

runtime::status run_folder::write(const std::string& name, std::string_view text) const {
  return write_file_atomically(path_ + "/" + name, text);
}

runtime::status run_folder::append_event(std::int64_t unix_ns, std::string_view what,
                                         std::string_view detail) {
  const auto line = event_line({unix_ns, std::string(what), std::string(detail)});
  const auto n = ::write(events_.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return {};
  return {runtime::errc::io_error,
          path_ + "/events.jsonl: " + (n < 0 ? std::strerror(errno) : "the disk is full")};
}

std::string last_lines(const std::string& path, std::size_t lines_max) {
  constexpr off_t bytes_max = 8 * 1024;
  const runtime::unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  const auto end = ::lseek(fd.get(), 0, SEEK_END);
  const auto begin = end > bytes_max ? end - bytes_max : 0;
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const auto n = ::pread(fd.get(), text.data(), text.size(), begin);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  while (text.ends_with('\n')) text.pop_back();
  std::size_t at = text.size();
  for (std::size_t i = 0; i < lines_max && at != std::string::npos && at != 0; ++i) {
    at = text.rfind('\n', at - 1);
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

}  // namespace tidegate::launch
