#include "launch/agents/log_tails.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace tidegate::launch {

namespace {

constexpr std::string_view suffix = ".log";
constexpr std::size_t report_bytes_max = std::size_t{64} << 10U;
constexpr std::size_t line_bytes_usual = 4096;

// Where lines end, so that no letter of several bytes is cut; a line that is too long is cut.
std::size_t whole_lines(std::string_view text, bool is_all) {
  if (is_all) return text.size();
  const auto end = text.rfind('\n');
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

runtime::expected<log_tails> log_tails::in(const std::string& folder) {
  runtime::unique_fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch || ::inotify_add_watch(watch.get(), folder.c_str(), IN_MODIFY) < 0)
    return runtime::fail(runtime::errc::io_error,
                         "watching " + folder + ": " + std::strerror(errno) +
                             "; fs.inotify.max_user_instances and max_user_watches limit this");
  return log_tails(folder, std::move(watch));
}

void log_tails::take(std::size_t bytes_max, std::vector<policies::agent_report>& into) {
  std::array<char, 4096> events{};
  while (::read(watch_.get(), events.data(), events.size()) > 0) has_more_ = true;
  if (!has_more_) return;
  has_more_ = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const auto file = entry.path().filename().string();
    if (file.ends_with(suffix)) bytes_max -= take_of(file, bytes_max, into);
  }
}

std::size_t log_tails::take_of(const std::string& file, std::size_t bytes_max,
                               std::vector<policies::agent_report>& into) {
  const runtime::unique_fd log(::open((folder_ + "/" + file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!log) return 0;
  auto& position = positions_[file];
  std::size_t taken = 0;
  for (;;) {
    // Not the few bytes that are left: a line would be cut.
    const auto left = bytes_max - taken;
    if (left < line_bytes_usual) {
      char byte = 0;
      has_more_ |= ::pread(log.get(), &byte, 1, static_cast<off_t>(position)) > 0;
      return taken;
    }
    std::string text(std::min(report_bytes_max, left), '\0');
    const auto count =
        ::pread(log.get(), text.data(), text.size(), static_cast<off_t>(position));
    if (count <= 0) return taken;
    const auto is_all = static_cast<std::size_t>(count) < text.size();
    text.resize(static_cast<std::size_t>(count));
    text.resize(whole_lines(text, is_all));
    position += text.size();
    taken += text.size();
    into.emplace_back(policies::agent_reports::logged{
        .writer = file.substr(0, file.size() - suffix.size()), .text = std::move(text)});
  }
}

}  // namespace tidegate::launch
